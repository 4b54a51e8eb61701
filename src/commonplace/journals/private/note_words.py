"""Says whose word a note is: the owner's, or that of the repository which brought it along.

Never reads a note, and asks git once for each state of a repository.
"""

from __future__ import annotations

import os
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

    from commonplace.journals.private.places import EntryPlace
    from commonplace.journals.private.roots import Root
    from commonplace.journals.private.trusted_notes import TrustedNotes

NEVER_TRUSTED = ":"
"""What `whose` says of a note of the repository that the user trusts in no form."""

# What git writes whenever its index or its HEAD is another.
_STATE = ("index", "index.lock", "HEAD", "logs/HEAD")


class RootWords:
    """Whose word the notes of one root are, at one moment.

    Args:
        held: The paths that its repository holds; None where git cannot say.
        trusted: The sha256 of those that the user trusts.
        is_copied: As for `NoteWords`.
    """

    def __init__(
        self,
        held: frozenset[str] | None,
        trusted: Mapping[str, str],
        is_copied: Callable[[EntryPlace], bool],
    ) -> None:
        self._held = held
        self._trusted = trusted
        self._is_copied = is_copied

    def whose(self, place: EntryPlace, *, is_anothers: bool = False) -> str:
        """Empty for the owner's note; of any other `:`, then its sha256 where the user trusts it.

        Args:
            place: Of the note.
            is_anothers: Whether another user of the system owns its file.
        """
        is_own = not is_anothers or place.root.scope == "user"
        if is_own and not self._is_held(place):
            return ""
        return NEVER_TRUSTED + self._trusted.get(place.relative, "")

    def _is_held(self, place: EntryPlace) -> bool:
        if self._held is None:
            return not self._is_copied(place)
        return place.relative in self._held or folded(place.relative) in self._held


class AskedWords:
    """Whose word the notes of any root are, as `RootWords` says once for each root.

    Args:
        of: Asks for those of a root.
    """

    def __init__(self, of: Callable[[Root], RootWords]) -> None:
        self._of = of
        self._known: dict[str, RootWords] = {}

    def whose(self, place: EntryPlace, *, is_anothers: bool = False) -> str:
        """As `RootWords.whose`."""
        scope = place.root.scope
        if scope not in self._known:
            self._known[scope] = self._of(place.root)
        return self._known[scope].whose(place, is_anothers=is_anothers)


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

    def asked(self) -> AskedWords:
        """What answers for the notes of one pass, in which git is asked once for each root."""
        return AskedWords(self.of)

    def of(self, root: Root) -> RootWords:
        """What a root's repository holds now, and what the user trusts of it."""
        real = self._real_of(root)
        repositories = self._repositories_above(real)
        if not repositories:
            return RootWords(frozenset(), self.trusted.of(real), self._is_copied)
        state = _state(real, repositories)
        known = self._held.get(root.scope)
        if known is None or known[0] != state:
            known = (state, held_by(repositories, root))
            self._held[root.scope] = known
        return RootWords(known[1], self.trusted.of(real), self._is_copied)

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
