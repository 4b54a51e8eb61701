"""What memory's tools, commands and library work with: one user's store, and what finds it.

Says nothing in words: it keeps records, files what was kept, and finds; others render.
"""

from __future__ import annotations

import heapq
import threading
from contextlib import nullcontext, suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.clock import find_zone, render_instant
from commonplace.core.errors import CommonplaceError, Conflict, Invalid, Lost, already_superseded
from commonplace.core.former_texts import correct_latest
from commonplace.core.ports import Tallying
from commonplace.core.redact import Screen
from commonplace.core.text import opening
from commonplace.core.values import Put
from commonplace.journals.memory.entry import (
    FIELDS,
    apply_draft,
    change_of,
    inherited,
    not_found,
    parse_id,
    parse_ref,
    searchable_text,
    version_of,
)
from commonplace.journals.memory.ports import SharesTransactions
from commonplace.journals.memory.records import (
    JOURNAL,
    KINDS,
    PREFERENCES_ID,
    Preferences,
    Saved,
    ref_of,
)
from commonplace.search.filing.port import Deferred
from commonplace.verbs.amend import look_up_former
from commonplace.verbs.context import ContextBlocks, check_budget
from commonplace.verbs.memory.finding import MemoryQuestion, MemorySearch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import tzinfo

    from commonplace.core.clock import Clock
    from commonplace.core.former_texts import FormerTexts
    from commonplace.core.ports import EncoderSlot, OwnerIndex
    from commonplace.journals.memory.ports import MemoryStore
    from commonplace.journals.memory.records import (
        Kind,
        KindCount,
        Record,
        RecordDraft,
        Records,
    )
    from commonplace.search.filing.port import FilingPort
    from commonplace.search.finder import Finder
    from commonplace.verbs.context import Context
    from commonplace.verbs.memory.finding import MemoryFound, MemoryNumbers, Zone

ZONE = "timezone"
"""The flag of the preferences that names the user's own zone."""

_HITS = 12
_PREFERENCES = 0.25
"""The share of a budget that the preferences may take at the most."""

_ZONE_SHOWN = 60
_REMAINS = "Bytes of it remain on the disk while other processes read; a later call erases them."


class MemorySaved(Struct, frozen=True, kw_only=True):
    """A record that is kept.

    Attributes:
        notes: What its author must know.
    """

    saved: Saved
    notes: tuple[str, ...] = ()


class MemoryStats(Struct, frozen=True, kw_only=True):
    """How much of each kind is kept, how much can be found, and how much waits for a vector."""

    kinds: tuple[KindCount, ...]
    found: int
    pending: int


