"""Asks git which notes a repository holds itself: those are its word, and no clean takes them away.

Never runs a program that a repository names, and never takes silence for an answer.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError

if TYPE_CHECKING:
    from commonplace.journals.private.roots import Root

_TIMEOUT_S = 5.0
"""Git takes 5 ms for an index and a head, and longer for a whole history."""


def tracked_notes(root: Root, *, in_history: bool = False) -> frozenset[str] | None:
    """The paths below a root that git's index or HEAD holds; None where git cannot be asked.

    Args:
        root: There or not; no link leads to it.
        in_history: Whether any commit of any branch counts as well.
    """
    real = Path(root.real())
    # A journal that is a repository by itself was made one by its user: it is not the project's.
    repository = None
    if not os.path.lexists(real / ".git"):
        repository = next((x for x in real.parents if os.path.lexists(x / ".git")), None)
    if repository is None:
        return frozenset()
    below = real.relative_to(repository).as_posix()
    commands = [["ls-files", "-z"], ["ls-tree", "-r", "-z", "--name-only", "HEAD"]]
    if in_history:
        commands.append(
            ["log", "--all", "--no-renames", "--diff-filter=A", "--name-only", "--format=", "-z"]
        )
    found: set[str] = set()
    try:
        from commonplace.journals.git.run import Git

        git = Git(repository)
        for each in commands:  # 128: there is no commit yet
            ran = git.run([*each, "--", below], timeout_s=_TIMEOUT_S, statuses=(0, 128))
            if ran.status and each[0] == "ls-files":
                return None
            found |= {os.fsdecode(name.strip(b"\n")) for name in ran.out.split(b"\0")}
    except CommonplaceError:
        return None
    begins = f"{below}/"
    return frozenset(x.removeprefix(begins) for x in found if x.startswith(begins))
