"""A user's memory: what is known of the user is found, kept and deleted.

Each verb takes plain values and answers in words and facts. Decides nothing about ranking.
"""

from __future__ import annotations

import heapq
import threading
from contextlib import nullcontext, suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.clock import find_zone, render_instant
from commonplace.core.errors import CommonplaceError, Conflict, Invalid, Lost, already_superseded
from commonplace.core.former_texts import FormerRecord, correct_latest
from commonplace.core.ports import CountsKinds
from commonplace.core.redact import Screen
from commonplace.core.text import opening
from commonplace.core.values import Answer, Put
from commonplace.journals.memory.entry import (
    FIELDS,
    apply_draft,
    change_of,
    inherited,
    not_found,
    parse_id,
    parse_kind,
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
    RecordDraft,
    Saved,
    ref_of,
)
from commonplace.search.filing.port import Deferred
from commonplace.verbs.amend import look_up_former
from commonplace.verbs.answers import answer_of
from commonplace.verbs.context import ContextBlocks, check_budget
from commonplace.verbs.memory.finding import (
    IntentAsked,
    MemoryQuestion,
    MemorySearch,
    MemoryStats,
)
from commonplace.verbs.memory.lines import found_answer, list_answer, saved_answer
from commonplace.verbs.times import read_at
from commonplace.verbs.toolset import Arg, Effects, Tool, Toolset

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import tzinfo

    from commonplace.core.clock import Clock
    from commonplace.core.former_texts import FormerTexts
    from commonplace.core.ports import EncoderSlot, OwnerIndex
    from commonplace.journals.memory.ports import MemoryStore
    from commonplace.journals.memory.records import Kind, Record, Records
    from commonplace.search.filing.port import FilingPort
    from commonplace.search.finder import Finder
    from commonplace.verbs.context import Context
    from commonplace.verbs.memory.finding import MemoryFound, MemoryNumbers, Zone

KindAsked: TypeAlias = Literal["message", "journal", "todo", "preference", "gratitude"]

_GUIDE = """\
You have a memory of this user: what was said, journals, to-dos, preferences, gratitude. Ask \
memory_search before you answer what may depend on it."""

_WRITING_GUIDE = """\
Keep what the user wants remembered with memory_save, and delete with memory_delete what the user \
wants forgotten."""

_NO_CARD = "A card is shown only where COMMONPLACE_DEBUG is 1."

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


