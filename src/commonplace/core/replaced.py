"""Which entries were replaced by one that is gone: one small file for each owner, for all journals.

Holds refs and times, and never a word of an entry. Imports nothing heavy: a hook reads it too.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

FOLDER = "replaced"
_FILE = "entries.json"


def read_replaced(owner_folder: str | os.PathLike[str]) -> dict[str, float]:
    """When each entry was replaced, in seconds since 1970, by its ref.

    Empty where there is no file, or it cannot be read: entries are then shown as if they held.
    """
    try:
        with open(os.path.join(owner_folder, FOLDER, _FILE), "rb") as file:
            found = json.loads(file.read())
        return {str(ref): float(at) for ref, at in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


class ReplacedBook:
    """Reads and changes one owner's file of replaced entries; safe among threads and processes.

    An entry that is replaced once more stays in it: it is still replaced if that one is deleted.

    Args:
        owner_folder: The owner's folder; it is made at the first write.
    """

    def __init__(self, owner_folder: Path) -> None:
        self._owner_folder = owner_folder
        self._folder = owner_folder / FOLDER
        self._seen: tuple[tuple[int, int, int], dict[str, float]] | None = None

    def read(self) -> Mapping[str, float]:
        """What `read_replaced` gives; the file is read only where it has changed since."""
        try:
            stat = os.stat(self._folder / _FILE)
        except OSError:
            return {}
        mark = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        seen = self._seen
        if seen is None or seen[0] != mark:
            self._seen = seen = mark, read_replaced(self._owner_folder)
        return seen[1]

    def keep_all(self, times: Mapping[str, float]) -> None:
        """Note when entries were replaced by entries that go now. Raises: Unavailable, Denied."""
        self._change(lambda known: known | dict(times))

    def drop(self, refs: list[str]) -> None:
        """Remove the notes of entries that go themselves. Raises: Unavailable, Denied."""
        if any(ref in self.read() for ref in refs):
            self._change(lambda known: {x: at for x, at in known.items() if x not in refs})

    def _change(self, change: Callable[[dict[str, float]], dict[str, float]]) -> None:
        from commonplace.core.files import locked, make_folder, replace_file

        make_folder(self._folder)
        with locked(self._folder):
            known = change(read_replaced(self._owner_folder))
            replace_file(self._folder / _FILE, json.dumps(known, indent=0).encode())
