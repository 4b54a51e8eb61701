"""Forgets entries: a plan that changes nothing, then the deletion and its proof.

Never asks, and never deletes another entry that says the same words: it is named.

    service = app.forgetting()
    plan = service.plan(["chronicle:0f1e…"])   # what goes, what stays, what cannot be reached
    proof = service.carry_out(plan)             # raises what deleting raises; then proof.is_clean

The plan is of one moment: an entry that was edited since is a Conflict, and nothing of it goes.
"""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from commonplace.core.brief_item import CLIENT
from commonplace.core.clock import micros
from commonplace.core.errors import CommonplaceError, Invalid, NotFound, Unavailable, has_changed
from commonplace.core.expiring import FORMER_HISTORY, leaving_replaced, revealed
from commonplace.core.files import locked, make_folder, may_exist, remove_file, replace_file
from commonplace.core.spaces import check_may_delete
from commonplace.core.text import counted_entries
from commonplace.core.values import NOTHING_KNOWN, Put
from commonplace.verbs.forgetting.byte_scan import ByteScan, history_of
from commonplace.verbs.forgetting.inherited import drop_inherited, find_heirs
from commonplace.verbs.forgetting.shingles import Shingle, cutter, shingles_in, shingles_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from commonplace.core.clock import Clock
    from commonplace.core.inherited import Inherited
    from commonplace.core.ports import Source
    from commonplace.core.time_book import TimeBook
    from commonplace.core.values import Doc, EditableText, Since
    from commonplace.db.raw_files import RawFiles
    from commonplace.verbs.amend import AmendService
    from commonplace.verbs.forgetting.copies import TextCopy
    from commonplace.verbs.forgetting.inherited import Heir
    from commonplace.verbs.forgetting.ports import OwnerNotebook, OwnerTexts, TextCopies
    from commonplace.verbs.forgetting.selection import EntrySelection

_TRANSCRIPTS = "transcripts"
_DAY = timedelta(days=1)
_NOTEBOOK = "notebook:"
_DATABASE = "the database of memories"
_FORMER = "former texts in the database of memories"

_LEAVING_WAITS_S = 30.0
"""How long who lets an entry stay waits for a process that forgets: as for a lock of SQLite's."""

_Noted: TypeAlias = "tuple[str, str, int | None, Sequence[Inherited]]"
"""What is noted of an entry that is being forgotten: its ref, its version, and how to."""


class PlannedDeletion(Struct, frozen=True, kw_only=True):
    """An entry that goes.

    Attributes:
        ref: Its own, whole.
        text: What it says; empty where it has expired, so that nothing shows it.
        words: The same for people, without what its format adds; empty where that is the text.
        version: What was read, so that nothing else goes.
        because: The ref of the entry that it quotes; empty for one that was named.
        supersedes: The ref of the entry that it replaced, which stays replaced; empty for none.
        written: When it took that place.
    """

    ref: str
    text: str
    version: str
    words: str = ""
    because: str = ""
    supersedes: str = ""
    written: datetime | None = None


class SameWords(Struct, frozen=True, kw_only=True):
    """An entry that stays, and shares words with one that goes: twelve in a row, or all of it.

    Attributes:
        text: What it says.
        at: When it was.
        is_whole: Whether it says all of an entry that goes, not only a part of it.
    """

    ref: str
    text: str
    at: datetime
    is_whole: bool


class ForgettingPlan(Struct, frozen=True, kw_only=True):
    """What forgetting would do.

    Attributes:
        entries: What goes: what was named, and what was said in sessions that quotes it.
        copies: Of the text, in places that no journal keeps: drafts, project logs.
        remade: Refs of summaries that quote it, and are made again without it.
        others: Other entries that share words with it; they stay.
        stays: What will hold the text all the same, each as a sentence.
        unreached: What cannot be reached from here, each as a sentence.
        shingles: By which the text is known.
        kept_days: For how many days the notebook's former history is kept once it is rewritten;
            None where it is not rewritten.
        heirs: What took the place of an entry that goes, and has values of it beside its text.
        with_inherited: Which of these values go too.
    """

    entries: tuple[PlannedDeletion, ...]
    copies: tuple[TextCopy, ...]
    remade: tuple[str, ...]
    others: tuple[SameWords, ...]
    stays: tuple[str, ...]
    unreached: tuple[str, ...]
    shingles: tuple[Shingle, ...]
    kept_days: int | None = None
    heirs: tuple[Heir, ...] = ()
    with_inherited: tuple[Inherited, ...] = ()

    @property
    def same_words(self) -> tuple[str, ...]:
        """The refs of the other entries that share words with it."""
        return tuple(each.ref for each in self.others)


