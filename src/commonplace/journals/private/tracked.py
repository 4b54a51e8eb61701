"""Asks git which notes a repository holds itself: those are its word, and no clean takes them away.

Never runs a program that a repository names, and never takes silence for an answer.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError, Unavailable
from commonplace.core.plain_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from commonplace.journals.private.roots import Root

_TIMEOUT_S = 5.0
"""Git takes 5 ms for an index and a head, and longer for a whole history."""


def repositories_above(path: str) -> list[str]:
    """The work trees that a real path lies in, the nearest first, by their files alone.

    Every search asks this of every root, so it is bare names.
    """
    # A journal that is a repository by itself was made one by its user, or is a submodule, which
    # the one around it names.
    found = []
    while (above := os.path.dirname(path)) != path:
        path = above
        if _is_work_tree(path):
            found.append(path)
    return found


def tracked_notes(root: Root, *, in_history: bool = False) -> frozenset[str] | None:
    """As `held_by`, of every repository that a root lies in."""
    return held_by(repositories_above(root.real()), root, in_history=in_history)


def held_by(
    repositories: Sequence[str], root: Root, *, in_history: bool = False
) -> frozenset[str] | None:
    """The paths below a root that git's index or HEAD holds.

    What a submodule holds itself came with the repository as well.

    Args:
        repositories: The work trees that are asked.
        root: There or not; no link leads to it.
        in_history: Whether to give what any commit of any branch added, in place of that.

    Returns:
        The paths; None where git cannot be asked, or writes an index at this moment: the files of
        a checkout are there before it. Where the disk takes names of other cases for the same, they
        are there as `folded` gives them as well.
    """
    folder = Path(root.real())
    found: set[str] = set()
    try:
        for each in repositories:
            found.update(_held(Path(each), folder, in_history=in_history))
    except CommonplaceError:
        return None
    return frozenset(found)


def git_folder(tree: str) -> str:
    """Git's own folder of a work tree, there or not."""
    git = os.path.join(tree, ".git")
    named = b""
    if os.path.isfile(git):
        with suppress(OSError), open_regular(git) as file:
            named = file.read(4096)
    if not named:
        return git
    return os.path.join(tree, os.fsdecode(named.removeprefix(b"gitdir:").strip(b"\0 \n")))


def folded(name: str) -> str:
    """A name as a disk compares it that takes other cases and other compositions for the same."""
    return unicodedata.normalize("NFC", name).casefold()


def folds_names(folder: Path) -> bool:
    """Whether the disk takes names of other cases for that of a folder: the index may hold any."""
    return os.path.lexists(folder.with_name(folder.name.swapcase()))


def _held(repository: Path, folder: Path, *, in_history: bool) -> Iterator[str]:
    """The paths below a folder, as seen from it, that a repository around it holds.

    Raises: CommonplaceError where git cannot be asked.
    """
    if os.path.lexists(os.path.join(git_folder(str(repository)), "index.lock")):
        raise Unavailable("Git writes its index at this moment.")
    begins = "" if folder == repository else f"{folder.relative_to(repository).as_posix()}/"
    is_folding = bool(begins) and folds_names(folder)
    # With its slash, lest `--with-tree` reads all of HEAD: 26 ms for 30,000 files, else 6.
    places = [] if is_folding or not begins else ["--", begins]
    for name in _names(repository, places, in_history=in_history):
        inner = repository / name
        # A link of the repository leads anywhere, also to where it began.
        if _is_work_tree(str(inner)) and os.path.realpath(inner) == str(inner):
            below = [f"{name}/{x}" for x in _held(inner, inner, in_history=in_history)]
        else:
            below = [name]
        for path in below:
            if path.startswith(begins):
                yield path.removeprefix(begins)
            if is_folding and folded(path).startswith(folded(begins)):
                yield folded(path).removeprefix(folded(begins))


def _names(repository: Path, places: Sequence[str], *, in_history: bool) -> set[str]:
    """The names that a repository's index or HEAD holds, those of submodules included.

    in_history: those that any commit of any branch added instead; none where git cannot say.
    """
    from commonplace.journals.git.run import Git

    git = Git(repository)

    def names(*command: str) -> set[str] | None:
        ran = git.run([*command, *places], timeout_s=_TIMEOUT_S, statuses=(0, 128))
        found = {os.fsdecode(name.strip(b"\n")) for name in ran.out.split(b"\0")}
        return None if ran.status else found - {""}

    if in_history:
        added = ("--all", "--no-renames", "--diff-filter=A", "--name-only", "--format=", "-z")
        return names("log", *added) or set()
    found = names("ls-files", "-z", "--with-tree=HEAD")
    if found is None:  # as where there is no commit yet
        found = names("ls-files", "-z")
    if found is None:
        raise Unavailable("Git cannot say what a repository holds.")
    return found


def _is_work_tree(folder: str) -> bool:
    """Whether git would take a folder for a work tree, and look no further up."""
    git = os.path.join(folder, ".git")
    try:
        mode = os.stat(git).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode) or os.path.lexists(os.path.join(git, "HEAD"))
