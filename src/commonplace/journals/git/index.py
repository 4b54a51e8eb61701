"""Owns git's index of one work tree: its lock, as git's own commands take it, and its entries.

Never writes the index without that lock, and never breaks a lock that git made.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.core.files import translated, write_derived
from commonplace.core.plain_files import rename_over
from commonplace.journals.git.repo import find_repository, is_repository
from commonplace.journals.git.run import LockHeld
from commonplace.journals.git.trees import TreeEntry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from commonplace.journals.git.repo import GitRepository

WAIT_S = 5.0
"""How long a command of git's that holds the index is waited for; an older lock is not."""
_PAUSE_S = 0.005
_OURS = b"commonplace "
_FEW = 100
# In the index only, while a merge waits to be settled: not what any tree holds.
_UNMERGED = TreeEntry("unmerged", "")


class IndexLocked(LockHeld):
    """Another command holds git's index, or was cut off while it did."""


class GitIndex:
    """The index under its lock: a copy beside it is changed, then takes its place.

    What reads or writes it raises Unavailable or Denied where git or the disk refuses.
    """

    def __init__(self, repo: GitRepository) -> None:
        self._repo = repo
        self._path = repo.git_dir / "index"
        self._copy = repo.git_dir / "commonplace-index"
        self._known: dict[str, TreeEntry | None] = {}
        self._is_changed = False

    def begin(self) -> None:
        """Copy what is there."""
        with translated(self._copy), contextlib.suppress(FileNotFoundError):
            os.unlink(self._copy)
        with translated(self._path), contextlib.suppress(FileNotFoundError):
            # With its time: git sees by it which files may have changed in the same moment.
            shutil.copy2(self._path, self._copy)

    def read(self, paths: set[str]) -> dict[str, TreeEntry]:
        """What stands under these paths, each asked of git once; nothing where nothing does."""
        if new := paths - self._known.keys():
            self._known |= {**dict.fromkeys(new), **read_entries(self._repo, new, self._copy)}
        return {path: entry for path in paths if (entry := self._known[path]) is not None}

    def put(self, entries: Mapping[str, TreeEntry | None]) -> None:
        """Let these stand under their paths, None for nothing."""
        if not entries:
            return
        nothing = "0" * self._repo.hash_length(self._repo.head().commit)
        gone = [f"0 {nothing}\t{path}" for path, entry in entries.items() if entry is None]
        come = [f"{x.mode} {x.blob}\t{path}" for path, x in entries.items() if x is not None]
        lines = "".join(f"{line}\0" for line in (*gone, *come))
        self._repo.git.run(
            ["update-index", "-z", "--index-info"],
            stdin=lines.encode("utf-8", "surrogateescape"),
            index=self._copy,
        )
        self._known |= entries
        self._is_changed = True

    def publish(self) -> None:
        """Put the copy in the index's place, if it was changed."""
        if self._is_changed:
            with translated(self._path):
                rename_over(self._copy, self._path)
            self._is_changed = False

    def end(self) -> None:
        """Remove the copy, if it is still there."""
        with contextlib.suppress(OSError):
            os.unlink(self._copy)


@contextlib.contextmanager
def locked_index(repo: GitRepository) -> Iterator[GitIndex]:
    """Hold the index, so that no command of git's takes it.

    repo: as its one writer has it: a lock of ours is then one that a killed process left.
    Raises: IndexLocked, Unavailable, Denied.
    """
    lock = lock_path(repo)
    _take_lock(repo, lock)
    index = GitIndex(repo)
    try:
        index.begin()
        yield index
    finally:
        index.end()
        with contextlib.suppress(OSError):
            os.unlink(lock)


def read_entries(
    repo: GitRepository, paths: set[str], index: Path | None = None
) -> dict[str, TreeEntry]:
    """What stands under these paths of git's index, or of a copy; nothing where nothing does."""
    named = sorted(paths) if len(paths) <= _FEW else []
    ran = repo.git.run(["ls-files", "-s", "-z", "--", *named], index=index)
    found: dict[str, TreeEntry] = {}
    for line in ran.out.split(b"\0")[:-1]:
        facts, _, raw = line.partition(b"\t")
        mode, blob, stage = facts.decode("ascii").split(" ")
        path = raw.decode("utf-8", "surrogateescape")
        if path in paths:
            found[path] = TreeEntry(mode, blob) if stage == "0" else _UNMERGED
    return found


def lock_path(repo: GitRepository) -> Path:
    """The file whose presence locks the index."""
    return repo.git_dir / "index.lock"


def is_ours(lock: Path) -> bool:
    """Whether a process of ours made a lock. Never raises."""
    with contextlib.suppress(OSError), open(lock, "rb") as file:
        return file.read(len(_OURS)) == _OURS
    return False


def age_s(lock: Path) -> float | None:
    """How long a lock has been there; None where there is none, or that is unknown."""
    with contextlib.suppress(OSError):
        return time.time() - os.lstat(lock).st_mtime
    return None


def _take_lock(repo: GitRepository, lock: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            write_derived(lock, b"%s%d\n" % (_OURS, os.getpid()))
        except FileExistsError as exc:
            if repo.lock is not None and is_ours(lock):
                # Taken over as it stands: between removing it and making it anew a person's commit
                # could come, with an index that is behind what the killed process had written.
                with contextlib.suppress(OSError):
                    os.utime(lock)
                if is_ours(lock):
                    return
            elif time.monotonic() > deadline or (age_s(lock) or 0) > WAIT_S:
                raise IndexLocked(lock) from exc
            else:
                time.sleep(_PAUSE_S)
        else:
            return


_ANSWERS = (0, 1, 128)


def is_tracked(path: Path) -> bool | None:
    """Whether git's index or HEAD holds a file; None where git cannot say.

    Args:
        path: Of a file, there or not, in a repository or in none.
    """
    path = type(path)(os.path.realpath(path))
    for folder in path.parents:
        try:
            if not is_repository(folder):
                continue
            name = path.relative_to(folder).as_posix()
            git = find_repository(folder).git
            if git.run(["ls-files", "-z", "--", name]).out:
                return True
            return git.run(["cat-file", "-e", f"HEAD:{name}"], statuses=_ANSWERS).status == 0
        except CommonplaceError:
            return None
    return False
