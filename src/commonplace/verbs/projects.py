"""The project's verbs: what belongs to it, which clones might, and joining one to another.

Never joins anything by itself: only the user can tell whether two clones are one project.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from commonplace.core import PROJECT_FILE
from commonplace.core.errors import Conflict, Invalid, NotFound
from commonplace.core.files import locked, remove_file, replace_file
from commonplace.core.projects import (
    CLONES,
    JOINED,
    clones_of,
    git_folder_of,
    project_of,
)
from commonplace.core.values import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.core.projects import Project

_MOST_ASKED = 40
"""Of how many other repositories git is asked; each takes 5 ms."""


class ProjectState(Struct, frozen=True, kw_only=True):
    """A project and what belongs to it.

    Attributes:
        root: Its folder: the main work tree of its repository, else the folder itself.
        folder: Where in it the work is done.
        is_isolated: Whether a file in `root` says that it is a project by itself.
        journals: The private journals in it that are read and not written to.
        joined: The clones that the user joined to it.
        clones: Repositories elsewhere that begin with the same commit, and may be joined.
    """

    root: Path
    folder: Path
    is_isolated: bool
    journals: tuple[Path, ...]
    joined: tuple[Path, ...]
    clones: tuple[Path, ...]

    def lines(self) -> Iterator[str]:
        """A line for each thing that people may not expect."""
        yield f"Project  {self.root}{', a project by itself' if self.is_isolated else ''}"
        yield from (f"         also read: {path}" for path in self.journals)
        yield from (f"         joined: {path}" for path in self.joined)
        for path in self.clones:
            yield (
                f"         {path} begins with the same commit. If it is the same project: "
                f"commonplace project --join {shlex.quote(str(path))}"
            )

    def facts(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "root": str(self.root),
            "folder": str(self.folder),
            "isolated": self.is_isolated,
            "also_read": [str(path) for path in self.journals],
            "joined": [str(path) for path in self.joined],
            "clones": [str(path) for path in self.clones],
        }


class ProjectService(Struct, frozen=True, kw_only=True):
    """The project that work is done in.

    Attributes:
        folder: Where in it the work is done.
        home: The user's home folder; None where there is none.
        journals: Its private journals that are only read.
        known: The folders that other private journals lie in.
    """

    folder: Path
    home: Path | None
    journals: tuple[Path, ...] = ()
    known: tuple[Path, ...] = ()

    def state(self) -> ProjectState:
        """The project, what belongs to it, and what may be joined; runs git where that may be."""
        here = self._here()
        clones = clones_of(here.git)
        joined = [x for x in clones if project_of(x, self.home).root == here.root]
        return ProjectState(
            root=Path(here.root),
            folder=self.folder,
            is_isolated=here.isolated,
            journals=self.journals,
            joined=tuple(Path(root) for root in joined),
            clones=tuple(self._clones(here)),
        )

    def show(self) -> Answer:
        """The project, and what belongs to it."""
        state = self.state()
        return Answer("\n".join(state.lines()), state.facts)

    def join(self, other: Path) -> Answer:
        """Make this repository a part of another's project.

        It is noted in both, in git's own folder, which no clone brings along.
        Raises: Invalid, Conflict, Denied, Unavailable.
        """
        own, root = self._own_repository()
        here, there = self._here(), project_of(other, self.home)
        if not there.git:
            raise Invalid(f"{other} is not in a git repository.", hint="Name the other clone.")
        if here.isolated:
            raise Conflict(
                f"{Path(here.root, PROJECT_FILE)} says that its folder is a project by itself.",
                hint='Take project = "here" out of it first.',
            )
        if here.root == there.root or here.root != root:
            raise Conflict(
                f"{root} is a part of the project {here.root} already.",
                hint=f"Leave it first: commonplace project --leave, in {root}.",
            )
        if any("\n" in each for each in (root, there.root)):
            raise Invalid("The path of a project that is joined may not hold a line break.")
        if clones_of(own):
            raise Conflict(
                f"Other clones were joined to {root}.",
                hint=f"Join that one instead: commonplace project --join {root}, in {there.root}.",
            )
        _write_clones(there.git, [*clones_of(there.git), root])
        replace_file(Path(own, JOINED), os.fsencode(there.root) + b"\n")
        return Answer(
            f"Joined: this clone is a part of the project {there.root} now. What was written here "
            "is still found; what is written from now on lies there.\n"
            "Undo it with: commonplace project --leave",
            {"root": there.root},
        )

    def leave(self) -> Answer:
        """Make this repository a project by itself again.

        Raises: NotFound, Invalid, Denied, Unavailable.
        """
        own, root = self._own_repository()
        joined = self._here()
        if joined.root == root or not remove_file(Path(own, JOINED)):
            raise NotFound(f"{root} was not joined to another project.")
        _write_clones(joined.git, [each for each in clones_of(joined.git) if each != root])
        return Answer(
            "This clone is a project by itself again. What was written meanwhile lies in "
            f"{joined.root}.",
            {"left": joined.root},
        )

    def _here(self) -> Project:
        return project_of(self.folder, self.home)

    def _own_repository(self) -> tuple[str, str]:
        """Git's own folder of the repository that is worked in, and its root, joined or not."""
        here = self._here()
        for root in (here.tree, here.root):
            own = git_folder_of(root)
            if own:
                return own, root
        raise Invalid(
            f"{self.folder} is not in the main work tree of a git repository.",
            hint="Run it there.",
        )

    def _clones(self, here: Project) -> Iterator[Path]:
        """Other repositories that begin with the same commit."""
        others: dict[Path, Path] = {}
        for folder in self.known if here.git else ():
            if len(others) < _MOST_ASKED:
                other = project_of(folder, self.home)
                if other.git and not other.isolated and other.root != here.root:
                    others[Path(other.root)] = Path(other.git)
        if not others:
            return
        from commonplace.journals.git.history import first_commit, holds_commit

        first = first_commit(Path(here.root), Path(here.git))
        for root, git in others.items() if first else ():
            if holds_commit(root, git, first) and first_commit(root, git) == first:
                yield root


def _write_clones(git: str, roots: list[str]) -> None:
    with locked(Path(git)):
        if roots:
            lines = b"".join(os.fsencode(root) + b"\n" for root in dict.fromkeys(roots))
            replace_file(Path(git, CLONES), lines)
        else:
            remove_file(Path(git, CLONES))
