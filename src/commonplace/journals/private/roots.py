"""Owns where private entries live: which folders are the roots, and what each is called.

Never lists or reads an entry, and makes no folder but a home that is missing, or the one under the
temp directory.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.digest import sha256_hex
from commonplace.core.errors import CommonplaceError, Denied
from commonplace.core.expiring import nothing_hidden
from commonplace.core.files import make_folder, translated

if TYPE_CHECKING:
    from commonplace.core.expiring import Hidden

FOLDER = ".private-journal"

_SCOPE = re.compile(r"project@([0-9a-f]{8})")

Kind: TypeAlias = Literal["project", "user", "both"]


class Root(Struct, frozen=True, kw_only=True):
    """One folder of day folders.

    Attributes:
        path: Absolute, as it is shown.
        scope: `user`, or `project@` and eight hex digits of the sha256 of the resolved path.
        kinds: Which types of a list or search it answers to.
        base: The folder, above the root, that may come from a stranger; None where the user named
            the root.
        hidden: Gives the refs that no reader may see.
    """

    path: Path
    scope: str
    kinds: frozenset[str]
    base: Path | None = None
    hidden: Hidden = nothing_hidden

    @property
    def source(self) -> str:
        """Its name for the index."""
        return f"private:{self.scope}"

    def link(self) -> Path | None:
        """The first symbolic link on the way from `base` to the root, as it is now."""
        if self.base is None:
            return None
        at = self.base
        for part in self.path.relative_to(self.base).parts:
            at /= part
            if os.path.islink(at):
                return at
        return None

    def refuse_link(self) -> None:
        """Raise Denied where the project, not the user, leads the root through a link."""
        if link := self.link():
            raise Denied(
                f"{link} is a symbolic link, and it came with the project: nothing is read or "
                "written through it.",
                hint="Replace it by a folder, or name the folder yourself: set JOURNAL_PATH.",
            )

    def real(self) -> str:
        """The path with every symbolic link followed, as it is now."""
        return os.path.realpath(self.path)


class Roots(Struct, frozen=True, kw_only=True):
    """The folders one owner writes to.

    Attributes:
        base: As `Root.base`, of the project's.
        note: A sentence for every answer, mostly empty.
        left: Where entries lie that were written while this home could not be used; None where that
            is the user's root, and where there is no home.
        hidden: As `Root.hidden`, of each.
    """

    user: Path
    project: Path | None = None
    base: Path | None = None
    note: str = ""
    left: Path | None = None
    hidden: Hidden = nothing_hidden

    def each(self) -> tuple[Root, ...]:
        """The distinct roots, the user's first; one that serves as both answers to both kinds."""
        user = Root(path=self.user, scope="user", kinds=frozenset({"user"}), hidden=self.hidden)
        both = replace(user, kinds=frozenset({"user", "project"}))
        if self.project is None:
            return (both,)
        scope = f"project@{self._digest(self.project)}"
        project = project_root(self.project, scope=scope, base=self.base, hidden=self.hidden)
        if project.link() is None and _is_same(self.user, self.project):
            return (both,)
        return (user, project)

    def _digest(self, project: Path) -> str:
        """Of the real path; below `base` no link counts, or a scope would be another project's."""
        if self.base is None:
            return project_digest(project)
        real = os.path.join(os.path.realpath(self.base), project.relative_to(self.base))
        return _digest_of(real)


def project_root(path: Path, *, scope: str = "", base: Path | None, hidden: Hidden) -> Root:
    """The root of a project.

    scope: empty for the one that the path gives; the others as `Root` has them.
    """
    return Root(
        path=path,
        scope=scope or f"project@{project_digest(path)}",
        kinds=frozenset({"project"}),
        base=base,
        hidden=hidden,
    )


def project_digest(path: Path) -> str:
    """First 8 hex digits of the sha256 of the resolved path."""
    return _digest_of(os.path.realpath(path))


