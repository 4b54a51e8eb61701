"""Owns where the roots of this owner's projects lie, so that one project can open another's refs.

Never holds a word of an entry, and never hands out a folder that is not the one a ref was made for.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.core.expiring import nothing_hidden
from commonplace.core.files import (
    make_folder,
    remove_file,
    remove_leftovers,
    write_derived,
)
from commonplace.journals.private.roots import digest_in, project_digest, project_root

if TYPE_CHECKING:
    from commonplace.core.expiring import Hidden
    from commonplace.journals.private.roots import Root

_LONGEST_PATH = 4096


class ProjectRoots:
    """A folder of ours with a file for each project's root: its digest the name, its path within.

    Thread-safe, and safe among processes.

    folder: None for nowhere; then no root is known.
    """

    def __init__(self, folder: Path | None, hidden: Hidden = nothing_hidden) -> None:
        self._folder = folder
        self._hidden = hidden
        self._recorded: set[str] = set()

    def record(self, root: Root) -> None:
        """Record where a root lies, there or not, if it is a project's; never raises."""
        digest = digest_in(root.scope)
        if digest and digest not in self._recorded and root.link() is None:
            with contextlib.suppress(CommonplaceError, OSError):
                path = os.fsencode(root.real())
                if self._folder is not None:
                    self._write(self._folder, digest, path)
                self._recorded.add(digest)

    def _write(self, folder: Path, digest: str, path: bytes) -> None:
        """Write where a root lies, unless that stands there; and sweep the folder.

        Nothing else would sweep it: a root is written once.
        """
        remove_leftovers(folder)
        if self._path_in(digest) == path:
            return
        make_folder(folder)
        remove_file(folder / digest)
        with contextlib.suppress(FileExistsError):  # another process was first
            write_derived(folder / digest, path, mode=0o600)

    def find(self, scope: str) -> Root | None:
        """The root of a scope such as `project@1f2e3d4c`; None where nobody kept it."""
        digest = digest_in(scope)
        content = self._path_in(digest) if digest else b""
        if not content or b"\0" in content:
            return None
        path = Path(os.fsdecode(content))
        # A file that was altered leads nowhere: the digest is of the very path.
        if not path.is_absolute() or project_digest(path) != digest:
            return None
        return project_root(path, scope=scope, base=path.parent, hidden=self._hidden)

    def each(self) -> list[Root]:
        """Every root that was kept and is there now, by its scope."""
        try:
            names = sorted(os.listdir(self._folder)) if self._folder else []
        except OSError:
            return []
        found = (self.find(f"project@{name}") for name in names)
        return [x for x in found if x is not None and os.path.isdir(x.path)]

    def _path_in(self, digest: str) -> bytes:
        if self._folder is None:
            return b""
        try:
            with open(self._folder / digest, "rb") as file:
                return file.read(_LONGEST_PATH + 1)
        except OSError:
            return b""


def path_in_record(content: bytes) -> str:
    """The root that a file of `ProjectRoots` names; empty for none."""
    return "" if b"\0" in content else os.fsdecode(content)


def record_of_path(_content: bytes, path: str) -> tuple[str, bytes]:
    """The name and the content of the file for a root that lies there."""
    real = os.path.realpath(path)
    return project_digest(Path(real)), os.fsencode(real)
