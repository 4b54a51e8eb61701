"""Owns that git never adds private notes: asks whether it ignores a day folder, and sees to it.

Never alters a file that came with the repository: it adds a line to git's own `info/exclude`, or a
`.gitignore` of its own to a day folder.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from commonplace.core.errors import CommonplaceError, Denied
from commonplace.core.files import make_folder, replace_file, write_new
from commonplace.core.regular_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Collection

    from commonplace.journals.private.roots import Root

    _Stamp: TypeAlias = tuple[tuple[int, int, int] | None, ...]

IGNORE = ".gitignore"
EVERYTHING = b"*\n"
_LONGEST = 1 << 20
_TIMEOUT_S = 5.0
"""Git takes 5 ms."""
_SPECIAL = re.compile(rb"([\\*?\[\] ])")
_COMMENT = b"# Private notes, which commonplace keeps out of git.\n"


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
        repository, real = _repository_of(root), Path(root.real())
        assert repository is not None
        if _ask_git(repository, real, [day]) is None:  # what the day folder says holds in any case
            _write_gitignore(root.path / day)
            return ""
        file = _add_to_exclude(repository, real)
        if file is None or self.missing(root, [day]):
            file = _write_gitignore(root.path / day)
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


def _stat_of(file: Path) -> tuple[int, int, int] | None:
    try:
        found = os.lstat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_mode


def _ask_git(repository: Path, root: Path, days: Collection[str]) -> set[str] | None:
    """Those of the days that git says it ignores; None where it is missing or does not say."""
    from commonplace.journals.git.run import Git

    if not days:
        return set()
    states = (state for day in days for state in _stamp(repository, root / day))
    if any(state and stat.S_ISFIFO(state[2]) for state in states):  # git would wait for a writer
        return None
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


def _write_gitignore(folder: Path) -> Path:
    """Have git ignore all of a day folder: no rule of a folder above outranks one that lies in it.

    The file that says so. Raises: Denied where the project brought one that says otherwise.
    """
    file = folder / IGNORE
    with contextlib.suppress(FileExistsError):
        write_new(file, EVERYTHING, mode=0o600)
    if not _hides_all(file):
        raise Denied(
            f"Git would add what is written to {folder}: {file} came with the project.",
            hint="Remove that file, or keep the notes elsewhere: set JOURNAL_PATH.",
        )
    return file


def _add_to_exclude(repository: Path, root: Path) -> Path | None:
    """Add a root to the repository's own `info/exclude`; the file, None where that is not done."""
    below = _SPECIAL.sub(rb"\\\1", os.fsencode(root.relative_to(repository).as_posix()))
    rule = b"/" + below + b"/"
    try:
        common = _common_folder(repository)
        if common is None or b"\n" in rule:
            return None
        file = common / "info" / "exclude"
        if os.path.islink(file.parent) or (os.path.lexists(file) and _read(file) is None):
            return None
        content = _read(file) or b""
        if rule in content.split(b"\n"):  # stronger rules are against it
            return None
        line_end = b"\n" if content and not content.endswith(b"\n") else b""
        make_folder(file.parent, 0o755)
        replace_file(file, content + line_end + _COMMENT + rule + b"\n", mode=0o644)
    except (CommonplaceError, OSError):
        return None
    return file


def _common_folder(repository: Path) -> Path | None:
    """Git's own folder of a work tree; None where a file leads to one that does not know of it."""
    git = repository / ".git"
    if os.path.islink(git):
        return None
    if os.path.isdir(git):
        return git if not os.path.lexists(git / "commondir") and _is_ours(git) else None
    named = (_read(git) or b"").removeprefix(b"gitdir: ").strip()
    folder = Path(os.path.normpath(repository / os.fsdecode(named)))
    back = Path(os.path.normpath(folder / os.fsdecode((_read(folder / "gitdir") or b"").strip())))
    is_known = folder.parent.name == "worktrees" and os.path.realpath(back) == str(git)
    return folder.parent.parent if is_known and _is_ours(folder.parent.parent) else None


def _is_ours(folder: Path) -> bool:
    return os.name == "nt" or os.stat(folder).st_uid == os.geteuid()


def _read(file: Path) -> bytes | None:
    """The content of a small plain file; None for anything else, never waiting for a pipe."""
    try:
        opened = open_regular(file, follows_links=False)
    except (OSError, ValueError):
        return None
    with io.BufferedReader(opened) as buffered:
        content = buffered.read(_LONGEST + 1)
    return content if len(content) <= _LONGEST else None