class MemoryService:
    """One user's memory and what finds it.

    Args:
        store: The user's records.
        filing: Opens what keeps the index behind the store.
        finder: Opens what searches the index.
        index: Opens the index.
        encoder: Where an encoder is, or is being loaded.
        clock: The present, aware.
        owner_zone: For users whose preferences name none.
        numbers: What settings say of a search.
        former: Keeps the texts that edits replace.
        shows_cards: Whether a search may be asked for its diagnostic card.
        screen: What every text goes through that is kept.
    """

    def __init__(
        self,
        *,
        store: MemoryStore,
        filing: Callable[[], FilingPort],
        finder: Callable[[], Finder],
        index: Callable[[], OwnerIndex],
        encoder: EncoderSlot,
        clock: Clock,
        owner_zone: tzinfo,
        numbers: MemoryNumbers,
        former: FormerTexts,
        shows_cards: bool = False,
        screen: Screen | None = None,
    ) -> None:
        self.store = store
        self.filing = filing
        self.finder = finder
        self.index = index
        self.encoder = encoder
        self.clock = clock
        self.former = former
        self._owner_zone = owner_zone
        self.shows_cards = shows_cards
        # What a store can do besides, asked once: to look takes 20 us.
        self._shared = store if isinstance(store, SharesTransactions) else None
        self._search = MemorySearch(
            store=store,
            shared=self._shared,
            finder=finder,
            encoder=encoder,
            clock=clock,
            numbers=numbers,
            owner_zone=owner_zone,
            read_zone=self.read_zone,
        )
        self._screen = screen or Screen()
        self._first = threading.Lock()
        self._is_first = True

    @property
    def zone(self) -> tzinfo:
        """The zone in which this user's times are read and shown. Raises: Unavailable."""
        return self.read_zone()[0]

    def read_zone(self) -> Zone:
        """The zone that the user's preferences name as `timezone`, else the owner's.

        With a note where they name one that is unknown. Raises: Unavailable.
        """
        found = self.store.find("preference", PREFERENCES_ID)
        named = found.flags.get(ZONE) if isinstance(found, Preferences) else None
        if named is None:
            return self._owner_zone, ()
        zone = find_zone(named) if isinstance(named, str) else None
        if zone is not None:
            return zone, ()
        note = (
            f"The timezone of the preferences is unknown: {opening(str(named), _ZONE_SHOWN)!r}."
            f" Times are those of {self._owner_zone}; save an IANA name such as Europe/Berlin."
        )
        return self._owner_zone, (note,)

    def save(self, draft: RecordDraft) -> MemorySaved:
        """Keep a record, or alter one, then file it.

        A draft that names the ref or the id of another in `supersedes` takes its place; what it
        leaves out of its fields is as it was there. Done twice it is one record, whatever the key.

        Raises:
            Conflict: Another record has taken that place.
            Invalid, NotFound, Unavailable.
        """
        if draft.supersedes:
            return look_up_former(
                draft.supersedes, JOURNAL, lambda ref: self._supersede(draft, ref), by_name=True
            )
        return self._save(draft)

    def _save(self, draft: RecordDraft) -> MemorySaved:
        self._begin()
        saved = correct_latest(draft.expected, lambda: self._altered(self._screened(draft)))
        return MemorySaved(saved=saved, notes=self._file(saved))

    def _altered(self, draft: RecordDraft) -> Saved:
        """Keep what a draft makes, and the former text of a record that it alters.

        A save that may be lost is done once more, unless the record is already what it was to be.
        """
        made: list[Record] = []
        try:
            return self._alter(draft, made)
        except Lost:
            now = self.store.find(draft.kind, made[0].id) if made else None
            if now is not None and version_of(now) == version_of(made[0]):
                return Saved(ref_id=now.id, record=now, is_new=False)
            return self._alter(draft, [])

    def _alter(self, draft: RecordDraft, seen: list[Record]) -> Saved:
        """As `_altered`, once; puts an altered record into `seen` before its transaction ends."""
        ref_id = PREFERENCES_ID if draft.kind == "preference" else draft.ref_id
        old = self.store.find(draft.kind, parse_id(draft.kind, ref_id)) if ref_id else None
        if old is None:
            return self.store.save(draft)
        version = version_of(old)
        more = {
            "fields": {name: getattr(old, name) for name in FIELDS[old.kind]},
            "at": old.at.isoformat(),
        }
        at_once = partial(self._one_transaction, old.kind, old.id)
        with self.former.edited(old.ref, version, old.text, more, at_once=at_once) as note:
            saved = self.store.save(replace(draft, expected=draft.expected or version))
            # Read again: its times are then those that any other reader sees.
            made = self.store.find(old.kind, saved.ref_id)
            if made is not None:
                seen.append(made)
                note(version_of(made))
        return saved

    def _one_transaction(self, kind: Kind, ref_id: str) -> AbstractContextManager[None]:
        return nullcontext() if self._shared is None else self._shared.one_transaction(kind, ref_id)

    def _supersede(self, draft: RecordDraft, former: str) -> MemorySaved:
        if draft.ref_id:
            raise Invalid(
                "Invalid call: a record was to be changed and to supersede another.",
                hint="To supersede, name no record to change.",
            )
        old = self.find(draft.kind, former)
        fields = {**inherited(old), **draft.fields}
        # What it replaces says whether it was done before: a key may be that of another record.
        draft = self._screened(replace(draft, fields=fields, supersedes=old.id, key=""))
        done = self._save(draft)
        new = done.saved.record
        if new is None:
            raise Conflict(
                f"The {draft.kind} is being changed by another process.", hint="Try again."
            )
        wanted = apply_draft(None, draft, ref_id=new.id, now=new.at)
        if not done.saved.is_new and searchable_text(wanted) != searchable_text(new):
            raise already_superseded(ref_of(old.kind, old.id), ref_of(new.kind, new.id))
        return done

    def find(self, kind: Kind, ref: str) -> Record:
        """A record by its id or its address. Raises: Invalid, NotFound, Unavailable."""
        ref_id = parse_id(kind, ref)
        record = self.store.find(kind, ref_id)
        if record is None:
            raise not_found(kind, ref_id)
        return record

    def delete(self, kind: Kind, ref: str, *, expected: str = "") -> tuple[str, ...]:
        """Delete a record for good, every byte of it; notes on what is not done yet.

        Args:
            kind: Of the record.
            ref: Its id or its address.
            expected: The version that was read; empty to delete any.

        Raises:
            Conflict: The record has changed since it was read.
            Invalid, NotFound, Unavailable.
        """
        ref_id = parse_id(kind, ref)
        with self._one_transaction(kind, ref_id):
            old = self.store.find(kind, ref_id)
            if old is None or not expected or version_of(old) == expected:
                self.former.drop([ref_of(kind, ref_id)])
            deleted = self.store.delete(kind, ref_id, expected=expected)
        notes = self.erase()
        if not deleted:
            raise not_found(kind, ref_id)
        return notes

    def delete_many(self, versions: Mapping[str, str]) -> tuple[list[str], tuple[str, ...]]:
        """Delete the records, by refs, that have these versions; the refs of those, and notes.

        Raises: Unavailable; those before are gone.
        """
        gone = []
        for ref, version in versions.items():
            kind, ref_id = parse_ref(ref)
            with suppress(Conflict), self._one_transaction(kind, ref_id):
                old = self.store.find(kind, ref_id)
                if old is None or version_of(old) != version:
                    continue
                self.former.drop([ref])
                if self.store.delete(kind, ref_id, expected=version):
                    gone.append(ref)
        return gone, self.erase()

    def list_records(self, kind: Kind, *, limit: int = 20, cursor: str = "") -> Records:
        """Records of a kind, newest first; see `MemoryStore.list_records`."""
        return self.store.list_records(kind, limit=limit, cursor=cursor)

    def search(self, asked: MemoryQuestion) -> MemoryFound:
        """The best records for a question, within the budget. Raises: Invalid, Unavailable."""
        self._begin()
        return self._search.search(asked)

    def context(self, question: str, *, budget_tokens: int) -> Context:
        """What a prompt should hold: the preferences, and the best records for a question; fenced.

        A blank question asks for the newest records. budget_tokens: four bytes each.
        Raises: Invalid for too small a budget or too long a question; Unavailable.
        """
        check_budget(budget_tokens)
        blocks = ContextBlocks(budget_tokens)
        preferences = self.store.find("preference", PREFERENCES_ID)
        zone, notes = self.read_zone()

        def put(record: Record, *, share: float = 1.0) -> None:
            label = f"{record.ref} {render_instant(record.at, zone)}"
            blocks.put(record.ref, record.text, label=label, share=share)

        if preferences is not None:
            put(preferences, share=_PREFERENCES)
        if question.strip():
            # The search says of the zone what was said above.
            found = self.search(MemoryQuestion(text=question, top_k=_HITS))
            for hit in found.hits:
                put(hit.entry)
            return blocks.context(interval=found.interval, notes=found.notes)
        kinds = (kind for kind in KINDS if kind != "preference")
        listed = chain.from_iterable(self.list_records(x, limit=_HITS).records for x in kinds)
        # What is never found, such as a draft, is left out.
        shown = (record for record in listed if searchable_text(record))
        for record in heapq.nlargest(_HITS, shown, key=lambda each: (each.at, each.ref)):
            put(record)
        return blocks.context(interval=None, notes=notes)

    def stats(self) -> MemoryStats:
        """How much is kept, and how much of it can be found. Raises: Unavailable."""
        self._begin()
        self.filing().refresh(1.0)
        encoder = self.encoder.get()
        identity = "" if encoder is None else encoder.identity
        index = self.index()
        tallies = index.tally(identity) if isinstance(index, Tallying) else ()
        mine = [each for each in tallies if each.journal == JOURNAL]
        return MemoryStats(
            kinds=tuple(self.store.count_kinds()),
            found=sum(each.docs for each in mine),
            pending=sum(each.pending for each in mine),
        )

    def erase(self) -> tuple[str, ...]:
        """Erase what deleted records left, those of a process that was killed among them.

        Notes on what is not done; never raises: it is tried again.
        """
        try:
            while refs := self.store.to_erase():
                if notes := self._forget(refs):
                    return notes
                if not self.store.erased(refs):
                    return (_REMAINS,)
        except CommonplaceError as exc:
            return (f"It is deleted, and not yet erased: {exc}",)
        return ()

    def _forget(self, refs: Sequence[str]) -> tuple[str, ...]:
        why = self.filing().forget(refs).why
        return (f"It waits to leave the index: {why}",) if why else ()

    def _screened(self, draft: RecordDraft) -> RecordDraft:
        return replace(draft, fields=self._screen.values(dict(draft.fields)))

    def _begin(self) -> None:
        """What a killed process left is done before anything else."""
        with self._first:
            is_first, self._is_first = self._is_first, False
        if is_first:
            self.erase()

    def _file(self, saved: Saved) -> tuple[str, ...]:
        if saved.record is None:
            return ()
        change = change_of(saved.record, self._owner_zone)
        if not isinstance(change, Put):
            # A draft, or one without a word: what was there before it must leave.
            return () if saved.is_new else self._forget([change.ref])
        filing = self.filing()
        filed = filing.file([change]) if saved.is_new else filing.file_edited([change])
        if isinstance(filed, Deferred):
            return filed.notes
        # Another process may have altered or deleted it since: what is filed last must be true.
        now = self.store.find(saved.record.kind, saved.ref_id)
        if now is None:
            filing.forget([change.doc.ref])
        elif now != saved.record:
            filing.file_edited([change_of(now, self._owner_zone)])
        return filed.notes
