"""Owns the key files by which a repeated call makes no second entry, where entries have no ids.

Never holds a word of an entry: only where it was to be written, and when.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import NotFound
from commonplace.core.files import locked, make_folder, remove_file, replace_file, translated
from commonplace.core.ids import key_digest
from commonplace.journals.private.format import to_millis

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path


class Plan(Struct, frozen=True, kw_only=True):
    """What a key stands for.

    Attributes:
        refs: User first.
        millis: The time.
        done: All are written.
        written: When the first call came, in milliseconds, where that is another time; 0 for none.
    """

    refs: tuple[str, ...]
    millis: int
    written: int = 0
    done: bool = False

    def moved(self, number: int, ref: str) -> Plan:
        """The plan with another place for one of its entries."""
        return replace(self, refs=(*self.refs[:number], ref, *self.refs[number + 1 :]))


class EntryKeys(Struct, frozen=True):
    """The keys of one owner, a file each, in a folder that is made at the first write."""

    folder: Path

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other process from writing with a key. Raises: Denied, Unavailable."""
        make_folder(self.folder)
        with locked(self.folder):
            yield

    def find(self, key: str) -> Plan | None:
        """The plan of a key; None where none can be read. Raises: Unavailable, Denied."""
        path = self.path_of(key)
        try:
            with translated(path):
                content = path.read_bytes()
        except NotFound:
            return None
        try:
            found = json.loads(content)
            refs, millis = found["refs"], found["millis"]
            if not (isinstance(refs, list) and refs and all(isinstance(x, str) for x in refs)):
                return None
            return Plan(
                refs=tuple(refs),
                millis=int(millis),
                written=int(found.get("written", 0)),
                done=found.get("done") is True,
            )
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None

    def save(self, key: str, plan: Plan) -> None:
        """Keep the plan of a key, whole and durable. Raises: Unavailable, Denied."""
        found = {"refs": list(plan.refs), "millis": plan.millis, "done": plan.done}
        if plan.written:
            found["written"] = plan.written
        replace_file(self.path_of(key), json.dumps(found).encode(), mode=0o600)

    def note(self, key: str, ref: str, at: datetime, *, done: bool) -> None:
        """Note that an entry is written with a key, or is to be. Raises: Denied, Unavailable."""
        with self.locked():
            if done or self.find(key) is None:
                self.save(key, Plan(refs=(ref,), millis=to_millis(at), done=done))

    def release(self, keys: Sequence[str]) -> None:
        """Let the keys of entries that are gone write again. Raises: Denied, Unavailable."""
        with self.locked():
            for key in keys:
                remove_file(self.path_of(key))

    def path_of(self, key: str) -> Path:
        """The file of a key, named by its sha256. Raises: Invalid."""
        return self.folder / f"{key_digest(key)}.json"
