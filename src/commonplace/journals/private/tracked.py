"""Asks git which notes a repository holds itself: those are its word, and no clean takes them away.

Never runs a program that a repository names, and never takes silence for an answer.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.journals.private.roots import Root

_TIMEOUT_S = 5.0
"""Git takes 5 ms for an index and a head, and longer for a whole history."""


def repository_of(root: Root) -> Path | None:
    """The work tree that a root lies in, by its files alone; None where it lies in none."""
    real = Path(root.real())
    # A journal that is a repository by itself was made one by its user, or is a submodule, which
    # the one around it names.
    return next((x for x in real.parents if _is_work_tree(x)), None)


def tracked_notes(root: Root, *, in_history: bool = False) -> frozenset[str] | None:
    """The paths below a root that git's index or HEAD holds; None where git cannot be asked.

    What a submodule holds itself came with the repository as well.

    Args:
        root: There or not; no link leads to it.
        in_history: Whether any commit of any branch counts as well.
    """
    repository = repository_of(root)
    if repository is None:
        return frozenset()
    try:
        return frozenset(_held(repository, Path(root.real()), in_history=in_history))
    except CommonplaceError:
        return None


def _held(repository: Path, folder: Path, *, in_history: bool) -> Iterator[str]:
    """The paths below a folder, as seen from it, that a repository around it holds."""
    from commonplace.core.errors import Unavailable
    from commonplace.journals.git.run import Git

    below = folder.relative_to(repository).as_posix()
    commands = [["ls-files", "-z"], ["ls-tree", "-r", "-z", "--name-only", "HEAD"]]
    if in_history:
        commands.append(
            ["log", "--all", "--no-renames", "--diff-filter=A", "--name-only", "--format=", "-z"]
        )
    found: set[str] = set()
    git = Git(repository)
    for each in commands:  # 128: there is no commit yet
        ran = git.run([*each, "--", below], timeout_s=_TIMEOUT_S, statuses=(0, 128))
        if ran.status and each[0] == "ls-files":
            raise Unavailable("Git cannot say what a repository holds.")
        found |= {os.fsdecode(name.strip(b"\n")) for name in ran.out.split(b"\0")}
    for name in found - {""}:
        path = Path(os.path.relpath(repository / name, folder)).as_posix()
        if path.startswith("../"):
            continue
        if _is_work_tree(repository / name):
            inner = _held(repository / name, repository / name, in_history=in_history)
            yield from (each if path == "." else f"{path}/{each}" for each in inner)
        else:
            yield path


def _is_work_tree(folder: Path) -> bool:
    """Whether git would take a folder for a work tree, and look no further up."""
    git = folder / ".git"
    return os.path.isfile(git) or os.path.lexists(git / "HEAD")
