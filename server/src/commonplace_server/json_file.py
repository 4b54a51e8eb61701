"""A file of JSON in a home that only its user may read, and that is read again when it changes.

Never knows what its document says, and never takes a damaged file for one that is not there.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from commonplace.core.errors import Invalid, NotFound, Unavailable
from commonplace.core.files import locked, make_folder, replace_file, translated

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class JsonFile(Generic[_Key, _Value]):
    """One file of a home, and the values of its document by their keys. Thread-safe.

    It is read again only after it has changed, by this process or another.

    Args:
        path: Where it lies.
        parse: Reads the values in a document; may raise what a damaged one makes it raise.
        versions: Those of documents that can be read.
        named: What it is, in an error, such as `file of tokens`.
        hint: What to do with one that cannot be read.
    """

    def __init__(
        self,
        path: Path,
        parse: Callable[[Mapping[str, Any]], dict[_Key, _Value]],
        *,
        versions: Collection[int],
        named: str,
        hint: str,
    ) -> None:
        self.path = path
        self._parse = parse
        self._versions = versions
        self._named = named
        self._hint = hint
        self._lock = threading.Lock()
        self._seen: tuple[int, ...] | None = None
        self._values: Mapping[_Key, _Value] = {}
        self.was_there = False
        """Whether there is a file, or was at any earlier `known`."""

    def known(self) -> Mapping[_Key, _Value]:
        """The values; none where there is no file. Raises: Unavailable, Denied."""
        with self._lock:
            seen = self._state()
            if seen != self._seen:
                self._values = self.read()
                self._seen = seen
                self.was_there = self.was_there or seen is not None
            return self._values

    def read(self) -> dict[_Key, _Value]:
        """The same, read now, to be changed. Raises: Unavailable, Denied."""
        try:
            with translated(self.path):
                content = self.path.read_bytes()
        except NotFound:
            return {}
        try:
            document = json.loads(content)
            if document["version"] not in self._versions:
                raise self._unreadable("It is of a newer version.")
            return self._parse(document)
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError, Invalid) as exc:
            raise self._unreadable("It is damaged.") from exc

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Keep other processes from changing it."""
        make_folder(self.path.parent)
        with locked(self.path.parent):
            yield

    def write(self, document: bytes) -> None:
        """Put a document in its place; inside `changing`."""
        replace_file(self.path, document + b"\n", mode=0o600)

    def _state(self) -> tuple[int, ...] | None:
        try:
            with translated(self.path):
                found = os.stat(self.path)
        except NotFound:
            if os.path.lexists(self.path):
                raise self._unreadable("It is a link that leads nowhere.") from None
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _unreadable(self, why: str) -> Unavailable:
        return Unavailable(
            f"The {self._named} {{place}} cannot be read. {why}", hint=self._hint, place=self.path
        )
