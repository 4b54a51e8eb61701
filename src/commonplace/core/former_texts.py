"""The texts that edits replaced, kept for some days so that an edit can be taken back.

Never in an index, never searched, and never a text that holds a secret. Where they lie is a port.
"""

from __future__ import annotations

import os
from collections.abc import Mapping  # noqa: TC003  msgspec reads the fields' types
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, Outdated, Unavailable
from commonplace.core.ids import new_id
from commonplace.core.spaces import author_at_work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from commonplace.core.clock import Clock
    from commonplace.core.time_book import TimesWithin

_MOST_TRIES = 64
"""An edit that loses to others so often is refused: each time one of them was done."""
_SWEPT_EVERY = timedelta(hours=1)
"""How often a server is asked what is over, apart from edits and undos of its entries."""

_Corrected = TypeVar("_Corrected")


class Editor(Struct):
    """Who edits in this context, and what that came to.

    Attributes:
        terminal: User, machine and terminal of an edit on the command line; None for any other.
        keeps: Whether the former texts are kept.
        edited: The refs of the entries whose former texts were kept.
        unkept: The refs of the entries that were edited, and of which nothing was kept.
    """

    terminal: str | None = None
    keeps: bool = True
    edited: list[str] = field(default_factory=list)
    unkept: list[str] = field(default_factory=list)


_editor: ContextVar[Editor | None] = ContextVar("_editor", default=None)


@contextmanager
def editing(*, terminal: str | None = None, keeps: bool = True) -> Iterator[Editor]:
    """Say who edits inside it, and whether former texts are kept."""
    editor = Editor(terminal=terminal, keeps=keeps)
    token = _editor.set(editor)
    try:
        yield editor
    finally:
        _editor.reset(token)


class FormerEvent(Struct, frozen=True, kw_only=True, tag_field="journal", tag="chronicle"):
    """What an edit may have changed of an event; directory: None where that stayed."""

    tags: tuple[str, ...]
    at: datetime
    directory: str | None = None


class FormerEntry(Struct, frozen=True, kw_only=True, tag_field="journal", tag="timeline"):
    """What an edit may have changed of an entry of the timeline."""

    metadata: Mapping[str, Any]
    at: datetime


class FormerRecord(Struct, frozen=True, kw_only=True, tag_field="journal", tag="memory"):
    """What an edit may have changed of a record: its fields, by their names."""

    fields: Mapping[str, Any]
    at: datetime


FormerFields: TypeAlias = FormerEvent | FormerEntry | FormerRecord


