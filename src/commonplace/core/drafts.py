"""What is being written in the user's editor: in our home from the start, held by a lock.

A draft that no process holds was left by one that failed or was killed, and is the user's. Never
removes such a one by itself.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import TYPE_CHECKING

from commonplace.core.clock import utc_now
from commonplace.core.files import (
    is_locked,
    locked,
    make_folder,
    remove_file,
    translated,
    write_new,
)
from commonplace.core.scratch import scratch_folder_aside

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDER = "drafts"
"""Its name in our home."""


class Draft:
    """A text that is being written, in a file and a folder of its own."""

    def __init__(self, path: Path, lock: contextlib.ExitStack) -> None:
        self.path = path
        self._lock = lock

    def leave(self) -> None:
        """Let it lie: nobody writes it any more."""
        self._lock.close()

    def drop(self) -> None:
        """Remove it, with what the editor left beside it; never raises."""
        shutil.rmtree(self.path.parent, ignore_errors=True)
        self.leave()


def open_draft(home: Path, content: bytes, *, extension: str) -> Draft:
    """Begin a draft in a home with a text. Raises: Unavailable, Denied, Invalid."""
    make_folder(home / FOLDER)
    folder = home / FOLDER / f"{utc_now():%Y%m%dT%H%M%S%f}"
    with translated(folder):
        os.mkdir(folder, 0o700)
    with contextlib.ExitStack() as lock:
        lock.enter_context(locked(folder))
        path = folder / f"text{extension}"
        write_new(path, content)
        return Draft(path, lock.pop_all())


def open_draft_aside(content: bytes, *, extension: str) -> Draft:
    """Begin a draft among temporary files, with a text; it is not left, but goes at the end.

    Raises: as `scratch_folder_aside`.
    """
    with contextlib.ExitStack() as scratch:
        path = scratch.enter_context(scratch_folder_aside()) / f"text{extension}"
        write_new(path, content)
        return Draft(path, scratch.pop_all())


def erase(path: Path) -> None:
    """Remove the file of a draft, and its folder with the last one. Raises: Unavailable, Denied."""
    remove_file(path)
    with contextlib.suppress(OSError):
        os.rmdir(path.parent)


def list_left(home: Path) -> Iterator[Path]:
    """The drafts that nobody writes any more, the oldest first. Raises: Unavailable, Denied."""
    folder = home / FOLDER
    with translated(folder):
        names = sorted(os.listdir(folder)) if folder.is_dir() else []
    for path in (folder / name for name in names if not name.startswith(".")):
        if not path.is_dir():
            yield path
        elif not is_locked(path):
            with translated(path):
                yield from sorted(x for x in path.iterdir() if not x.name.startswith("."))
