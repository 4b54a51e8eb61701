"""Restores a backup to where the settings say, and changes the paths in it to those of this home.

Says which files of a backup name paths; the rooms that own them read and write them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.app.app import App
from commonplace.app.backup import backup_places
from commonplace.app.wiring.private import NOTES, recoveries_in
from commonplace.config.settings import read_settings, user_file
from commonplace.config.table import SECTIONS
from commonplace.config.table import SETTINGS as SETTING_ROWS
from commonplace.config.toml_edit import set_toml_value
from commonplace.config.values import parse_folder, parse_path
from commonplace.core.clock import utc_now
from commonplace.core.scratch import scratch_folder_aside
from commonplace.core.time_book import EXPIRING, REPLACED, SEEN
from commonplace.core.toml import parse_toml
from commonplace.journals.chronicle.trust import path_in_request, request_of_path
from commonplace.journals.private.copy_record import (
    RECORD,
    copy_of_path,
    parse_record,
    path_in_copy,
    render_record,
)
from commonplace.journals.private.places import SCHEME, SUFFIX
from commonplace.journals.private.portable import relocated_text
from commonplace.journals.private.project_roots import path_in_record, record_of_path
from commonplace.journals.private.roots import project_digest
from commonplace.journals.private.trusted_notes import path_in_trusted, trusted_of_path
from commonplace.verbs.backup.manifest import BackupPlace
from commonplace.verbs.backup.reading import open_backup
from commonplace.verbs.backup.relocation import LARGEST_REGISTER, SETTINGS, Register, Relocation
from commonplace.verbs.backup.restoring import restore_backup

if TYPE_CHECKING:
    from commonplace.config.table import Settings
    from commonplace.verbs.backup.manifest import FileEntry, Manifest
    from commonplace.verbs.backup.reading import Backup

_OF_OWNER = r"home/users/[^/]+/(?:served/)?"
_COPIES = re.compile(rf"({_OF_OWNER}){NOTES}/([0-9a-f]{{8}})/{re.escape(RECORD)}")
"""The record of a copy of a project's notes: whose, and the digest of its root."""

_SETTINGS_NAME = "the settings in the backup"

REGISTERS = (
    Register(
        what="the private journal of a project",
        names=re.compile(_OF_OWNER + r"projects/[0-9a-f]{8}"),
        read=path_in_record,
        write=record_of_path,
    ),
    Register(
        what="the private journal of a project",
        names=_COPIES,
        read=path_in_copy,
        write=copy_of_path,
    ),
    Register(
        what="a .chronicle that you trust",
        names=re.compile(_OF_OWNER + r"trusted/[0-9a-f]{32}"),
        read=path_in_request,
        write=request_of_path,
    ),
    Register(
        what="notes of a repository that you trust",
        names=re.compile(_OF_OWNER + r"trusted-notes/[0-9a-f]{32}"),
        read=path_in_trusted,
        write=trusted_of_path,
    ),
)
"""Every kind of file in our folder that names a path of the machine."""


class Restored(Struct, frozen=True, kw_only=True):
    """What a restore came to.

    Attributes:
        places: Where each part is now.
        moved: The paths in it that were changed, as they are now, each after what it is.
        outside: Those that lay outside of the home it was made in, and stay as they were.
        projects: The private journals of projects that notes were put back into.
    """

    manifest: Manifest
    places: tuple[BackupPlace, ...]
    moved: list[str]
    outside: list[str]
    projects: list[Path]


def restore_here(file: Path, *, user_home: Path | None) -> Restored:
    """Restore a backup to where the settings say: this user's, else those that are in it.

    Paths in it below the home that it was made in are changed to lie below this one.

    Raises:
        As `restore_backup`; Invalid where the settings in it cannot be read.
    """
    own = user_file()
    with open_backup(file) as held:
        old = held.manifest
        entry = next((each for each in old.files if each.name == SETTINGS), None)
        text = ""
        if entry is not None and not own.exists():
            text = b"".join(held.chunks(entry)).decode("utf-8", "surrogateescape")
    places, relocation, text = _find_places(old, text, user_home)
    new = {each.root: each.path for each in places}
    settings_file = BackupPlace(root="settings", path=own)
    kept = [settings_file] if own.exists() else []
    places = places if kept else (*places, settings_file)
    content = text.encode("utf-8", "surrogateescape") if text else None
    manifest = restore_backup(
        file,
        places,
        kept=kept,
        relocated=lambda held: _RelocatedNotes(
            relocation.apply(held, registers=REGISTERS, settings=content)
        ).relocate_all(),
    )
    names = [each.name for each in manifest.files] + [git.name for git in manifest.repositories]
    held_roots = {name.partition("/")[0] for name in names}
    projects = [
        path
        for _, recovery in recoveries_in(new["home"], utc_now)
        for path in recovery.place_restored(user_home)
    ]
    is_same = bool(old.user_homes) and all(each.old == each.new for each in relocation.folders)
    reached = {f": {path}" for path in projects}  # what is put back is named as such alone
    outside = [x for x in relocation.outside if not any(map(x.endswith, reached))]
    return Restored(
        manifest=manifest,
        places=tuple(each for each in places if each.root in held_roots),
        moved=relocation.moved,
        outside=[] if is_same else outside,
        projects=projects,
    )