class FormerText(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An entry as it was before an edit.

    Attributes:
        id: The id of this edit; later ones sort after it.
        at: When it was edited, in seconds since 1970.
        text: What it said, as `edit` takes it.
        more: What else the edit may have changed; None in a journal that has texts alone.
        version: The version of the entry before the edit.
        made: The version after it; empty where the process was killed before it was known.
        terminal: As `Editor` has it.
        member: Who edited it, where the owner is a space; else empty.
    """

    id: str
    ref: str
    at: float
    text: str
    version: str
    more: FormerFields | None = None
    made: str = ""
    terminal: str | None = None
    member: str = ""


def render_former(former: FormerText) -> bytes:
    """A former text as every store keeps it: one line of JSON."""
    return msgspec.json.encode(former)


def parse_former(content: bytes | str) -> FormerText | None:
    """The former text in such a line; None for what no store of ours wrote."""
    with suppress(msgspec.MsgspecError):
        return msgspec.json.decode(content, type=FormerText)
    return None


class KeepsFormerTexts(Protocol):
    """Where former texts of one owner lie. Thread-safe; several processes may use one at once.

    What is erased or replaced there is in none of its answers from then on.
    """

    def list_ids(self) -> Sequence[str]:
        """The ids of all, the newest edit first. Raises: Unavailable."""
        ...

    def find(self, ref: str = "") -> Sequence[FormerText]:
        """Those of an entry, or all; the newest edit first. Raises: Unavailable."""
        ...

    def write(self, former: FormerText) -> None:
        """Keep one, in place of the one of the same edit. Raises: Unavailable, Denied.

        A store that knows its entries keeps nothing of one that is gone.
        """
        ...

    def remove(self, ids: Sequence[str]) -> None:
        """Erase those that are there. Raises: Unavailable, Denied."""
        ...

    def drop(self, refs: Sequence[str]) -> None:
        """Erase all of these entries, and what killed edits left. Raises: Unavailable, Denied."""
        ...


class TakesOverFormerTexts(KeepsFormerTexts, Protocol):
    """Where the former texts of a journal on a server lie, so that every process has them."""

    def take_over(self, former: FormerText) -> bool:
        """Keep one that lay elsewhere, unless its entry is gone; whether the entry was ever here.

        Raises: Unavailable.
        """
        ...


class FormerTexts:
    """Keeps, finds and erases the former texts of one owner; safe among threads and processes.

    They lie in files, except for a journal on a server, which keeps its own. What files have of a
    journal that moved there moves with it.

    Args:
        files: What keeps those in files.
        servers: Opens what keeps those of a journal on a server, by the journal's name.
        keep_days: For how many days; 0 keeps none.
        is_borne_out: Whether something besides the clock confirms the time; else none is too old.
        shown: Gives a text without its secrets: one that has any is not kept.
        of_others: Gives what keeps those of other owners, of the entries that they share with
            this one: what is dropped here is dropped there.
        drop_drafts: Erases what is being typed in place of entries that go.
    """

    def __init__(
        self,
        files: KeepsFormerTexts,
        *,
        servers: Mapping[str, Callable[[], TakesOverFormerTexts]],
        keep_days: float,
        clock: Clock,
        is_borne_out: Callable[[], bool],
        shown: Callable[[str], str],
        of_others: Callable[[], Iterable[KeepsFormerTexts]] = tuple,
        drop_drafts: Callable[[Sequence[str]], object] = tuple,
    ) -> None:
        self.files = files
        self.of_others = of_others
        self._drop_drafts = drop_drafts
        self.keep_days = keep_days
        self._servers = {journal: cache(open_one) for journal, open_one in servers.items()}
        self._moved: set[str] = set()
        self._swept: dict[str, datetime] = {}
        self._clock = clock
        self._is_borne_out = is_borne_out
        self._shown = shown

    @contextmanager
    def edited(
        self,
        ref: str,
        version: str,
        text: str,
        more: FormerFields | None = None,
        *,
        at_once: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> Iterator[Callable[[str], None]]:
        """Keep what an entry says before it is edited inside; gives what notes the new version.

        The text is kept first, so that a killed process loses none. Where nothing is to be kept,
        what earlier edits of the entry left is erased as well.

        Args:
            ref: The ref of the entry.
            version: The version that is edited, and no other.
            text: What it says.
            more: What else may change.
            at_once: Makes one transaction of it, where the entry and its former texts lie together.

        Raises:
            Unavailable: The text cannot be kept, and nothing was edited. What is raised inside.
        """
        self.sweep(ref)
        with at_once():
            who = _editor.get() or Editor()
            kept = None
            if who.keeps and self.keep_days and self._is_clean(text, more):
                kept = self._keep(ref, version, text, more, who)
            else:
                self._drop([ref])

            def note(made: str) -> None:
                if kept is None:
                    who.unkept.append(ref)
                    return
                self.write(replace(kept, made=made))
                who.edited.append(ref)

            try:
                yield note
            except CommonplaceError as exc:
                # What was refused was not edited; what failed may have been, which undo finds out.
                if kept is not None and not isinstance(exc, Unavailable):
                    self.remove(kept)
                raise

    def _keep(
        self, ref: str, version: str, text: str, more: FormerFields | None, who: Editor
    ) -> FormerText:
        now = self._clock()
        kept = FormerText(
            id=new_id(self._later(ref, now), os.urandom(10)),
            ref=ref,
            at=now.timestamp(),
            text=text,
            version=version,
            more=more,
            terminal=who.terminal,
            member=author_at_work(),
        )
        self.write(kept)
        return kept

    def _later(self, ref: str, now: datetime) -> datetime:
        """The present, or a time after the newest id: ids have the order of the edits."""
        newest = max((each for x in self._stores(ref) for each in x.list_ids()[:1]), default="")
        millis = int(newest[:8] + newest[9:13], 16) if newest else 0
        return max(now, datetime.fromtimestamp((millis + 1) / 1000, UTC))

    def write(self, former: FormerText) -> None:
        """Keep a former text, in place of the one of the same edit. Raises: Unavailable, Denied."""
        *others, store = self._stores(former.ref)
        store.write(former)
        for each in others:
            each.remove([former.id])

    def find(self, ref: str = "", *, journal: str = "") -> list[FormerText]:
        """The former texts of an entry, of a journal, or all, the newest edit first.

        Raises:
            Unavailable: A server cannot be asked.
        """
        if ref or journal:
            stores = self._stores(ref or f"{journal}:")
        else:
            stores = [self.files, *(open_one() for open_one in self._servers.values())]
        texts = [each for store in stores for each in store.find(ref)]
        within = [each for each in texts if journal in {"", journal_of(each.ref)}]
        return sorted(within, key=lambda each: each.id, reverse=True)

    def find_on_servers(self) -> list[FormerText]:
        """Those that lie in no file. Raises: Unavailable."""
        return [each for open_one in self._servers.values() for each in open_one().find()]

    def remove(self, former: FormerText) -> None:
        """Erase a former text. Raises: Unavailable, Denied."""
        for store in self._stores(former.ref):
            store.remove([former.id])

    def drop(self, refs: Sequence[str]) -> None:
        """Erase all of entries that go, what a killed edit left, and what is being typed of them.

        Raises: Unavailable, Denied.
        """
        self._drop(refs)
        self._drop_drafts(refs)

    def _drop(self, refs: Sequence[str]) -> None:
        for files in (self.files, *self.of_others()):
            files.drop(refs)
        for journal, open_one in self._servers.items():
            if theirs := [ref for ref in refs if journal_of(ref) == journal]:
                open_one().drop(theirs)

    def sweep(self, ref: str = "", *, within: TimesWithin = "all") -> None:
        """Erase what was kept long enough, if more than the clock says so.

        Args:
            ref: The entry that is edited or undone; then only the server of its journal is asked.
            within: "file" to ask no server.

        Raises:
            Unavailable, Denied: It is not erased.
        """
        self._sweep(self.files)
        now = self._clock()
        for journal, open_one in self._servers.items():
            swept = self._swept.get(journal)
            is_due = within == "all" and (swept is None or abs(now - swept) >= _SWEPT_EVERY)
            is_asked = journal_of(ref) == journal if ref else is_due
            if is_asked:
                self._move(journal, open_one())
                if self._sweep(open_one()):
                    self._swept[journal] = now

    def _sweep(self, store: KeepsFormerTexts) -> bool:
        """Erase what is over in a store; whether nothing of it is left."""
        ids = store.list_ids()
        if not ids:
            return True
        oldest = new_id(self._clock() - timedelta(days=self.keep_days), bytes(10))
        over = [each for each in ids if each < oldest or not self.keep_days]
        if over and self.keep_days and not self._is_borne_out():
            return False
        if over:
            store.remove(over)
        return True

    def _move(self, journal: str, server: TakesOverFormerTexts) -> None:
        """Move what the files have of a journal's entries to its server.

        The journal lay in files until it moved. What belongs to no entry of the server stays.
        """
        if journal in self._moved:
            return
        for each in self.files.find():
            if journal_of(each.ref) == journal and server.take_over(each):
                self.files.remove([each.id])
        self._moved.add(journal)

    def _stores(self, ref: str) -> list[KeepsFormerTexts]:
        """The stores in which those of an entry may lie; a new one is kept in the last."""
        server = self._servers.get(journal_of(ref))
        return [self.files] if server is None else [self.files, server()]

    def _is_clean(self, text: str, more: FormerFields | None) -> bool:
        held = text + "\n" + msgspec.json.encode(more).decode()
        return self._shown(text) == text and self._shown(held) == held


def journal_of(ref: str) -> str:
    """The journal of an entry."""
    return ref.partition(":")[0]


def correct_latest(expected: str, correct: Callable[[], _Corrected]) -> _Corrected:
    """Correct an entry; try again where another was faster and no version was named.

    Raises:
        Outdated: The entry is not what was expected. What `correct` raises.
    """
    for _ in range(0 if expected else _MOST_TRIES - 1):
        with suppress(Outdated):
            return correct()
    return correct()