class TextTrace(Struct, frozen=True, kw_only=True):
    """A place that holds words of the text.

    Attributes:
        place: A file, or a repository's history.
        refs: The entries that say those words, and stay. Empty where nothing explains them.
    """

    place: str
    refs: tuple[str, ...]


class ForgettingProof(Struct, frozen=True, kw_only=True):
    """What was looked through once all was deleted, and what was found.

    Attributes:
        files: How many files were read.
        objects: How many objects of git's.
        size: Bytes of both.
        found: Where words of the text are.
        unread: What could not be read, each with the reason.
        is_short: Whether the text is so short that its words may be there by chance.
        notes: What the journals say to their deletions.
    """

    files: int
    objects: int
    size: int
    found: tuple[TextTrace, ...]
    unread: tuple[str, ...]
    is_short: bool
    notes: tuple[str, ...]

    @property
    def left(self) -> tuple[TextTrace, ...]:
        """Where the text is though no entry says so."""
        return tuple(each for each in self.found if not each.refs)

    @property
    def is_clean(self) -> bool:
        """Whether nothing of the text is left, as far as could be read."""
        return not self.unread and (self.is_short or not self.left)


class ForgettingService(Struct, frozen=True, kw_only=True):
    """Forgets entries of one owner.

    Attributes:
        amend: Deletes by ref.
        book: Says when the notebook's former history goes.
        skip: A folder of weights, which is not looked through.
        replaced: Notes which entries were replaced by one that goes.
        pending: The file that says what is being forgotten: refs and versions, never a text. It
            has a folder of its own, whose lock one process holds while it deletes.
    """

    amend: AmendService
    texts: OwnerTexts
    copies: TextCopies
    notebook: OwnerNotebook
    clock: Clock
    book: TimeBook
    raw: RawFiles
    skip: Path
    replaced: TimeBook
    pending: Path

    def select(self, selection: EntrySelection) -> list[Doc]:
        """The entries that fit a selection, oldest first.

        Every entry is read, so that none is missed that is not yet in the index. Raises: Invalid
        for a query without a word; Unavailable where a journal cannot be read.
        """
        is_taken = selection.matcher(self.texts.folders())
        sources = [*self.texts.sources(), *self.texts.elsewhere()]
        docs = (doc for source in sources for doc in puts(source, NOTHING_KNOWN))
        taken = {doc.ref: doc for doc in docs if is_taken(doc)}
        return sorted(taken.values(), key=lambda doc: (doc.at, doc.ref))

    def plan(
        self,
        refs: Sequence[str],
        *,
        kept_days: int | None = None,
        with_inherited: Collection[Inherited] = (),
    ) -> ForgettingPlan:
        """What would go and what would stay; changes nothing.

        Args:
            refs: Of the entries.
            kept_days: For how many days to keep the notebook's former history, which is then
                rewritten too; None not to rewrite it.
            with_inherited: What to take out of the entries that took the place of these.

        Raises: as `AmendService.read_text`; Invalid for a rollup; Unavailable where a journal
            cannot be read.
        """
        named = _newest_first([self.amend.read_kept_text(ref) for ref in dict.fromkeys(refs)])
        rewrites = kept_days is not None
        # What a client noted stays, so nothing that quotes it goes with it.
        ours = [each for each in named if not each.file]
        shingles = {each.ref: shingles_of(each.text) for each in ours}
        known = {shingle: ref for ref, said in shingles.items() for shingle in said}
        entries = [_planned(each) for each in ours if rewrites or not self._is_commit(each.ref)]
        found = _PlanFound(stays=self._left_of(named, kept_days))
        whole = [frozenset(each) for each in shingles.values() if each]
        for doc, said in self._docs_with(tuple(known), {each.ref for each in named}, found.lost):
            if doc.covers or (rewrites and doc.ref.startswith(_NOTEBOOK) and "#" not in doc.ref):
                found.remade.append(doc.ref)
            elif doc.word == CLIENT:
                found.stays.append(_lies_in(self.amend.read_text(doc.ref)))
            elif doc.journal == _TRANSCRIPTS and not all(each.is_short for each in said):
                quoting = self.amend.read_text(doc.ref)
                entries.append(_planned(quoting, because=known[next(iter(said))]))
            else:
                is_whole = any(each <= said for each in whole)
                found.same.append(
                    SameWords(ref=doc.ref, text=doc.own_text, at=doc.at, is_whole=is_whole)
                )
        gone = [each.ref for each in entries]
        return ForgettingPlan(
            entries=tuple(entries),
            copies=tuple(self.copies.find_all(gone, tuple(known))) if gone else (),
            remade=tuple(found.remade),
            others=tuple(found.same),
            stays=tuple(found.stays),
            unreached=(
                *(f"Memories in the database: {why}" for why in found.lost),
                *self.texts.unreached(),
            ),
            shingles=tuple(known),
            kept_days=kept_days,
            heirs=tuple(find_heirs(self.amend, gone)),
            with_inherited=tuple(with_inherited),
        )

    def _left_of(self, named: Sequence[EditableText], kept_days: int | None) -> list[str]:
        """What will hold the text of what was named, each a sentence. Raises: Invalid."""
        stays = []
        for each in named:
            is_of_notebook = self._is_in_history(each.ref)
            if "delete" not in each.verbs and not each.file and not is_of_notebook:
                raise Invalid(
                    f"{each.ref} is a summary: it follows what it is made from.",
                    hint="Forget an entry that it quotes, and it is made again without it.",
                )
            if is_of_notebook and kept_days is None:
                stays.append(_stays(each.ref, is_commit=self._is_commit(each.ref)))
        stays += [_lies_in(each) for each in named if each.file]
        if kept_days is not None and any(self._is_in_history(each.ref) for each in named):
            stays += self._kept_history(kept_days)
        return stays

    def _kept_history(self, days: int) -> Iterator[str]:
        """What is kept of the notebook's former history, and of what an earlier forgetting kept."""
        ends = self.notebook.history().list_ends()
        earlier = f"one of an earlier forgetting, kept until {ends[-1]:%Y-%m-%d}," if ends else ""
        if days:
            more = f"; {earlier} holds it too" if ends else ""
            yield f"The notebook's former history is kept for {days} days{more}."
        elif ends:
            yield f"Nothing of the notebook's former history is kept: {earlier} goes too."

    def carry_out(self, plan: ForgettingPlan) -> ForgettingProof:
        """Delete what the plan says, and search for anything left. Raises: as `delete`."""
        return self._prove(plan, self.delete(plan))

    def delete(
        self, plan: ForgettingPlan, *, check: Callable[[], None] = lambda: None
    ) -> tuple[str, ...]:
        """Delete what the plan says; returns the journals' notes.

        What a killed process had begun to forget goes first. check: refuses by what it raises, once
        no other process forgets. Raises: as `AmendService.delete`; entries that were not deleted
        then stay noted, unless they are refused for good.
        """
        check_may_delete()
        notes: list[str] = []
        if plan.entries:
            make_folder(self.pending.parent)
            with locked(self.pending.parent), revealed():
                notes += self._finish_noted()
                check()
                self._refuse_changed(plan)
                inherited = list(plan.with_inherited)
                wanted = [
                    (each.ref, each.version, plan.kept_days, inherited) for each in plan.entries
                ]
                self._keep_replaced(plan.entries)
                self._note(wanted)
                notes += self._delete_noted(wanted)
        return tuple(notes)

    @contextmanager
    def leaving(self, ref: str) -> Iterator[None]:
        """Let an entry stay that was to be forgotten, and meanwhile have nothing be forgotten.

        Raises: Unavailable, also where another process forgets for long.
        """
        make_folder(self.pending.parent)
        with locked(self.pending.parent, waits_s=_LEAVING_WAITS_S), revealed():
            noted = self._read_noted()
            left = [each for each in noted if each[0] != ref]
            if left:
                self._note(left)
            elif noted:
                remove_file(self.pending)
            yield

    def _refuse_changed(self, plan: ForgettingPlan) -> None:
        """Refuse where an overview changed that is to leave the history. Raises: Conflict.

        Of all else its journal sees to that, when it is deleted.
        """
        goes_whole = plan.kept_days is not None or not self.notebook.keeps_history
        for each in plan.entries if goes_whole else ():
            if each.ref.startswith(_NOTEBOOK) and not self._is_commit(each.ref):
                with suppress(NotFound):
                    if self.amend.read_text(each.ref).version != each.version:
                        raise has_changed(each.ref)

    def _keep_replaced(self, entries: Sequence[PlannedDeletion]) -> None:
        """Note what the entries replaced: it does not hold again once they are gone."""
        gone = [each.ref for each in entries]
        former = {
            each.supersedes: micros(each.written) / 1e6
            for each in entries
            if each.supersedes and each.written and each.supersedes not in gone
        }
        if former:
            self.replaced.keep_all(former)
        self.replaced.drop(gone)

    def resume(self) -> tuple[str, ...]:
        """Finish what a killed process had begun to forget; returns notes on it."""
        if not may_exist(self.pending):
            return ()
        with locked(self.pending.parent), revealed():
            return self._finish_noted()

    def _finish_noted(self) -> tuple[str, ...]:
        if not (wanted := self._read_noted()):
            return ()
        notes = self._delete_noted(wanted)
        return (f"An earlier forgetting of {counted_entries(len(wanted))} was finished.", *notes)

    def _note(self, wanted: Sequence[_Noted]) -> None:
        replace_file(self.pending, json.dumps(wanted).encode())

    def _read_noted(self) -> list[_Noted]:
        try:
            return list(json.loads(self.pending.read_bytes()))
        except (OSError, ValueError):
            return []

    def _delete_noted(self, wanted: Sequence[_Noted]) -> list[str]:
        # First: what a killed process leaves undone can be read as long as the entries are there.
        notes = self._erase_copies({ref: version for ref, version, *_ in wanted})
        try:
            bare = self._drop_inherited(wanted, notes)
            notes += self._rewrite(
                [(ref, days) for ref, _, days, _ in wanted if ref.startswith(_NOTEBOOK)], bare
            )
            for ref, version, days, _ in wanted:
                goes_whole = days is not None or not self.notebook.keeps_history
                rewritten = goes_whole and ref.startswith(_NOTEBOOK)
                if rewritten and self._is_commit(ref):
                    continue
                try:
                    # The text has left an overview's file too, which so has another version.
                    expected = "" if rewritten else version
                    with leaving_replaced():
                        notes += self.amend.delete_kept(ref, expected=expected).notes
                except NotFound:
                    continue  # it is gone already
        except Unavailable:
            raise
        except CommonplaceError:
            remove_file(self.pending)
            raise
        remove_file(self.pending)
        return notes

    def _drop_inherited(self, wanted: Sequence[_Noted], notes: list[str]) -> list[str]:
        """Take values out of what stays, with notes; of the notebook, which is to lose some."""
        names = next((names for *_, names in wanted if names), [])
        heirs = find_heirs(self.amend, [ref for ref, *_ in wanted]) if names else []
        commits = [each for each in heirs if self._is_in_history(each.ref)]
        others = [each for each in heirs if each not in commits]
        notes += drop_inherited(self.amend, others, names)
        return [each.ref for each in commits if any(name in each.values for name in names)]

    def _erase_copies(self, versions: Mapping[str, str]) -> list[str]:
        """Erase the copies of a text that no journal erases; a note on each that stays.

        versions: of the entries, by ref. Of one that has another by now all copies stay: it is
        going to be refused.
        """
        shingles: dict[Shingle, None] = {}
        refs = []
        for ref, version in versions.items():
            with suppress(NotFound):
                found = self.amend.read_kept_text(ref)
                if version not in {"", found.version}:
                    continue
                shingles |= dict.fromkeys(shingles_of(found.text))
            refs.append(ref)
        notes = []
        for each in self.copies.find(refs, tuple(shingles)):
            left = each.left
            if each.erase is not None:
                try:
                    each.erase()
                except CommonplaceError as exc:
                    left = f"{exc.located} {exc.located_hint}".rstrip()
            if left:
                notes.append(f"{each.named[:1].upper()}{each.named[1:]} stays: {left}")
        return notes

    def _rewrite(self, wanted: Sequence[tuple[str, int | None]], bare: Sequence[str]) -> list[str]:
        """Take entries out of the notebook's history, and their text out of its files.

        bare: refs of entries that stay, without their work context.
        """
        days = next((days for _, days in wanted if days is not None), None)
        if days is None and self.notebook.keeps_history:
            return []
        there = []
        for ref, _ in wanted:
            with suppress(NotFound):
                there.append(self.amend.read_kept_text(ref))
        shingles = {shingle: None for each in there for shingle in shingles_of(each.text)}
        if not self.notebook.keeps_history:
            self._cut_versions(there, tuple(shingles), current=days is not None)
            return []
        assert days is not None
        notes: list[str] = []
        if there:
            keep_until = self.clock() + days * _DAY if days else None
            notes += self.notebook.history().forget(
                [each.ref for each in there],
                cutter(tuple(shingles)),
                keep_until=keep_until,
                without_context=bare,
            )
            if ends := self.notebook.history().list_ends():
                self.book.keep(FORMER_HISTORY, micros(ends[0]) / 1e6)
        else:
            notes += self.notebook.history().finish()  # the branches had moved already
        self.notebook.unfile_commits([ref for ref, _ in wanted if self._is_commit(ref)])
        return notes

    def _cut_versions(
        self, there: Sequence[EditableText], shingles: Sequence[Shingle], *, current: bool
    ) -> None:
        """Take texts out of what a database keeps of overviews. current: of what they are, too."""
        cut = cutter(shingles)
        sections = [x.ref.removeprefix(_NOTEBOOK) for x in there if "#" not in x.ref]
        if there:
            self.notebook.erase_versions(
                sections, lambda text: cut(text.encode()).decode(), current=current
            )

    def _is_in_history(self, ref: str) -> bool:
        """Whether git's history holds what a ref is of."""
        return ref.startswith(_NOTEBOOK) and self.notebook.keeps_history

    def _is_commit(self, ref: str) -> bool:
        """Whether a ref is that of an entry which is a commit."""
        return "#" in ref and self._is_in_history(ref)

    def _prove(self, plan: ForgettingPlan, notes: tuple[str, ...]) -> ForgettingProof:
        scan, places = ByteScan(raw=self.raw), list(self.copies.each())
        scan.read_files([path for path, _ in places], plan.shingles, self.skip)
        repo = self.notebook.repository()
        if repo is not None:
            scan.read_repository(repo, plan.shingles)
        self._look_elsewhere(scan, plan.shingles)
        by_shingle: dict[Shingle, list[str]] = {}
        if scan.found:
            for doc, said in self._docs_with(plan.shingles, set(), []):
                for shingle in said:
                    by_shingle.setdefault(shingle, []).append(doc.ref)
        found = []
        kept = self.notebook.history().list_ends() if repo is not None else ()
        for place, there in sorted(scan.found.items()):
            lead = _lead_of(place, places)
            says = [[x for x in by_shingle.get(each, ()) if x.startswith(lead)] for each in there]
            refs = dict.fromkeys(ref for each in says for ref in each) if all(says) else ()
            if not refs and kept and repo is not None and place == history_of(repo):
                refs = {f"the former history, kept until {kept[-1]:%Y-%m-%d},": None}
            found.append(TextTrace(place=place, refs=tuple(refs)))
        return ForgettingProof(
            files=scan.files,
            objects=scan.objects,
            size=scan.size,
            found=tuple(found),
            unread=tuple(scan.unread),
            is_short=bool(plan.shingles) and all(each.is_short for each in plan.shingles),
            notes=notes,
        )

    def _look_elsewhere(self, scan: ByteScan, shingles: Sequence[Shingle]) -> None:
        try:
            if sources := self.texts.elsewhere():
                docs = chain.from_iterable(puts(each, NOTHING_KNOWN) for each in sources)
                scan.read_texts(_DATABASE, (doc.text for doc in docs), shingles)
                scan.read_texts(_FORMER, self.texts.former_elsewhere(), shingles)
        except CommonplaceError as exc:
            scan.unread.append(f"{_DATABASE}: {exc.message}")

    def _docs_with(
        self, shingles: Sequence[Shingle], but: set[str], lost: list[str]
    ) -> Iterator[tuple[Doc, set[Shingle]]]:
        """Each doc that holds a shingle, with the shingles.

        Args:
            shingles: Of the text.
            but: Refs to leave out, and those below.
            lost: Why the database could not be read is added to it, instead of raised.
        """
        seen: set[str] = set()
        for doc in chain(self.texts.docs_with(shingles), self._docs_elsewhere(shingles, lost)):
            if doc.ref in seen or doc.ref in but or doc.ref.partition("#")[0] in but:
                continue
            if said := shingles_in(shingles, doc.text):
                seen.add(doc.ref)
                yield doc, said

    def _docs_elsewhere(self, shingles: Sequence[Shingle], lost: list[str]) -> Iterator[Doc]:
        """What may hold one in a database; lost: as in `_docs_with`."""
        try:
            yield from self.texts.docs_elsewhere_with(shingles)
        except CommonplaceError as exc:
            lost.append(exc.message)


