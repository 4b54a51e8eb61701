"""Owns that git never adds private notes: asks whether it ignores a day folder, and sees to it.

Never alters a file: it adds a `.gitignore` of its own to the root or, where that has one, to a day.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from commonplace.core.errors import CommonplaceError, Denied
from commonplace.core.files import write_new
from commonplace.core.plain_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Collection

    from commonplace.journals.private.roots import Root

    _Stamp: TypeAlias = tuple[tuple[int, int] | None, ...]

IGNORE = ".gitignore"
EVERYTHING = b"*\n"
_LONGEST = 1 << 20
_TIMEOUT_S = 5.0
"""Git takes 5 ms."""


class IgnoredDays:
    """Which day folders git ignores, as far as a project, and not the user, named their root.

    Git is asked once for each day, and again when an ignore file on the way has changed; a folder
    that is ignored as a whole can hold nothing that a rule brings back. Thread-safe.
    """

    def __init__(self) -> None:
        self._ignored_since: dict[Path, _Stamp] = {}

    def ensure(self, root: Root, day: str) -> str:
        """Have git ignore a day folder that is there; a note where that took a new rule.

        Raises: Denied where the project brought a file that has git add what is written there.
        """
        if not self.missing(root, [day]):
            return ""
        # No rule of a folder above outranks one that lies in it.
        has_own = os.path.lexists(root.path / IGNORE)
        file = (root.path / day if has_own else root.path) / IGNORE
        with contextlib.suppress(FileExistsError):
            write_new(file, EVERYTHING, mode=0o600)
        if not _hides_all(file):
            raise Denied(
                f"Git would add what is written to {file.parent}: {file} came with the project.",
                hint="Remove that file, or keep the notes elsewhere: set JOURNAL_PATH.",
            )
        repository = _repository_of(root)
        if repository is None or _ask_git(repository, Path(root.real()), [day]) is None:
            return ""
        return f"Git did not ignore {root.path}: {file} now keeps your notes out."

    def missing(self, root: Root, days: Collection[str]) -> set[str]:
        """Those of these day folders that git does not ignore, or cannot be asked about."""
        repository = _repository_of(root)
        if repository is None or _hides_all(root.path / IGNORE):
            return set()
        real = Path(root.real())
        stamps = {day: _stamp(repository, real / day) for day in days}
        asked = [
            day
            for day in days
            if self._ignored_since.get(root.path / day) != stamps[day]
            and not _hides_all(root.path / day / IGNORE)
        ]
        ignored = _ask_git(repository, real, asked) or set()
        self._ignored_since |= {root.path / day: stamps[day] for day in ignored}
        return {*asked} - ignored


def _repository_of(root: Root) -> Path | None:
    """The work tree that a root lies in; None for a root that the user named, or that is its own.

    (Nobody's clone brings a `.git` inside of it: a journal that has one was made so by its user.)
    """
    real = Path(root.real())
    if root.base is None or os.path.lexists(real / ".git"):
        return None
    return next((x for x in real.parents if os.path.lexists(x / ".git")), None)


def _stamp(repository: Path, folder: Path) -> _Stamp:
    """What changes with each file of rules that has a say in a folder, there or not."""
    between = folder.relative_to(repository).parts
    folders = [repository.joinpath(*between[:depth]) for depth in range(len(between) + 1)]
    files = [repository / ".git" / "info" / "exclude", *(x / IGNORE for x in folders)]
    return tuple(_stat_of(file) for file in files)


def _stat_of(file: Path) -> tuple[int, int] | None:
    try:
        found = os.lstat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _ask_git(repository: Path, root: Path, days: Collection[str]) -> set[str] | None:
    """Those of the days that git says it ignores; None where it is missing or does not say."""
    from commonplace.journals.git.run import Git

    if not days:
        return set()
    below = root.relative_to(repository)
    # It takes no literal paths; `./` keeps a name that begins with a colon from meaning anything.
    # With a slash at its end, rules inside of the folder would be matched with an empty name.
    paths = {os.fsencode(f"./{(below / day).as_posix()}"): day for day in days}
    arguments = ["--no-literal-pathspecs", "check-ignore", "--no-index", "-z", "--stdin"]
    try:
        ran = Git(repository).run(
            arguments, stdin=b"\0".join([*paths, b""]), timeout_s=_TIMEOUT_S, statuses=(0, 1)
        )
    except CommonplaceError:
        return None
    return {paths[path] for path in ran.out.split(b"\0") if path in paths}


def _hides_all(file: Path) -> bool:
    """Whether an ignore file says `*` and nothing else; git reads none through a link."""
    lines = (_read(file) or b"").split(b"\n")
    return {line for line in lines if line and not line.startswith(b"#")} == {b"*"}


def _read(file: Path) -> bytes | None:
    """The content of a small plain file; None for anything else, never waiting for a pipe."""
    try:
        with open_regular(file, follows_links=False) as opened:
            content = opened.read(_LONGEST + 1)
    except (OSError, ValueError):
        return None
    return content if len(content) <= _LONGEST else None
