"""Says whose word a note is: the owner's, or that of the repository which brought it along.

Never reads a note, and asks git once for each state of a repository.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.core.regular_files import open_regular
from commonplace.journals.private.tracked import repository_of, tracked_notes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from commonplace.journals.private.places import EntryPlace
    from commonplace.journals.private.roots import Root
    from commonplace.journals.private.trusted_notes import TrustedNotes

NEVER_TRUSTED = ":"
"""What `whose` says of a note of the repository that the user trusts in no form."""

# What git writes whenever its index or its HEAD is another.
_STATE = ("index", "HEAD", "logs/HEAD")


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
        return place.relative in self._held


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
        self._held: dict[str, tuple[str, frozenset[str] | None]] = {}

    def token(self, root: Root) -> str:
        """What changes with the index or the HEAD of a root's repository, and with what is trusted.

        Empty where the root lies in no repository. Asks for a few times of files alone.
        """
        repository = self._repository_of(root)
        if repository is None:
            return ""
        return f"{self._state(root, repository)};{self.trusted.token()}"

    def asked(self) -> AskedWords:
        """What answers for the notes of one pass, in which git is asked once for each root."""
        return AskedWords(self.of)

    def of(self, root: Root) -> RootWords:
        """What a root's repository holds now, and what the user trusts of it."""
        repository = self._repository_of(root)
        if repository is None:
            return RootWords(frozenset(), self.trusted.of(root), self._is_copied)
        state = self._state(root, repository)
        known = self._held.get(root.scope)
        if known is None or known[0] != state:
            known = (state, tracked_notes(root))
            self._held[root.scope] = known
        return RootWords(known[1], self.trusted.of(root), self._is_copied)

    def _repository_of(self, root: Root) -> Path | None:
        repository = repository_of(root)
        return None if repository is None or str(repository) == self._home else repository

    def _state(self, root: Root, repository: Path) -> str:
        folders = (repository, Path(root.real()))
        times = (_time_of(_git_of(folder) / name) for folder in folders for name in _STATE)
        return ",".join([str(repository), *times])


def _git_of(tree: Path) -> Path:
    """Git's own folder of a work tree, there or not."""
    git = tree / ".git"
    named = b""
    with suppress(OSError), open_regular(git) as file:  # a folder, as mostly
        named = file.read(4096)
    if not named:
        return git
    return tree / os.fsdecode(named.removeprefix(b"gitdir:").strip().replace(b"\0", b""))


def _time_of(path: Path) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_mtime_ns}:{status.st_size}"