def digest_in(scope: str) -> str:
    """The digest in a scope such as `project@1f2e3d4c`; empty for any other."""
    found = _SCOPE.fullmatch(scope)
    return found[1] if found else ""


def _digest_of(real: str) -> str:
    return sha256_hex(os.fsencode(real))[:8]


def resolve_roots(
    *,
    home: Path | None,
    project: Path | None,
    journal_path: str | None = None,
    journal_base: Path | None = None,
    private_user: str | None = None,
    private_journal_path: str | None = None,
    temp: Path,
) -> Roots:
    """Where this owner's private entries go.

    Of the folders that are named, the one that stands for fewer roots wins; `~` is the home.

    `private_user` names the user's root, `journal_path` the project's, `private_journal_path` both;
    the last wins over a `journal_path` that the project itself set, in a file in `journal_base`.
    If the home cannot be used, a folder of this user and home alone is made under `temp`.

    Raises: Denied where that folder is another user's.
    """
    both = _expanded(private_journal_path, home)
    note = ""
    temporary = temporary_folder(temp, home)
    left = temporary if home is not None else None
    user = _expanded(private_user, home) or both or _home_root(home)
    if user is None:
        make_private_folder(temporary, _uid())
        user, left, note = temporary, None, _note_on(temporary, home)
    named = None if journal_base and both else _expanded(journal_path, home)
    if named or both or project is None:
        return Roots(
            user=user,
            project=named or both,
            base=journal_base if named else None,
            note=note,
            left=left,
        )
    base = Path(os.path.abspath(project))
    return Roots(user=user, project=base / FOLDER, base=base, note=note, left=left)


def temporary_folder(temp: Path, home: Path | None) -> Path:
    """What serves in place of a home that cannot be used: one for each home, one for none."""
    of_home = "" if home is None else f"-{_digest_of(os.path.abspath(home))}"
    return Path(os.path.abspath(temp)) / f"private-journal-{_uid()}{of_home}"


def _uid() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _note_on(temporary: Path, home: Path | None) -> str:
    moves = "" if home is None else f" What is in it moves into {home} once that can be written to."
    return (
        f"There is no home folder to write to: the journal is kept in {temporary} and may be lost."
        f"{moves} Set COMMONPLACE_PRIVATE_USER to a folder that stays."
    )


def _expanded(setting: str | None, home: Path | None) -> Path | None:
    if setting is None or not setting.strip():
        return None
    rest = setting.removeprefix("~")
    if home is not None and rest != setting and rest[:1] in {"", "/", os.sep}:
        return Path(os.path.abspath(home)) / rest.lstrip("/" + os.sep)
    return Path(os.path.abspath(os.path.expanduser(setting)))


def _home_root(home: Path | None) -> Path | None:
    """The root in the home: one that is there, even read-only, or one that could be made.

    A home that is missing is made, as the index and chronicle make it: else what is written now
    would lie elsewhere than what is written once they have.
    """
    if home is None:
        return None
    root = Path(os.path.abspath(home)) / FOLDER
    with contextlib.suppress(CommonplaceError):
        make_folder(root.parent)
    usable = os.path.isdir(root) or os.access(root.parent, os.W_OK | os.X_OK)
    return root if usable else None


def make_private_folder(path: Path, uid: int) -> None:
    """Make a folder for this user alone in a folder that all may write to.

    Raises: Denied when the name is a symbolic link, no folder, or another user's.
    """
    hint = "Remove it, or set COMMONPLACE_PRIVATE_USER to a folder of your own."
    with translated(path):
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode):
            kind = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "not a folder"
            raise Denied(f"The folder {{place}} is {kind}.", hint=hint, place=path)
        if hasattr(os, "getuid") and found.st_uid != uid:
            raise Denied("The folder {place} belongs to another user.", hint=hint, place=path)
        if found.st_mode & 0o077:
            os.chmod(path, 0o700)


def _is_same(one: Path, other: Path) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
