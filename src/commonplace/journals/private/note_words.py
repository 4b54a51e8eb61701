"""Says whose word a note is: the owner's, or that of the repository which brought it along.

Never reads a note, and asks git once for each state of a repository.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from commonplace.journals.private.tracked import (
    folded,
    git_folder,
    held_by,
    repositories_above,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from commonplace.journals.private.places import EntryPlace, Whose
    from commonplace.journals.private.roots import Root
    from commonplace.journals.private.trusted_notes import TrustedNotes

NEVER_TRUSTED = ":"
"""What `whose` says of a note of the repository that the user trusts in no form."""

# What git writes whenever its index or its HEAD is another.
_STATE = ("index", "index.lock", "HEAD", "logs/HEAD")


class NoteWords:
    """Whose word the notes of all roots are. Thread-safe.

    Args:
        trusted: What the user took for the user's own.
        home: The user's home: what a repository of all of it holds is the user's own.
        is_copied: Whether the home has a copy of a note as it is: it was the owner's then.
    """

    def __init__(
        self,
        trusted: TrustedNotes,
        home: Path | None,
        is_copied: Callable[[EntryPlace], bool],
    ) -> None:
        self.trusted = trusted
        self._home = os.path.realpath(home) if home else ""
        self._is_copied = is_copied
        self._real: dict[Path, str] = {}
        self._held: dict[str, tuple[str, frozenset[str] | None]] = {}

    def token(self, root: Root) -> str:
        """What changes with the index or the HEAD of a root's repository, and with what is trusted.

        Empty where the root lies in no repository, and nothing of it is trusted. Asks for a few
        times of files alone.
        """
        real = self._real_of(root)
        repositories = self._repositories_above(real)
        trusted = self.trusted.token(real)
        if not (repositories or trusted):
            return ""
        return f"{_state(real, repositories)};{trusted}"

    def asked(self) -> Whose:
        """What says whose word each note of one pass is: git is asked once for each root.

        Empty for the owner's note; of any other `:`, then its sha256 where the user trusts it.
        """
        of_root = cache(self._of)

        def whose(place: EntryPlace, is_anothers: bool) -> str:  # noqa: FBT001  as `Whose`
            held, trusted = of_root(place.root)
            if not is_anothers or place.root.scope == "user":
                name = place.relative
                is_held = (
                    not self._is_copied(place)
                    if held is None
                    else (name in held or folded(name) in held)
                )
                if not is_held:
                    return ""
            return NEVER_TRUSTED + trusted.get(place.relative, "")

        return whose

    def are_own(self, root: Root) -> bool:
        """Whether all notes of a root are the owner's: a user's root that is in no repository."""
        return root.scope == "user" and not self._repositories_above(self._real_of(root))

    def _of(self, root: Root) -> tuple[frozenset[str] | None, Mapping[str, str]]:
        """The paths that a root's repository holds now, and the sha256 of what is trusted there.

        None in place of the paths where git cannot say.
        """
        real = self._real_of(root)
        trusted = self.trusted.of(real)
        repositories = self._repositories_above(real)
        if not repositories:
            return frozenset(), trusted
        state = _state(real, repositories)
        known = self._held.get(root.scope)
        if known is None or known[0] != state:
            known = (state, held_by(repositories, root))
            self._held[root.scope] = known
        return known[1], trusted

    def _real_of(self, root: Root) -> str:
        """The real path of a root, asked once: it takes as long as all else together."""
        if root.path not in self._real:
            self._real[root.path] = root.real()
        return self._real[root.path]

    def _repositories_above(self, real: str) -> list[str]:
        return [x for x in repositories_above(real) if x != self._home]


def _state(real: str, repositories: Sequence[str]) -> str:
    is_submodule = os.path.lexists(os.path.join(real, ".git"))
    folders = map(git_folder, (*repositories, *([real] if is_submodule else [])))
    times = [_time_of(os.path.join(folder, name)) for folder in folders for name in _STATE]
    return ",".join([*repositories, *times])


def _time_of(path: str) -> str:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return ""
    return f"{status.st_mtime_ns}:{status.st_size}"
