"""Owns what `doctor` says of the notebook's repository and ledger, and what it may repair there.

Never alters what a person wrote, and never removes a lock that git made.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError, Corrupted, Unavailable
from commonplace.core.files import locked
from commonplace.core.scratch import scratch_folder_aside
from commonplace.core.text import nearest, opening, well_formed
from commonplace.core.values import Problem
from commonplace.journals.git.index import age_s, is_ours, lock_path
from commonplace.journals.git.trees import list_tree
from commonplace.journals.notebook.ledger import Ledger
from commonplace.journals.notebook.names import SUFFIX, find_section, why_nameless
from commonplace.journals.notebook.sync import list_half_made, remove_half_made, work_folder
from commonplace.journals.notebook.work_tree import WorkTree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.journals.git.repo import GitRepository
    from commonplace.journals.notebook.reader import NotebookReader

STALE_S = 180.0
"""How old a lock, or what a sync left, is before doctor names it."""
FSCK_S = 120.0
"""How long git may check its objects; those of 50,000 entries take it 3 s."""
_NAMED = 5
_LINKS_NAMED = 20
_MISSING = re.compile(r"^missing blob ([0-9a-f]{40,64})$", re.MULTILINE)


def find_problems(notebook: NotebookReader) -> Iterator[Problem]:
    """What is wrong with a notebook's repository or ledger now; changes nothing."""
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
        yield from _broken_links(notebook)
        if left := _left_by_sync(notebook.repo):
            yield Problem(
                what=f"A sync of {notebook.repo.folder} was cut off, and left {len(left)} things.",
                hint="Repair removes them, and so does the next sync.",
                repairable=True,
            )
        broken = list(_broken_objects(notebook.repo))
        yield from broken
        if not broken and not _is_ledger_true(notebook):
            yield Problem(
                what=f"The ledger of {notebook.repo.folder} says otherwise than its history.",
                hint="Repair reads the history again; nothing that was written is lost.",
                repairable=True,
            )
    except CommonplaceError as exc:
        yield Problem(what=exc.located, hint=exc.located_hint)


def held_expired(notebook: NotebookReader) -> Iterator[str]:
    """What has expired and the history still holds, in a sentence; nothing where nothing is."""
    notebook.ledger.catch_up()
    lines = notebook.ledger.list_expired()
    if lines:
        named = ", ".join(line.ref for line in lines[:_NAMED])
        more = f" and {len(lines) - _NAMED:,} more" if len(lines) > _NAMED else ""
        yield (
            f"Expired or taken back, and still in git's history: {named}{more}."
            " `commonplace forget REF --rewrite-history` removes them there."
        )


def repair(notebook: NotebookReader) -> list[str]:
    """Repair what can be repaired; a sentence for each repair."""
    if not notebook.exists:
        return []
    done = []
    with notebook.repo.locked() as repo:
        lock, tree = lock_path(repo), WorkTree(repo)
        if is_ours(lock) and repo.lock is not None:
            done.append(f"Removed {lock}, which a write left that was cut off.")
        if tree.is_behind():
            done.append(f"Brought the folder {repo.folder} up to its branch.")
        if done:
            done += tree.refresh()
    tree = WorkTree(notebook.repo)
    for path, blob in _restorable(notebook.repo, _check_objects(notebook.repo) or "").items():
        if tree.restore_object(path, blob):
            done.append(f"Put {path} back into git from the folder's file.")
    if _left_by_sync(notebook.repo):
        with locked(work_folder(notebook.repo)):
            remove_half_made(notebook.repo)
        done.append("Removed what a sync had left that was cut off.")
    if not _is_ledger_true(notebook):
        notebook.ledger.rebuild()
        done.append(f"Read the history of {notebook.repo.folder} into its ledger again.")
    return done


def _left_by_sync(repo: GitRepository) -> list[str]:
    """What a sync has left that was cut off; nothing while one may be at work."""
    age = age_s(work_folder(repo))
    return list_half_made(repo) if age is not None and age >= STALE_S else []