class _PlanFound(Struct, kw_only=True):
    """What holds the words of what goes, as a plan finds it; its fields are those of the plan."""

    stays: list[str]
    remade: list[str] = []
    same: list[SameWords] = []
    lost: list[str] = []


def _planned(entry: EditableText, because: str = "") -> PlannedDeletion:
    return PlannedDeletion(
        ref=entry.ref,
        text="" if entry.has_expired else entry.text,
        words="" if entry.has_expired else entry.words,
        version=entry.version,
        because=because,
        supersedes=entry.supersedes,
        written=entry.written,
    )


def puts(source: Source, known: Since) -> Iterator[Doc]:
    """The docs of a source, less those that are known."""
    for change in source.scan(known):
        if isinstance(change, Put):
            yield change.doc


def _newest_first(named: Sequence[EditableText]) -> list[EditableText]:
    """Each entry before those it replaced: a deletion of the older one first would change it."""
    former = {each.ref: each.supersedes for each in named}
    depths: dict[str, int] = {}
    for each in named:
        way: dict[str, None] = {}
        ref = each.ref
        while ref in former and ref not in way and ref not in depths:
            way[ref] = None
            ref = former[ref]
        least = depths.get(ref, 0) + 1
        depths |= {passed: least + n for n, passed in enumerate(reversed(way))}
    return sorted(named, key=lambda each: -depths[each.ref])


def _lead_of(place: str, places: Sequence[tuple[Path, str]]) -> str:
    """How the refs of the entries begin that may be in a place; empty for all."""
    journals = (name for path, name in places if name and place.startswith(str(path)))
    return next((f"{name}:" for name in journals), "")


def _lies_in(note: EditableText) -> str:
    return f"{note.ref} lies in the client's own file {note.file}: edit or delete it there."


def _stays(ref: str, *, is_commit: bool) -> str:
    if is_commit:
        return (
            f"{ref} is a commit of the notebook and is not deleted: its history is not rewritten."
        )
    return f"{ref} goes, and what it said stays in the notebook's history."