class MemoryService:
    """The verbs of one user's memory; `toolset` and `write_toolset` are what doors offer.

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

    @classmethod
    def toolset(cls, opens: Callable[[], Self]) -> Toolset:
        """The tool that searches, a method of what `opens` gives; listing it opens nothing."""
        search = Tool(
            run=cls.memory_search,
            title="Search the user's memory",
            aliases=("memory.search",),
            is_short=True,
        )
        return Toolset(name="memory", guide=_GUIDE, tools=(search,)).of(opens)

    @classmethod
    def write_toolset(cls, opens: Callable[[], Self]) -> Toolset:
        """The tools that keep, delete and list, methods of what `opens` gives."""
        return Toolset(
            name="memory-write",
            guide="",
            writing_guide=_WRITING_GUIDE,
            tools=(
                Tool(
                    run=cls.memory_save,
                    may_expire=True,
                    title="Save to the user's memory",
                    effects=Effects(writes=True, repeatable=False),
                ),
                Tool(
                    run=cls.memory_delete,
                    title="Delete from the user's memory",
                    effects=Effects(writes=True, destroys=True),
                ),
                Tool(run=cls.memory_list, title="List the user's memory", is_short=True),
            ),
        ).of(opens)

    def memory_search(
        self,
        *,
        query: Annotated[str, Arg("What you look for, in words.")],
        kinds: Annotated[
            list[str], Arg("Only these: message, journal, todo, preference, gratitude.")
        ] = [],
        filters: Annotated[dict[str, Any], Arg('The same as {"kinds": […]}.')] = {},
        top_k: Annotated[int | None, Arg("How many at most; else 8.", 1, 100)] = None,
        when: Annotated[str, Arg("Only this time: 'last week', '2026-10'.")] = "",
        as_of: Annotated[str, Arg("As known then: '3 May'.")] = "",
        intent: Annotated[
            IntentAsked, Arg("planning prefers to-dos, journaling journals; auto: by the words.")
        ] = "auto",
        diverse: Annotated[bool, Arg("At most 5 of one kind.")] = False,
        unsure: Annotated[bool, Arg("Misheard? Prefers the last day.")] = False,
        explain: Annotated[bool, Arg("Explain each score.")] = False,
        debug: Annotated[bool, Arg("With a diagnostic card, where that is allowed.")] = False,
    ) -> Answer:
        """Memory: find what is known of this user, by meaning and by words.

        Use it before you answer what may depend on earlier chats, journals, to-dos or preferences.
        Returns snippets, best first, recent ones before older ones that fit as well.
        """
        found = self.search(
            MemoryQuestion(
                text=query,
                kinds=_kinds(kinds, filters),
                top_k=top_k,
                when=when,
                as_of=as_of,
                intent=intent,
                diverse=diverse,
                unsure=unsure,
            )
        )
        card = debug and self.shows_cards
        answer = found_answer(found, explain=explain or card, card=card)
        if debug and not card:
            return Answer(answer.text, lambda: answer.noting([_NO_CARD]).facts)
        return answer

    def search(self, asked: MemoryQuestion) -> MemoryFound:
        """The best records for a question, within the budget. Raises: Invalid, Unavailable."""
        self._begin()
        return self._search.search(asked)

    def memory_save(
        self,
        *,
        kind: Annotated[KindAsked, Arg("What it is.")],
        text: Annotated[str, Arg("Of a message or gratitude.")] = "",
        role: Annotated[str, Arg("Who said a message: user or assistant.")] = "",
        title: Annotated[str, Arg("Of a journal or to-do.")] = "",
        body: Annotated[str, Arg("Of a journal.")] = "",
        is_draft: Annotated[
            bool | None, Arg("A journal's draft is kept, but not searched.")
        ] = None,
        done: Annotated[bool | None, Arg("Whether a to-do is done.")] = None,
        language: Annotated[str, Arg("A preference.")] = "",
        religion: Annotated[str, Arg("A preference.")] = "",
        flags: Annotated[dict[str, Any], Arg("Other preferences by name; null removes one.")] = {},
        ref: Annotated[str, Arg("Ref of the record to change; none adds one.")] = "",
        at: Annotated[str, Arg("When it was, if not now.")] = "",
        idempotency_key: Annotated[str, Arg("Same key, same entry.")] = "",
        supersedes: Annotated[str, Arg("Ref of what it replaces.")] = "",
    ) -> Answer:
        """Memory: keep a message, journal, to-do, gratitude or preference of this user.

        Use it when the user wants something remembered, or finishes a to-do. What you leave out of
        a change stays. Messages are never altered. Returns its ref.
        """
        given: dict[str, Any] = {"text": text, "role": role, "title": title, "body": body}
        given |= {"is_draft": is_draft, "done": done, "flags": flags or None}
        given |= {"language": language, "religion": religion}
        draft = RecordDraft(
            kind=kind,
            fields={name: value for name, value in given.items() if value not in ("", None)},
            ref_id=ref,
            at=read_at(self, at),
            key=idempotency_key,
            supersedes=supersedes.strip(),
        )
        kept = self.save(draft)
        return saved_answer(kept.saved, kind, self.zone, kept.notes)

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
        fields = {name: getattr(old, name) for name in FIELDS[old.kind]}
        more = FormerRecord(fields=fields, at=old.at)
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

    def memory_delete(
        self,
        *,
        kind: Annotated[KindAsked, Arg("What it is.")],
        ref: Annotated[str, Arg("Its ref, as shown.")],
    ) -> Answer:
        """Memory: delete something of this user for good.

        Use it when the user wants it forgotten. No text of it stays anywhere.
        """
        notes = self.delete(kind, ref)
        shown = ref if ref.startswith("memory:") else ref_of(kind, ref)
        facts = {"kind": kind, "ref": shown, "deleted": True}
        return answer_of([f"Deleted {shown}."], facts, notes)

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

    def memory_list(
        self,
        *,
        kind: Annotated[KindAsked, Arg("What to list.")],
        limit: Annotated[int, Arg("How many at most.", 1, 100)] = 20,
        cursor: Annotated[str, Arg("From the answer before.")] = "",
    ) -> Answer:
        """Memory: list what is kept of this user, newest first, with refs.

        Use it to go through to-dos, or to find the ref of what is to be altered or deleted.
        """
        with nullcontext() if self._shared is None else self._shared.together():
            listed, zone = self.list_records(kind, limit=limit, cursor=cursor.strip()), self.zone
        return list_answer(listed, kind, zone)

    def list_records(self, kind: Kind, *, limit: int = 20, cursor: str = "") -> Records:
        """Records of a kind, newest first; see `MemoryStore.list_records`."""
        return self.store.list_records(kind, limit=limit, cursor=cursor)

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
        kinds = index.count_by_kind(identity) if isinstance(index, CountsKinds) else ()
        mine = [each for each in kinds if each.journal == JOURNAL]
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


def _kinds(kinds: Sequence[str], filters: Mapping[str, Any]) -> tuple[Kind, ...]:
    for name in filters:
        if name != "kinds":
            raise Invalid(f"Invalid filters: {opening(name, 60)!r}.", hint="Use kinds.")
    more = filters.get("kinds") or []
    if not isinstance(more, list) or not all(isinstance(x, str) for x in more):
        raise Invalid(
            "Invalid filters: kinds must be a list of texts.", hint='Use {"kinds": ["todo"]}.'
        )
    return tuple(dict.fromkeys(parse_kind(x) for x in (*kinds, *more)))
