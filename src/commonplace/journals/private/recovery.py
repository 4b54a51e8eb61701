"""Brings back notes of projects that only their copies have, and says which are gone.

Never writes over a note, and never brings one back unasked but into a restored home.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import CommonplaceError, NotFound, Unavailable
from commonplace.core.files import translated
from commonplace.core.projects import find_project
from commonplace.core.text import counted
from commonplace.journals.private.places import SCHEME, list_places
from commonplace.journals.private.roots import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from commonplace.journals.private.gitignore import IgnoredDays
    from commonplace.journals.private.places import EntryPlace
    from commonplace.journals.private.project_copies import GoneNotes, ProjectCopies
    from commonplace.journals.private.project_roots import ProjectRoots
    from commonplace.journals.private.roots import Root


class NotesRecovery(Struct, frozen=True, kw_only=True):
    """What is gone of the notes of a project, and brings it back.

    Attributes:
        copies: Of the notes of all projects.
        roots: Those of this project.
        known: Where the roots of all projects lie.
        ignored: Which days git ignores.
    """

    copies: ProjectCopies
    roots: Sequence[Root]
    known: ProjectRoots
    ignored: IgnoredDays

    def gone(self) -> GoneNotes | None:
        """What is gone of this project's notes; what was restored is brought back first."""
        for root in self.roots:
            if self.copies.is_restored(root):
                with contextlib.suppress(CommonplaceError):  # `doctor` names what the disk refuses
                    self._bring_back(root)
                    self.copies.accept(root)
        return self.copies.gone(self.roots)

    def troubles(self) -> list[str]:
        """Why notes of this project have no copy, a sentence for each root; looks at all of it."""
        self.gone()
        looks = ((root, self.copies.look(root, thorough=True)) for root in self.roots)
        return [
            f"Some notes in {root.path} have no copy in the home: {found.trouble}"
            for root, found in looks
            if found.trouble
        ]

    def bring_back(self) -> list[str]:
        """Write what is gone of this project's notes where it was; their refs.

        Raises: Denied, Unavailable; those before it are back.
        """
        self.gone()
        done = [ref for root in self.roots for ref in self._bring_back(root)]
        self.gone()
        if not done:
            self._refuse_unknown()
        return done

    def gone_refs(self) -> list[str]:
        """The refs of what is gone of this project's notes. Raises: Unavailable."""
        self.gone()
        refs = [ref for root in self.roots for ref in self.copies.gone_refs(root)]
        if not refs:
            self._refuse_unknown()
        return refs

    def gone_places(self, scope: str = "") -> Iterator[tuple[Root, EntryPlace]]:
        """Each note that only its copy has, of every project: its root, and its place in the copy.

        Also where the whole project is not there. scope: of one root alone. Raises: Denied,
        Unavailable where a copy cannot be read.
        """
        for root, copy in self.copies.each():
            if scope not in {"", root.scope}:
                continue
            self.copies.look(root)  # what a hand deleted leaves the copy
            with contextlib.suppress(NotFound):  # with its last note
                for place in list_places(copy):
                    if not os.path.lexists(root.path / place.relative):
                        yield root, place

    def find_gone(self, ref: str) -> EntryPlace | None:
        """Where the copy of a note lies that is gone; None for any other. Raises: as above."""
        scope, slash, _ = ref.removeprefix(SCHEME).partition("/")
        if not slash or not ref.startswith(SCHEME):
            return None
        return next((x for _, x in self.gone_places(scope) if x.ref == ref), None)

    def _refuse_unknown(self) -> None:
        """Refuse to say that nothing is gone where that cannot be noted. Raises: Unavailable."""
        for root in self.roots:
            if why := self.copies.look(root).trouble:
                raise Unavailable(
                    f"What is gone of the notes in {root.path} is not known: {why}",
                    hint="Then try again.",
                )

    def place_restored(self, home: Path | None) -> list[Path]:
        """Write what was restored into every project that is there; the roots that got notes.

        The rest is kept until its project is opened, which looks at it once more.
        """
        done = []
        for root, _ in self.copies.each():
            if self.copies.is_restored(root) and _is_project(root, home):
                with contextlib.suppress(CommonplaceError):
                    if self._bring_back(root):
                        done.append(root.path)
        return done

    def copy_all(self) -> list[str]:
        """Have the copies of all known projects follow them; what they leave out, as sentences."""
        left_out = []
        self.gone()
        roots = {x.scope: x for x in (*self.known.each(), *self.roots)}
        for root in roots.values():
            found = self.copies.look(root, thorough=True)
            if found.tracked:
                count = counted(found.tracked, "note", "notes")
                left_out.append(f"{root.path}: {count} that its git repository holds itself.")
            if found.trouble:
                left_out.append(f"{root.path}: some notes could not be read. {found.trouble}")
        return left_out

    def _bring_back(self, root: Root) -> list[str]:
        from commonplace.journals.private.write import put_file

        done = []
        for place, content, changed_ns in self.copies.waiting(root):
            with contextlib.suppress(FileExistsError):  # another process was first
                put_file(place, content, self.ignored)
                with translated(place.path), contextlib.suppress(OverflowError):
                    os.utime(place.path, ns=(changed_ns, changed_ns))
                done.append(place.ref)
        return done


def _is_project(root: Root, home: Path | None) -> bool:
    """Whether what a backup names as a project's root may be written to unasked: all of it may lie.

    The folder above it is there, is a project by itself, and no link leads on.
    """
    above = Path(os.path.realpath(root.path.parent))
    is_usual = root.path.name == FOLDER or os.path.isdir(root.path)
    if not is_usual or root.link() is not None or not os.path.isdir(above):
        return False
    return find_project(above, home) == str(above)
