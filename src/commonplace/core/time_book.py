"""A small file with a time for each of some entries, by their refs: when they expire, for one.

Holds refs and times, and never a word of an entry. Imports nothing heavy: a hook reads it too.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

_NAME = "entries.json"


def path_of(owner_folder: str | os.PathLike[str], folder: str) -> str:
    """Where an owner's file lies that has this folder."""
    return os.path.join(owner_folder, folder, _NAME)


def read_times(path: str) -> dict[str, float]:
    """The times in a file, in seconds since 1970, by ref; empty where there is no file.

    Raises: OSError, or ValueError where it is damaged.
    """
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read())
        return {str(ref): float(at) for ref, at in found.items()}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (TypeError, AttributeError, RecursionError) as exc:
        raise ValueError(path) from exc


class TimeBook:
    """Reads and changes one file of times; safe among threads and processes.

    Args:
        owner_folder: The owner's folder; it is made at the first write.
        folder: The file's own, in that one.
        read: Gives the times for the owner's folder; it says what a damaged file means.
    """

    def __init__(
        self, owner_folder: Path, folder: str, read: Callable[[Path], dict[str, float]]
    ) -> None:
        self._owner_folder = owner_folder
        self._folder = owner_folder / folder
        self._path = path_of(owner_folder, folder)
        self._read = read
        self._seen: tuple[tuple[int, int, int], dict[str, float]] | None = None

    def read(self) -> Mapping[str, float]:
        """The time of each entry, by its ref; the file is read only where it has changed since.

        Raises: as the function that reads it.
        """
        try:
            stat = os.stat(self._path)
        except OSError:
            return self._read(self._owner_folder)
        mark = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        seen = self._seen
        if seen is None or seen[0] != mark:
            self._seen = seen = mark, self._read(self._owner_folder)
        return seen[1]

    def has_due(self, now: float) -> bool:
        """Whether the time of any entry has come; of none where its folder cannot be looked into.

        Raises: as `read`, for a file that is there.
        """
        # So too where the folder is closed: a write goes on then, and a read names the folder.
        if not os.path.exists(self._path):
            return False
        return min(self.read().values(), default=float("inf")) <= now

    def keep(self, ref: str, at: float) -> None:
        """Set the time of an entry, in place of any earlier one. Raises: Unavailable, Denied."""
        self.keep_all({ref: at})

    def keep_all(self, times: Mapping[str, float]) -> None:
        """Set the times of many entries, in one write. Raises: Unavailable, Denied."""
        self.change(lambda known: known | dict(times))

    def drop(self, refs: list[str]) -> None:
        """Remove the times of entries. Raises: Unavailable, Denied."""
        gone = set(refs)
        self.change(lambda known: {ref: at for ref, at in known.items() if ref not in gone})

    def change(self, change: Callable[[dict[str, float]], dict[str, float]]) -> None:
        """Put what a function makes of the times in their place, unless it is the same.

        Raises: Unavailable, Denied; as `read`.
        """
        known = dict(self.read())
        if change(known) == known:
            return
        from commonplace.core.files import locked, make_folder, replace_file

        make_folder(self._folder)
        with locked(self._folder):
            changed = change(self._read(self._owner_folder))
            replace_file(self._folder / _NAME, json.dumps(changed, indent=0).encode())
