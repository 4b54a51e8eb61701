"""A small file with a time for each of some entries, by their refs: when they expire, for one.

Holds refs and times, and never a word of an entry. Imports nothing heavy: every command reads it.
"""

from __future__ import annotations

import json
import os
from typing import Protocol

from commonplace.core.errors import CommonplaceError, Unavailable
from commonplace.core.plain_files import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Literal, TypeAlias

    TimeColumn: TypeAlias = Literal["expires_at", "replaced_at"]
    """Under which name a server keeps the times of a file."""

    TimesWithin: TypeAlias = Literal["all", "file"]
    """Which times: of all journals, or of those alone whose times stand in the file."""

EXPIRING, REPLACED, SEEN = "expiring", "replaced", "seen"
"""The folders of an owner's files: when entries expire, when one that is gone replaced them, and
when their owner looked at them."""

_NAME = "entries.json"
_DAMAGE = (OSError, ArithmeticError, ValueError, TypeError, AttributeError, RecursionError)
"""What reading a file raises that is none of ours: a number without end is an ArithmeticError."""


class KeepsTimes(Protocol):
    """A journal on a server that keeps times of its entries itself: when they expire, for one.

    So every process sees them, on whichever machine. Times are in seconds since 1970, by ref.
    """

    def covers(self, ref: str) -> bool:
        """Whether an entry is of this journal; asks no server."""
        ...

    def read_times(self, refs: Sequence[str] | None = None) -> Mapping[str, float]:
        """The times of those of these entries that have one, or all. Raises: Unavailable."""
        ...

    def list_due(self, now: float) -> Sequence[str]:
        """The refs of entries whose time has come, the oldest first. Raises: Unavailable."""
        ...

    def keep_times(self, times: Mapping[str, float]) -> None:
        """Set times, in place of any earlier ones. Raises: Unavailable."""
        ...

    def take_over(self, times: Mapping[str, float]) -> Sequence[str]:
        """Set times that were kept elsewhere, unless one is there that is later.

        Returns:
            Which entries it has, or had: what it never had is not set.

        Raises:
            Unavailable.
        """
        ...

    def drop_times(self, refs: Sequence[str]) -> None:
        """Remove the times of entries. Raises: Unavailable."""
        ...


