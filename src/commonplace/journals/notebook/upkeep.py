"""Owns the packing of a notebook's repository: few files, and quick histories of single sections.

Never removes anything that a branch, a reflog or the last two weeks hold.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.journals.git.run import LONG_TIMEOUT_S

if TYPE_CHECKING:
    from commonplace.journals.git.repo import GitRepository

_log = logging.getLogger(__name__)

# As git guesses: so many in one of 256 folders are about 6,700 loose objects.
_SAMPLE = "17"
_MANY = 27


def tidy(repo: GitRepository) -> None:
    """Pack the objects, and write the commit-graph with which a section's history is found.

    Takes seconds; readers and writers go on beside it. Raises: Unavailable, Denied.
    """
    repo.git.run(["gc", "--quiet"], timeout_s=LONG_TIMEOUT_S)
    graph = ["commit-graph", "write", "--reachable", "--changed-paths", "--no-progress"]
    repo.git.run(graph, timeout_s=LONG_TIMEOUT_S)


def has_changed_paths(repo: GitRepository) -> bool:
    """Whether a commit-graph is kept, as `tidy` writes it. Never raises."""
    info = repo.common_dir / "objects" / "info"
    return any(os.path.exists(info / x) for x in ("commit-graph", "commit-graphs"))


def is_due(repo: GitRepository) -> bool:
    """Whether many objects lie loose. Never raises."""
    with contextlib.suppress(OSError):
        return len(os.listdir(repo.common_dir / "objects" / _SAMPLE)) >= _MANY
    return False


class RepositoryUpkeep:
    """Tidies in the background when it is due, one time at once in this process."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    def start_if_due(self, repo: GitRepository) -> None:
        """Begin, if it is due and not under way; another process's is git's own to see."""
        if (self._thread is None or not self._thread.is_alive()) and is_due(repo):
            self._thread = threading.Thread(
                target=self._run, args=(repo,), name="tidy notebook", daemon=True
            )
            self._thread.start()

    def join(self, wait_s: float) -> None:
        """Wait at most so long for what is under way."""
        if self._thread is not None:
            self._thread.join(wait_s)

    def _run(self, repo: GitRepository) -> None:
        try:
            tidy(repo)
        except CommonplaceError as exc:
            _log.warning("The notebook was not packed: %s", exc)