def _check_objects(repo: GitRepository) -> str | None:
    """What git finds wrong with the objects, a fault in each line; None where it did not end."""
    arguments = ["fsck", "--full", "--no-dangling", "--no-reflogs", "--no-progress"]
    try:
        ran = repo.git.run(arguments, timeout_s=FSCK_S, statuses=range(-64, 256))
    except Unavailable:
        return None
    return ran.out.decode("utf-8", "replace") + ran.err if ran.status else ""


def _broken_objects(repo: GitRepository) -> Iterator[Problem]:
    git = repo.shell_command
    faults = _check_objects(repo)
    if faults is None:
        yield Problem(
            what=f"git fsck of {repo.folder} did not end within {FSCK_S:.0f} s: it is unchecked.",
            hint=f"Let it end in a terminal: {git} fsck",
        )
        return
    restorable = _restorable(repo, faults)
    for path in restorable:
        yield Problem(
            what=f"The notebook {repo.folder} lacks the object of {path}.",
            hint="Repair makes it again from the folder's file, which is unchanged.",
            repairable=True,
        )
    lines = [x for x in faults.splitlines() if x.startswith(("missing ", "error: ", "fatal: "))]
    if len(lines) > len(restorable) or (faults and not restorable):
        shown = opening("; ".join(lines[:_NAMED]) or faults, 400)
        yield Problem(
            what=f"git finds faults in the objects of {repo.folder}: {shown}",
            hint=f"Fetch them from a remote that has all: {git} fetch --refetch REMOTE;"
            f" then see what {git} fsck says.",
        )


def _restorable(repo: GitRepository, faults: str) -> dict[str, str]:
    """By the paths of files that the folder has as they were, their blobs that git lacks."""
    missing = set(_MISSING.findall(faults))
    entries = list_tree(repo, repo.head().commit) if missing else {}
    tree = WorkTree(repo)
    return {p: x.blob for p, x in entries.items() if x.blob in missing and tree.has(p, x)}


def _broken_links(notebook: NotebookReader) -> Iterator[Problem]:
    found = list(notebook.find_broken_links())
    sections = notebook.list_sections() if found else []
    for each in found[:_LINKS_NAMED]:
        place, link = each.source.ref, each.link
        section = shlex.quote(opening(link.section, 80))
        near = nearest(link.section, sections)
        if link.entry and link.section in sections:
            other = f"`commonplace notebook log {section}` lists what is there"
        else:
            guess = f"did you mean {near}? " if near else ""
            other = f"{guess}`commonplace notebook write {section}` begins it"
        yield Problem(
            what=f"{place} links to {opening(link.ref, 120)}, which {each.why}.",
            hint=f"Correct it with `commonplace edit {shlex.quote(place)}`; {other}.",
        )
    if len(found) > _LINKS_NAMED:
        yield Problem(what=f"{len(found) - _LINKS_NAMED:,} more links lead nowhere.")


def _is_ledger_true(notebook: NotebookReader) -> bool:
    """Whether the ledger, once it has caught up, holds what the whole history gives."""
    if not notebook.ledger.exists:
        return True
    with scratch_folder_aside() as folder:
        rebuilt = Ledger(notebook.repo, Path(folder, "rebuilt.db"), notebook.clock)
        opened = [rebuilt]
        try:
            head = rebuilt.catch_up()
            opened.append(kept := notebook.ledger.copy_to(Path(folder, "kept.db")))
            kept.catch_up(head)
            return kept.digest() == rebuilt.digest()
        except Corrupted:
            return False
        except Unavailable:
            return True  # of a history that git cannot read nothing is rebuilt
        finally:
            for ledger in opened:
                ledger.close()


def _stale_locks(repo: GitRepository) -> Iterator[Problem]:
    branch = repo.head().branch
    locks = [repo.git_dir / "HEAD.lock", *([repo.common_dir / f"{branch}.lock"] if branch else [])]
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


def _nameless_files(repo: GitRepository) -> Iterator[Problem]:
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
            hint=f"Give it another name: {repo.shell_command} mv",
        )
    if len(found) > _NAMED:
        yield Problem(what=f"{len(found) - _NAMED:,} more files are in no list of sections.")
