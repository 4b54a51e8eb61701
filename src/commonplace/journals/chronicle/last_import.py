"""Owns which entries the last import brought, so that they can be taken back together.

Never holds a word of an entry, and never stands in the way of an import.
"""

from __future__ import annotations

import contextlib
import json
import logging
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.core.files import make_folder, remove_file, translated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import TextIO

    from commonplace.journals.chronicle.event import Event

_LARGEST = 256 * 1024 * 1024
_WHOLE = "whole"
FILE = "chronicle-import.jsonl"
"""The name of the file, in our folder."""

_log = logging.getLogger(__name__)


class LastImport:
    """The entries of the last import into one storage, by id with their stamps then.

    Args:
        path: A file of ours, None to keep nothing: a line names the storage, one each entry, and
            the last one says that the import came to its end.
    """

    def __init__(self, path: Path | None, *, storage: str) -> None:
        self._path = path
        self._storage = storage

    @contextlib.contextmanager
    def adding(self) -> Iterator[Callable[[Event], None]]:
        """Remember each entry that is given, in place of the last import's.

        Beside them, where that import broke off: this one then goes on with it.
        """
        lines = self._lines()
        if self._path is None:
            yield lambda _: None
            return
        with contextlib.ExitStack() as closing:
            writing = _Writing(self._path, closing, goes_on=bool(lines) and lines[-1] != _WHOLE)
            yield lambda event: writing.put({"storage": self._storage}, {event.id: event.stamp})
            writing.end()

    def read(self) -> dict[str, str]:
        """The ids and stamps; none where nothing is remembered of this storage."""
        stamps: dict[str, str] = {}
        for line in self._lines():
            if isinstance(line, dict):
                stamps |= line
        return stamps

    def _lines(self) -> list[object]:
        """What was written of this storage; a line that a killed process left half is left out."""
        if self._path is None:
            return []
        try:
            with translated(self._path), open(self._path) as file:
                storage, *lines = map(_parsed, file.read(_LARGEST).splitlines())
        except (CommonplaceError, ValueError):  # not there, empty, or not ours
            return []
        return [line for line in lines if line] if storage == {"storage": self._storage} else []

    def forget(self) -> None:
        """Nothing is to be taken back any more."""
        if self._path is not None:
            with contextlib.suppress(CommonplaceError):
                remove_file(self._path)


def path_in_import(content: bytes) -> str:
    """The storage that the file of `LastImport` names; empty for none."""
    try:
        head = _parsed(content.partition(b"\n")[0].decode())
    except ValueError:
        return ""
    found = head.get("storage") if isinstance(head, dict) else None
    return found if isinstance(found, str) else ""


def import_of_path(content: bytes, path: str) -> tuple[str, bytes]:
    """The name and the content of that file for a storage that lies there."""
    rest = content.partition(b"\n")[2]
    return FILE, json.dumps({"storage": path}).encode() + b"\n" + rest


class _Writing:
    """The file while an import is under way; opened at the first entry that is added."""

    def __init__(self, path: Path, closing: contextlib.ExitStack, *, goes_on: bool) -> None:
        self._path = path
        self._closing = closing
        self._goes_on = goes_on
        self._file: TextIO | None = None
        self._failed = False

    def put(self, head: object, line: object) -> None:
        """Write a line, the head before the first. Never raises: the entry is added anyway."""
        if self._failed:
            return
        try:
            if self._file is None:
                self._file = self._opened(head)
            with translated(self._path):
                # A line ends before it: what a killed process left half swallows none.
                self._file.write(f"\n{json.dumps(line)}")
                self._file.flush()
        except CommonplaceError as exc:
            self._failed = True
            _log.warning("What was imported cannot be undone as one: %s", exc)

    def _opened(self, head: object) -> TextIO:
        make_folder(self._path.parent)
        with translated(self._path):
            file = open(self._path, "a" if self._goes_on else "w")  # noqa: SIM115  closed by the stack
            self._closing.callback(file.close)
            if not self._goes_on:
                file.write(json.dumps(head))
        return file

    def end(self) -> None:
        """The import is whole: the next one begins a new file."""
        if self._file is not None:
            self.put(None, _WHOLE)


def _parsed(line: str) -> object:
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(line)
    return None
