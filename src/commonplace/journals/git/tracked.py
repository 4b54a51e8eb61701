"""Says whether git holds a file that lies in some work tree.

Changes nothing, and runs no program that the repository names.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.journals.git.repo import find_repository, is_repository

if TYPE_CHECKING:
    from pathlib import Path

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