class TimeBook:
    """Reads and changes the times of one owner's entries; safe among threads and processes.

    They stand in one file, but for a journal that keeps its own. What the file has of that journal,
    as of a time before it did, moves there: it is in the file until it is kept there.

    Args:
        owner_folder: The owner's folder; it is made at the first write.
        folder: The file's own, in that one: `EXPIRING`, `REPLACED` or `SEEN`.
        elsewhere: What keeps the times of a journal on a server; None where there is none.
    """

    def __init__(
        self,
        owner_folder: Path,
        folder: str,
        elsewhere: KeepsTimes | None = None,
    ) -> None:
        self._folder = owner_folder / folder
        self._path = os.path.join(self._folder, _NAME)
        self._elsewhere = elsewhere
        self._seen: tuple[tuple[int, int, int], dict[str, float]] | None = None
        self._moved: dict[str, float] = {}
        self._first: tuple[Mapping[str, float], float] = {}, float("inf")

    def read(self) -> Mapping[str, float]:
        """The time of each entry, by its ref; the file is read only where it has changed since.

        Raises: Unavailable where a server does not answer, or the file cannot be read: no expired
            entry may be shown. What was replaced is then shown as if it held.
        """
        known, other = self._read_file(), self._elsewhere
        if other is None:
            return known
        self._move(known, other)
        ours = {ref: at for ref, at in known.items() if not other.covers(ref)}
        return {**ours, **other.read_times()}

    def find(self, refs: Iterable[str]) -> Mapping[str, float]:
        """The times of those of these entries that have one; no server is asked about others.

        Raises: as `read`.
        """
        known, other, wanted = self._read_file(), self._elsewhere, set(refs)
        theirs = [] if other is None else [ref for ref in wanted if other.covers(ref)]
        found = {ref: known[ref] for ref in wanted if ref in known and ref not in theirs}
        if other is None or not theirs:
            return found
        self._move(known, other)
        return {**found, **other.read_times(theirs)}

    def list_due_here(self, now: float) -> list[str]:
        """The refs of entries whose time in the file has come; asks no server.

        Raises: as `read`, for a file that is there.
        """
        # Where its folder is closed too there are none: a write goes on, and a read names it.
        if not os.path.exists(self._path):
            return []
        known = self._read_file()
        if known is not self._first[0]:
            self._first = known, min(known.values(), default=float("inf"))
        if self._first[1] > now:
            return []
        other = self._elsewhere
        due = [ref for ref, at in known.items() if at <= now]
        return due if other is None else [ref for ref in due if not other.covers(ref)]

    def list_due_elsewhere(self, now: float) -> list[str]:
        """The refs of entries of a server whose time has come, by its own clock as well.

        Of a server that does not answer there are none: it answers no question for them either.
        Raises: as `read`, for a file that is there.
        """
        if (other := self._elsewhere) is None:
            return []
        known = self._read_file() if os.path.exists(self._path) else {}
        try:
            self._move(known, other)
            return [*other.list_due(now)]
        except CommonplaceError:
            return []

    def keep(self, ref: str, at: float) -> None:
        """Set the time of an entry, in place of any earlier one. Raises: Unavailable, Denied."""
        self.keep_all({ref: at})

    def keep_all(self, times: Mapping[str, float]) -> None:
        """Set the times of many entries, in one write. Raises: Unavailable, Denied."""
        other = self._elsewhere
        theirs = (
            {} if other is None else {ref: at for ref, at in times.items() if other.covers(ref)}
        )
        ours = {ref: at for ref, at in times.items() if ref not in theirs}
        if ours:
            self.change(lambda known: known | ours)
        if other is not None and theirs:
            other.keep_times(theirs)

    def keep_first(self, ref: str, at: float) -> bool:
        """Set the time of an entry that has none; whether it is its time now. Raises: as `keep`."""
        other = self._elsewhere
        if other is None or not other.covers(ref):
            self.change(lambda known: {ref: at} | known)
        elif not other.read_times([ref]):
            other.keep_times({ref: at})
        return self.find([ref]).get(ref) == at

    def drop(self, refs: Sequence[str], *, until: float = float("inf")) -> None:
        """Remove the times of entries, of those in the file none that is later than `until`.

        Raises: Unavailable, Denied.
        """
        gone, other = set(refs), self._elsewhere
        self.change(lambda known: {x: at for x, at in known.items() if x not in gone or at > until})
        if other is not None and (theirs := [ref for ref in refs if other.covers(ref)]):
            other.drop_times(theirs)

    def change(self, change: Callable[[dict[str, float]], dict[str, float]]) -> None:
        """Put what a function makes of the file's times in their place, unless it is the same.

        Raises: Unavailable, Denied; as `read`.
        """
        known = dict(self._read_file())
        if change(known) == known:
            return
        from commonplace.core.files import locked, make_folder, replace_file

        make_folder(self._folder)
        with locked(self._folder):
            changed = change(self._read_times())
            replace_file(self._folder / _NAME, json.dumps(changed, indent=0).encode())

    def _read_times(self) -> dict[str, float]:
        try:
            with open_regular(self._path) as file:  # a pipe would be waited for, and by every page
                found = json.loads(file.readall())
            return {str(ref): float(at) for ref, at in found.items()}
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except _DAMAGE as exc:
            if self._folder.name != EXPIRING:
                return {}
            raise Unavailable(
                f"{self._path}, which says when entries expire, cannot be read.",
                hint="Restore it from a backup, or remove it: then nothing expires.",
            ) from exc

    def _read_file(self) -> Mapping[str, float]:
        try:
            stat = os.stat(self._path)
        except OSError:
            return self._read_times()
        mark = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        seen = self._seen
        if seen is None or seen[0] != mark:
            self._seen = seen = mark, self._read_times()
        return seen[1]

    def _move(self, known: Mapping[str, float], other: KeepsTimes) -> None:
        """Move what the file has of another's entries: of a journal that moved into a database.

        What it never had stays in the file: it is of entries that are kept on this machine.
        """
        theirs = {ref: at for ref, at in known.items() if other.covers(ref)}
        if theirs == self._moved:
            return
        there = set(other.take_over(theirs)) if theirs else set()
        # A time that another process set in the file since then stays, and moves the next time.
        self.change(
            lambda now: {
                ref: at for ref, at in now.items() if ref not in there or at != theirs[ref]
            }
        )
        self._moved = {ref: at for ref, at in theirs.items() if ref not in there}
