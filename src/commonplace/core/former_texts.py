"""The texts that edits replaced, kept for some days so that an edit can be taken back.

One file for each edit, in the owner's folder. Never in an index, never searched, and never a text
that holds a secret.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, Conflict, NotFound, Unavailable
from commonplace.core.files import (
    make_folder,
    remove_file,
    remove_leftovers,
    replace_file,
    translated,
)
from commonplace.core.ids import new_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from commonplace.core.clock import Clock

FOLDER = "former"
"""The name of the folder, in the owner's."""

_SUFFIX = ".json"
_TRIES = 5

_Corrected = TypeVar("_Corrected")


class Editor(Struct):
    """Who edits in this context, and what that came to.

    Attributes:
        terminal: The name of the terminal, or of all programs without one; None for no terminal's.
        keeps: Whether the former texts are kept.
        edited: The refs of the entries whose former texts were kept.
        unkept: Those of the entries that were edited, and of which nothing was kept.
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


class FormerText(Struct, frozen=True, kw_only=True):
    """An entry as it was before an edit.

    Attributes:
        id: Of this edit; later ones sort after it.
        ref: Of the entry.
        at: When it was edited, in seconds since 1970.
        text: What it said, as `edit` takes it.
        more: What else the edit may have changed, by the names of its journal.
        version: Of the entry before the edit.
        made: Of the entry after it; empty where the process was killed before it was known.
        terminal: In which it was edited; None for no terminal.
    """

    id: str
    ref: str
    at: float
    text: str
    version: str
    more: dict[str, Any] = field(default_factory=dict)
    made: str = ""
    terminal: str | None = None


class FormerTexts:
    """Keeps, finds and erases the former texts of one owner; safe among threads and processes.

    Args:
        folder: Of its own; made at the first edit.
        prepare: Makes the owner's folder, in which it lies.
        keep_days: For how many days; 0 keeps none.
        clock: The present.
        is_borne_out: Whether anything but the clock says so too; else nothing is erased by it.
        shown: A text without secrets: one that has any is not kept.
    """

    def __init__(
        self,
        folder: Path,
        *,
        prepare: Callable[[], object],
        keep_days: float,
        clock: Clock,
        is_borne_out: Callable[[], bool],
        shown: Callable[[str], str],
    ) -> None:
        self.folder = folder
        self.keep_days = keep_days
        self._prepare = prepare
        self._clock = clock
        self._is_borne_out = is_borne_out
        self._shown = shown

    @contextmanager
    def edited(
        self, ref: str, version: str, text: str, more: dict[str, Any] | None = None
    ) -> Iterator[Callable[[str], None]]:
        """Keep what an entry says while it is edited inside; given the new version, from then on.

        Kept before the edit: of a process that is killed the text is there. Where nothing is to be
        kept, what earlier edits of the entry left is erased as well.

        Args:
            ref: Of the entry.
            version: That is edited, and no other.
            text: What it says.
            more: What else may change.

        Raises:
            Unavailable: The text cannot be kept, and nothing was edited. What is raised inside.
        """
        self.sweep()
        who = _editor.get() or Editor()
        kept = None
        if who.keeps and self.keep_days and self._is_clean(text, more):
            kept = self._keep(ref, version, text, more or {}, who)
        else:
            self.drop([ref])

        def note(made: str) -> None:
            if kept is None:
                who.unkept.append(ref)
                return
            self.write(replace(kept, made=made))
            who.edited.append(ref)

        try:
            yield note
        except CommonplaceError as exc:
            # What was refused was not edited; of what failed that is not known, and undo finds out.
            if kept is not None and not isinstance(exc, Unavailable):
                self.remove(kept)
            raise

    def _keep(
        self, ref: str, version: str, text: str, more: dict[str, Any], who: Editor
    ) -> FormerText:
        now = self._clock()
        kept = FormerText(
            id=new_id(self._later(now), os.urandom(10)),
            ref=ref,
            at=now.timestamp(),
            text=text,
            version=version,
            more=more,
            terminal=who.terminal,
        )
        self.write(kept)
        return kept

    def _later(self, now: datetime) -> datetime:
        """The present, or a time after the newest id: ids have the order of the edits."""
        newest = next(iter(self._names()), "0" * 13)
        millis = int(newest[:8] + newest[9:13], 16)
        return max(now, datetime.fromtimestamp((millis + 1) / 1000, UTC))

    def write(self, former: FormerText) -> None:
        """Keep a former text, in place of the one of the same edit. Raises: Unavailable, Denied."""
        self._prepare()
        make_folder(self.folder)
        replace_file(self.path(former), msgspec.json.encode(former))

    def find(self, ref: str = "") -> list[FormerText]:
        """The former texts of an entry, or of all; the newest edit first. Raises: Unavailable."""
        texts = (self._read(name) for name in self._names())
        return [each for each in texts if each is not None and ref in {"", each.ref}]

    def remove(self, former: FormerText) -> None:
        """Erase a former text. Raises: Unavailable, Denied."""
        remove_file(self.path(former))

    def drop(self, refs: Sequence[str]) -> None:
        """Erase all of these entries, and what a killed edit left. Raises: Unavailable, Denied."""
        remove_leftovers(self.folder)
        for each in self.find():
            if each.ref in refs:
                self.remove(each)

    def sweep(self) -> None:
        """Erase what was kept long enough, if more than the clock says so.

        Raises: Unavailable, Denied.
        """
        oldest = new_id(self._clock() - timedelta(days=self.keep_days), bytes(10))
        over = [name for name in self._names() if name < oldest or not self.keep_days]
        if over and self.keep_days and not self._is_borne_out():
            return
        for name in over:
            remove_file(self.folder / name)

    def _is_clean(self, text: str, more: dict[str, Any] | None) -> bool:
        held = text + "\n" + msgspec.json.encode(more or {}).decode()
        return self._shown(text) == text and self._shown(held) == held

    def path(self, former: FormerText) -> Path:
        """The file of a former text."""
        return self.folder / f"{former.id}{_SUFFIX}"

    def _names(self) -> list[str]:
        try:
            with translated(self.folder):
                names = os.listdir(self.folder)
        except NotFound:
            return []
        return sorted((x for x in names if x.endswith(_SUFFIX)), reverse=True)

    def _read(self, name: str) -> FormerText | None:
        """The former text in a file; None where the file is gone, or is none of ours."""
        with suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode((self.folder / name).read_bytes(), type=FormerText)
        return None


def correct_latest(expected: str, correct: Callable[[], _Corrected]) -> _Corrected:
    """Correct an entry; again where another was faster and no version was named.

    Args:
        expected: The version that was named; empty for any.
        correct: Reads the entry and corrects what it read.

    Raises:
        Conflict: The entry is not what was expected. What `correct` raises.
    """
    for tries_left in reversed(range(_TRIES)):
        try:
            return correct()
        except Conflict:
            if expected or not tries_left:
                raise
    raise AssertionError
