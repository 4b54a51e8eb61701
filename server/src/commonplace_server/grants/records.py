"""The records of who signed in here and for which client: those of one home, in a file.

Never holds what opens anything, only hashes of it.
"""

from __future__ import annotations

from datetime import datetime  # noqa: TC003  msgspec reads it
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from commonplace_server.json_file import JsonFile

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from commonplace.core.clock import Clock

FILE = "sign-ins.json"

Kind: TypeAlias = Literal["client", "code", "grant"]

_FORMAT = 1


class Record(Struct, frozen=True, kw_only=True):
    """A client that was introduced, a code that is to be exchanged, or a grant.

    Args:
        kind: Which of these.
        key: Its id, or the hash of what it is found by.
        group: Whose it is: of one owner's records of a kind there are so many at most.
        facts: What is known of it, as JSON has it.
        until: When it goes.
        version: How often it was altered.
    """

    kind: Kind
    key: str
    group: str = ""
    facts: dict[str, Any]
    until: datetime
    version: int = 1


class KeepsRecords(Protocol):
    """Where records are kept. Thread-safe; every method raises Unavailable or Denied.

    Attributes:
        waits: Whether an answer may be waited for, as that of a database.
    """

    waits: bool

    def find(self, kind: Kind, keys: Sequence[str]) -> list[Record]:
        """Those with some keys, whose time is not over."""
        ...

    def list_records(self, kind: Kind, group: str | None = None) -> list[Record]:
        """All of a kind whose time is not over. group: those of one alone."""
        ...

    def put(self, record: Record, *, most: int) -> None:
        """Keep a record, in place of one with its key.

        most: of more than so many of its kind and group those go that end first.
        """
        ...

    def alter(self, record: Record, facts: Mapping[str, Any]) -> bool:
        """Give a record other facts, where it is as it was read; whether it was."""
        ...

    def remove(self, record: Record) -> None:
        """Remove a record; may be called twice."""
        ...


class RecordFile:
    """The records of one home, in a file that only its user may read. Thread-safe."""

    waits = False

    def __init__(self, home: Path, *, clock: Clock) -> None:
        self._file = JsonFile(
            home / FILE,
            _records_in,
            versions=(_FORMAT,),
            named="file of sign-ins",
            hint="Move it away: clients then ask their users to sign in again.",
        )
        self._clock = clock

    def find(self, kind: Kind, keys: Sequence[str]) -> list[Record]:
        """Those with some keys; see `KeepsRecords`."""
        known = self._file.known()
        return self._current(known[kind, key] for key in keys if (kind, key) in known)

    def list_records(self, kind: Kind, group: str | None = None) -> list[Record]:
        """All of a kind; see `KeepsRecords`."""
        known = (x for x in self._file.known().values() if x.kind == kind)
        return self._current(x for x in known if group in {None, x.group})

    def put(self, record: Record, *, most: int) -> None:
        """Keep a record; see `KeepsRecords`."""
        with self._file.changing():
            known = self._file.read()
            known.pop((record.kind, record.key), None)
            self._write(_trimmed([*self._current(known.values()), record], most, record))

    def alter(self, record: Record, facts: Mapping[str, Any]) -> bool:
        """Give a record other facts; see `KeepsRecords`."""
        with self._file.changing():
            known = self._file.read()
            if known.get((record.kind, record.key)) != record:
                return False
            altered = replace(record, facts={**facts}, version=record.version + 1)
            self._write((known | {(record.kind, record.key): altered}).values())
        return True

    def remove(self, record: Record) -> None:
        """Remove a record; see `KeepsRecords`."""
        with self._file.changing():
            known = self._file.read()
            known.pop((record.kind, record.key), None)
            self._write(known.values())

    def _current(self, records: Iterable[Record]) -> list[Record]:
        now = self._clock()
        return [x for x in records if x.until > now]

    def _write(self, records: Collection[Record]) -> None:
        self._file.write(msgspec.json.encode({"version": _FORMAT, "records": [*records]}))


def _records_in(document: Mapping[str, Any]) -> dict[tuple[str, str], Record]:
    records = msgspec.convert(document["records"], list[Record])
    return {(x.kind, x.key): x for x in records}


def _trimmed(records: Sequence[Record], most: int, new: Record) -> list[Record]:
    """These without those that are too many of a kind and group."""
    alike = [x for x in records if (x.kind, x.group) == (new.kind, new.group) and x is not new]
    ending = sorted(alike, key=lambda x: x.until)
    gone = {x.key for x in ending[: max(0, len(alike) + 1 - most)]}
    return [x for x in records if x.kind != new.kind or x.key not in gone]