def _find_places(
    old: Manifest, text: str, user_home: Path | None
) -> tuple[tuple[BackupPlace, ...], Relocation, str]:
    """Where the parts of a backup go, where the paths in it lie here, and its settings as here."""
    # A backup of an earlier version does not name its home: then only this one is known.
    named = old.user_homes or [str(user_home)]
    homes = [(each, user_home) for each in named if user_home is not None]
    # Our own folder may be named in the settings, and other settings may name what is in it.
    first = _settings_in(_relocated(text, Relocation.of(homes)), user_home)
    folders = [*homes, *([(old.places["home"], first.home)] if "home" in old.places else [])]
    relocation = Relocation.of(folders)
    text = _relocated(text, relocation)
    app = App(_settings_in(text, user_home), user_home=user_home)
    try:
        places = tuple(each for each in backup_places(app) if each.root != SETTINGS)
    finally:
        app.close()
    new = {each.root: each.path for each in places}
    lay = [(path, new[root]) for root, path in old.places.items() if root in new]
    folders_of_all = Relocation.of([*folders, *lay]).folders
    return places, replace(relocation, folders=folders_of_all), text


def _relocated(text: str, relocation: Relocation) -> str:
    """The settings of a backup with their absolute paths as they are here. Raises: Invalid."""
    tables = parse_toml(text, name=_SETTINGS_NAME)
    for setting in SETTING_ROWS:
        if setting.parse not in {parse_path, parse_folder}:
            continue
        section, _, key = setting.key.rpartition(".")
        table = tables.get(section, {}) if section in SECTIONS else tables
        value = table.get(key) if isinstance(table, dict) else None
        if not isinstance(value, str) or not os.path.isabs(value):
            continue
        found = relocation.path(value, f"the setting {setting.key}")
        if found != value:
            text = set_toml_value(text, setting.key.split("."), found, name=_SETTINGS_NAME)
    return text


def _settings_in(text: str, user_home: Path | None) -> Settings:
    """The settings of this process, with this text, if any, in place of the user's own file."""
    environ = dict(os.environ)
    with scratch_folder_aside() as folder:
        if text:
            inner = folder / "commonplace"
            inner.mkdir()
            (inner / "config.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
            environ["XDG_CONFIG_HOME"] = str(folder)
        return read_settings(environ=environ, cwd=Path.home(), home=user_home)


class _RelocatedNotes:
    """The notes of projects in a backup, relocated to where their roots lie here.

    By their former names the files that have another name or content. The backup's sizes and hashes
    were checked, and the roots in it are those of this machine; what it says of a root is hostile
    until its project is looked at.
    """

    def __init__(self, backup: Backup) -> None:
        self._backup = backup
        self._files = {each.name: each for each in backup.manifest.files}
        self._contents: dict[str, bytes] = {}
        self._names: dict[str, str] = {}

    def relocate_all(self) -> Backup:
        """The backup with every copy relocated, and named as one that was restored."""
        for each in self._backup.manifest.files:
            found = _COPIES.fullmatch(each.name)
            if found and each.size <= LARGEST_REGISTER:
                record = parse_record(self._read(each))
                record.restored, record.days = True, {}
                self._contents[each.name] = render_record(record)
                digest = project_digest(Path(record.path)) if record.path else found[2]
                if digest != found[2]:
                    self._rename(found[1], found[2], digest)
        manifest = self._backup.manifest
        files = [self._entry(each) for each in manifest.files]
        return self._backup.altered(
            replace(manifest, files=files),
            {self._names.get(name, name): x for name, x in self._contents.items()},
            {new: old for old, new in self._names.items()},
        )

    def _rename(self, owner: str, old: str, new: str) -> None:
        before, after = f"{owner}{NOTES}/{old}/", f"{owner}{NOTES}/{new}/"
        if any(name.startswith(after) for name in self._files):
            return  # a home and the link to it may have named the same place
        scopes = f"project@{old}", f"project@{new}"
        for name, each in self._files.items():
            if not name.startswith(before):
                continue
            self._names[name] = after + name.removeprefix(before)
            if name.endswith(SUFFIX) and each.size <= LARGEST_REGISTER:
                text = self._read(each).decode("utf-8", "surrogateescape")
                relocated = relocated_text(text, *scopes)
                if relocated != text:
                    self._contents[name] = relocated.encode("utf-8", "surrogateescape")
        for folder in (EXPIRING, REPLACED, SEEN):
            book = self._files.get(f"{owner}{folder}/entries.json")
            if book is not None and book.size <= LARGEST_REGISTER:
                self._relocate_book(book, *scopes)

    def _relocate_book(self, book: FileEntry, old: str, new: str) -> None:
        """Give the times in a book to the refs that their entries have here."""
        content = self._contents.get(book.name) or self._read(book)
        try:
            times = {str(ref): at for ref, at in json.loads(content).items()}
        except (ValueError, AttributeError, RecursionError):
            return  # its reader says so
        begins = f"{SCHEME}{old}/"
        relocated = {
            f"{SCHEME}{new}/{ref.removeprefix(begins)}" if ref.startswith(begins) else ref: at
            for ref, at in times.items()
        }
        if relocated != times:
            self._contents[book.name] = json.dumps(relocated, indent=0).encode()

    def _read(self, each: FileEntry) -> bytes:
        return b"".join(self._backup.chunks(each))

    def _entry(self, each: FileEntry) -> FileEntry:
        name = self._names.get(each.name, each.name)
        content = self._contents.get(each.name)
        if content is None:
            return replace(each, name=name)
        digest = hashlib.sha256(content).hexdigest()
        return replace(each, name=name, size=len(content), sha256=digest)
