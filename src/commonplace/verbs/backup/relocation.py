"""Changes the paths that a backup names into those of the same files on this machine.

Reads no journal, and follows no path but below the folders that are given. What a backup says is
hostile: a path with `..` is judged by where it ends.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator, Sequence

    from commonplace.verbs.backup.manifest import RepositoryEntry
    from commonplace.verbs.backup.reading import Backup

SETTINGS = "settings"
LARGEST_REGISTER = 1 << 24


class Register(Struct, frozen=True, kw_only=True):
    """A kind of file in our folder that names a path.

    Attributes:
        what: What the path is, before it in a sentence.
        names: Matches the names of these files in a backup.
        read: The path that the file's content names; empty for none.
        write: The file's own name and content once the path is another; given the content too.
    """

    what: str
    names: re.Pattern[str]
    read: Callable[[bytes], str]
    write: Callable[[bytes, str], tuple[str, bytes]]


class MovedFolder(NamedTuple):
    """A folder of the old machine, and the one that stands for it here."""

    old: str
    new: str


class Relocation(Struct, frozen=True, kw_only=True):
    """Where the paths of a backup lie here, and which of them lie nowhere.

    Attributes:
        folders: What lies below the old one lies below the new one; of several the longest counts.
        outside: The paths that lie below none and stay as they are, each after what it is.
        moved: The paths that were changed, as they are now, each after what it is.
    """

    folders: tuple[MovedFolder, ...]
    outside: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls, folders: Sequence[tuple[str | os.PathLike[str], str | os.PathLike[str]]]
    ) -> Relocation:
        """The relocation of these folders, each with its new one; a root of a disk is none."""
        pairs = (MovedFolder(os.path.normpath(old), os.path.normpath(new)) for old, new in folders)
        return cls(folders=tuple(x for x in pairs if os.path.dirname(x.old) != x.old))

    def path(self, path: str, what: str) -> str:
        """Where an absolute path lies here; notes what became of it under this name."""
        given = os.path.normpath(path)
        above = [x for x in self.folders if _is_below(given, x.old)]
        if not above:
            is_new = f"{what}: {path}" not in self.outside
            if is_new and not any(_is_below(given, x.new) for x in self.folders):
                self.outside.append(f"{what}: {path}")
            return path
        nearest = max(above, key=lambda each: len(each.old))
        found = os.path.normpath(os.path.join(nearest.new, os.path.relpath(given, nearest.old)))
        if found != given and f"{what}: {found}" not in self.moved:
            self.moved.append(f"{what}: {found}")
        return found

    def apply(
        self, backup: Backup, registers: Sequence[Register], *, settings: bytes | None = None
    ) -> Backup:
        """The backup as it would be, had it been made here.

        Args:
            backup: Its sizes and hashes were checked.
            registers: What in it names paths.
            settings: Its settings as they are here; None to leave them.
        """
        taken = {each.name for each in backup.manifest.files}
        contents: dict[str, tuple[str, bytes]] = {}
        if settings is not None and SETTINGS in taken:
            contents[SETTINGS] = (SETTINGS, settings)
        for each in backup.manifest.files:
            register = next((x for x in registers if x.names.fullmatch(each.name)), None)
            if register is None or each.size > LARGEST_REGISTER:
                continue
            content = b"".join(backup.chunks(each))
            path = register.read(content)
            if not os.path.isabs(path) or not _is_a_name(path):
                continue
            found = self.path(path, register.what)
            if found == path:
                continue
            name, content = register.write(content, found)
            name = str(PurePath(each.name).with_name(name).as_posix())
            if name == each.name or name not in taken:
                taken.add(name)  # a home and the link to it may have named the same place
                contents[each.name] = (name, content)
        manifest = replace(
            backup.manifest,
            files=[
                replace(
                    each,
                    name=contents[each.name][0],
                    size=len(contents[each.name][1]),
                    sha256=hashlib.sha256(contents[each.name][1]).hexdigest(),
                )
                if each.name in contents
                else each
                for each in backup.manifest.files
            ],
            repositories=[
                replace(each, config=[*self._config_of(each)])
                for each in backup.manifest.repositories
            ],
        )
        return backup.altered(manifest, dict(contents.values()))

    def _config_of(self, repository: RepositoryEntry) -> Iterator[tuple[str, str]]:
        for key, value in repository.config:
            scheme = "file://" if value.startswith("file://") else ""
            path = value.removeprefix(scheme)
            if key.endswith(".url") and os.path.isabs(path):
                yield key, scheme + self.path(path, f"{key} of a notebook")
            else:
                yield key, value


def _is_a_name(path: str) -> bool:
    """Whether a file may have this path."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeError:
        return False


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
