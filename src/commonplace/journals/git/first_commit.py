"""Finds a repository's first commit, by which its clones are known again.

Never runs what a repository's configuration names, never fetches, and never raises.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.journals.git.run import Git

if TYPE_CHECKING:
    from pathlib import Path

_TIMEOUT_S = 3.0
"""A history of a million commits takes longer, and is then of no known first commit."""


def first_commit(root: Path, git: Path) -> str:
    """The oldest commit without a parent that a repository's branch goes back to.

    Args:
        root: The main work tree, or the bare repository.
        git: Git's own folder of it.

    Returns:
        Its hash; empty where there is none, or the history was cut off.
    """
    if os.path.lexists(git / "shallow"):
        return ""
    asked = ["rev-list", "--max-parents=0", "HEAD", "--"]
    with contextlib.suppress(CommonplaceError):
        ran = Git(root, is_bare=root == git).run(asked, timeout_s=_TIMEOUT_S)
        return ran.out.decode("ascii", "replace").strip().rpartition("\n")[2]
    return ""


def holds_commit(root: Path, git: Path, commit: str) -> bool:
    """Whether a repository has a commit; a look at one object, where a walk would take long."""
    with contextlib.suppress(CommonplaceError):
        asked = ["cat-file", "-e", f"{commit}^{{commit}}"]
        ran = Git(root, is_bare=root == git).run(asked, timeout_s=_TIMEOUT_S, statuses=(0, 1, 128))
        return ran.status == 0
    return False
