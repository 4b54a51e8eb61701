"""When entries expire: one small file for each owner, for the entries of all journals.

Holds refs and times, and never a word of an entry. Imports nothing heavy: a hook reads it too.
"""

from __future__ import annotations

import json
import os

from commonplace.core.errors import Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FOLDER = "expiring"
PENDING = ("forgetting", "pending.json")
"""The file in an owner's folder that notes what a process is forgetting; it stays if that dies."""

FORMER_HISTORY = "notebook:@former-history"
"""Stands in place of a ref for the notebook's former branches, which `forget` keeps for a while."""

_FILE = "entries.json"


def read_expiring(owner_folder: str | os.PathLike[str]) -> dict[str, float]:
    """When each entry expires, in seconds since 1970, by its ref; empty where there is no file.

    Raises: Unavailable where the file is damaged or cannot be read: no expired entry may be shown.
    """
    path = os.path.join(owner_folder, FOLDER, _FILE)
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read())
        return {str(ref): float(at) for ref, at in found.items()}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as exc:
        raise Unavailable(
            f"{path}, which says when entries expire, cannot be read.",
            hint="Restore it from a backup, or remove it: then nothing expires.",
        ) from exc


class ExpiryBook:
    """Reads and changes one owner's file of times; safe among threads and processes.

    Args:
        owner_folder: The owner's folder; it is made at the first write.
    """

    def __init__(self, owner_folder: Path) -> None:
        self._owner_folder = owner_folder
        self._folder = owner_folder / FOLDER
        self._seen: tuple[tuple[int, int, int], float] | None = None

    def read(self) -> dict[str, float]:
        """When each entry expires, by its ref. Raises: Unavailable."""
        return read_expiring(self._owner_folder)

    def keep(self, ref: str, at: float) -> None:
        """Set when an entry expires, in place of any earlier time. Raises: Unavailable."""
        self._change(lambda known: known.__setitem__(ref, at))

    def keep_all(self, times: dict[str, float]) -> None:
        """Set when each of many entries expires, in one write. Raises: Unavailable."""
        self._change(lambda known: known.update(times))

    def put_all(self, journal: str, times: dict[str, float]) -> None:
        """Put these times in the place of all that are kept for a journal. Raises: Unavailable."""
        begins = f"{journal}:"

        def others(known: dict[str, float]) -> dict[str, float]:
            return {
                ref: at
                for ref, at in known.items()
                if not ref.startswith(begins) or ref == FORMER_HISTORY
            }

        def put(known: dict[str, float]) -> None:
            kept = others(known)
            known.clear()
            known.update(kept | times)

        known = self.read()
        if known != others(known) | times:
            self._change(put)

    def drop(self, refs: list[str]) -> None:
        """Remove the times of entries, which then never expire. Raises: Unavailable."""

        def without(known: dict[str, float]) -> None:
            for ref in refs:
                known.pop(ref, None)

        self._change(without)

    def has_due(self, now: float) -> bool:
        """Whether any entry has expired; the file is read only where it has changed since."""
        try:
            stat = os.stat(self._folder / _FILE)
        except OSError:
            return False
        mark = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        if self._seen is None or self._seen[0] != mark:
            self._seen = mark, min(self.read().values(), default=float("inf"))
        return self._seen[1] <= now

    def _change(self, change: Callable[[dict[str, float]], None]) -> None:
        from commonplace.core.files import locked, make_folder, replace_file

        make_folder(self._folder)
        with locked(self._folder):
            known = self.read()
            change(known)
            replace_file(self._folder / _FILE, json.dumps(known, indent=0).encode())
