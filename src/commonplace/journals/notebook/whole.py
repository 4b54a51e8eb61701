"""Takes out a notebook that an import made whole, while it is as it was made.

Never takes out one that was written to since, or that a remote shares.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from commonplace.core.digest import sha256_hex
from commonplace.core.files import sync_folder, translated
from commonplace.journals.git.repo import find_repository, init_repository, is_repository

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.journals.git.repo import GitRepository
    from commonplace.journals.notebook.journal import Notebook

WHOLE = "@"
"""By which an import notes that it made the whole notebook."""

_REFS = ("refs/heads", "refs/tags", "refs/stash", "refs/remotes")


def temporary_of(folder: Path) -> Path:
    """Where a notebook lies that is not there yet, or not any more."""
    return folder.with_name(f"{folder.name}.importing")


def refs_of(repo: GitRepository) -> str:
    """A hash of where all branches and tags of a repository are; empty for one without any."""
    found = repo.git.run(["for-each-ref", "--format=%(refname) %(objectname)", *_REFS]).out
    return sha256_hex(found) if found else ""


def find_whole(folder: Path) -> str:
    """The `refs_of` of the notebook there, empty for none; other text where it was written to.

    Raises: Unavailable, Denied.
    """
    if not is_repository(folder):
        return ""
    repo = find_repository(folder)
    refs = refs_of(repo)
    if not refs:
        return ""
    changes = repo.git.run(["status", "--porcelain", "--ignored"]).out
    return f"{refs} changed" if changes or repo.git.run(["remote"]).out else refs


def take_out(notebook: Notebook) -> None:
    """Move a notebook out of its folder, in one step. Raises: Unavailable, Denied."""
    notebook.close()
    temporary = temporary_of(notebook.folder)
    shutil.rmtree(temporary, ignore_errors=True)
    with translated(notebook.folder):
        os.rename(notebook.folder, temporary)
        sync_folder(notebook.folder.parent)


def finish_taking_out(notebook: Notebook) -> None:
    """Leave an empty repository in its place, and nothing of what was in it.

    May be called again. Raises: Unavailable, Denied.
    """
    if not is_repository(notebook.folder):
        init_repository(notebook.folder)
    notebook.ledger.clear()
    temporary = temporary_of(notebook.folder)
    with translated(temporary):
        if os.path.isdir(temporary):
            shutil.rmtree(temporary)
