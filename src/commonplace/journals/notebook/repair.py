"""Owns what `doctor` says of the notebook's repository, and the little it may mend there.

Never alters what a person wrote, and never removes a lock that git made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.core.text import opening, well_formed
from commonplace.core.values import Problem
from commonplace.journals.git.index import age_s, is_ours, lock_path
from commonplace.journals.notebook.names import SUFFIX, find_section, why_nameless
from commonplace.journals.notebook.tree import WorkTree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.journals.git.repo import GitRepo
    from commonplace.journals.notebook.journal import Notebook

STALE_S = 180.0
"""How old a lock is before doctor names it."""
_NAMED = 5


def find_problems(notebook: Notebook) -> Iterator[Problem]:
    """What is wrong with a notebook's repository now; changes nothing."""
    if not notebook.exists:
        return
    try:
        yield from _stale_locks(notebook.repo)
        if WorkTree(notebook.repo).is_behind():
            yield Problem(
                what=f"{notebook.repo.folder} is behind its branch: a write was cut off.",
                hint="Repair brings up its files and git's index; so does the next write.",
                repairable=True,
            )
        yield from _nameless_files(notebook.repo)
    except CommonplaceError as exc:
        yield Problem(what=exc.located, hint=exc.located_hint)


def repair(notebook: Notebook) -> list[str]:
    """Bring up folder and index; a sentence for each thing done. Raises: Unavailable, Denied."""
    if not notebook.exists:
        return []
    with notebook.repo.locked() as repo:
        lock, tree = lock_path(repo), WorkTree(repo)
        done = []
        if is_ours(lock) and repo.lock is not None:
            done.append(f"Removed {lock}, which a write left that was cut off.")
        if tree.is_behind():
            done.append(f"Brought the folder {repo.folder} up to its branch.")
        return [*done, *tree.refresh()] if done else []


def _stale_locks(repo: GitRepo) -> Iterator[Problem]:
    branch = repo.head().branch
    locks = [repo.own / "HEAD.lock", *([repo.shared / f"{branch}.lock"] if branch else [])]
    for lock in (lock_path(repo), *locks):
        age = age_s(lock)
        if age is None or age < STALE_S:
            continue
        what = f"{lock} has locked the notebook for {age / 60:,.0f} minutes."
        if is_ours(lock):
            hint = "A write was cut off: repair removes it, and so does the next write."
            yield Problem(what=what, hint=hint, repairable=True)
        else:
            yield Problem(what=what, hint=f"If no git command runs there, remove it: rm {lock}")


def _nameless_files(repo: GitRepo) -> Iterator[Problem]:
    """Files that look like sections, and that no id can name; hidden ones are meant to be none."""
    found = [
        path
        for path in repo.list_files(repo.head().commit)
        if path.endswith(SUFFIX)
        and find_section(path) is None
        and not any(part.startswith(".") for part in path.split("/"))
    ]
    for path in sorted(found)[:_NAMED]:
        shown = opening(well_formed(path), 80)
        yield Problem(
            what=f"{shown!r} is in no list of sections: {why_nameless(path[: -len(SUFFIX)])}.",
            hint=f"Give it another name: {repo.typed} mv",
        )
    if len(found) > _NAMED:
        yield Problem(what=f"{len(found) - _NAMED:,} more files are in no list of sections.")
