"""Restores a backup to where the settings say, and changes the paths in it to those of this home.

Says which files of a backup name paths; the rooms that own them read and write them.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.app.app import App
from commonplace.app.backup import backup_places
from commonplace.app.restored_notes import COPIES, OF_OWNER, relocate_notes
from commonplace.app.wiring.private import recoveries_in
from commonplace.config.relocated import relocated_settings
from commonplace.config.settings import read_settings, user_file
from commonplace.core.clock import utc_now
from commonplace.core.staging import staged_aside
from commonplace.journals.chronicle.trust import path_in_request, request_of_path
from commonplace.journals.private.copy_record import copy_of_path, path_in_copy
from commonplace.journals.private.project_roots import path_in_record, record_of_path
from commonplace.journals.private.trusted_notes import path_in_trusted, trusted_of_path
from commonplace.verbs.backup.manifest import BackupPlace
from commonplace.verbs.backup.reading import open_backup
from commonplace.verbs.backup.relocation import SETTINGS, Register, Relocation
from commonplace.verbs.backup.restoring import restore_backup

if TYPE_CHECKING:
    from commonplace.config.table import Settings
    from commonplace.verbs.backup.manifest import Manifest

REGISTERS = (
    Register(
        what="the private journal of a project",
        names=re.compile(OF_OWNER + r"projects/[0-9a-f]{8}"),
        read=path_in_record,
        write=record_of_path,
    ),
    Register(
        what="the private journal of a project",
        names=COPIES,
        read=path_in_copy,
        write=copy_of_path,
    ),
    Register(
        what="a .chronicle that you trust",
        names=re.compile(OF_OWNER + r"trusted/[0-9a-f]{32}"),
        read=path_in_request,
        write=request_of_path,
    ),
    Register(
        what="notes of a repository that you trust",
        names=re.compile(OF_OWNER + r"trusted-notes/[0-9a-f]{32}"),
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
    # A backup of an earlier version does not name its home: then only this one is known.
    named = old.user_homes or [str(user_home)]
    homes = [(each, user_home) for each in named if user_home is not None]
    # Our own folder may be named in the settings, and other settings may name what is in it.
    first = _settings_here(text, Relocation.of(homes), user_home)
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
    relocation = replace(relocation, folders=Relocation.of([*folders, *lay]).folders)
    settings_file = BackupPlace(root="settings", path=own)
    kept = [settings_file] if own.exists() else []
    places = places if kept else (*places, settings_file)
    content = text.encode("utf-8", "surrogateescape") if text else None
    manifest = restore_backup(
        file,
        places,
        kept=kept,
        relocated=lambda held: relocate_notes(
            relocation.apply(held, registers=REGISTERS, settings=content)
        ),
    )
    names = [each.name for each in manifest.files] + [git.name for git in manifest.repositories]
    is_same = bool(old.user_homes) and all(each.old == each.new for each in relocation.folders)
    held_roots = {name.partition("/")[0] for name in names}
    projects = [
        path
        for _, recovery in recoveries_in(new["home"], utc_now)
        for path in recovery.place_restored(user_home)
    ]
    reached = {f": {path}" for path in projects}  # what is put back is named as such alone
    outside = [x for x in relocation.outside if not any(map(x.endswith, reached))]
    return Restored(
        manifest=manifest,
        places=tuple(each for each in places if each.root in held_roots),
        moved=relocation.moved,
        outside=[] if is_same else outside,
        projects=projects,
    )


def _relocated(text: str, relocation: Relocation) -> str:
    return relocated_settings(text, relocation.path, name="the settings in the backup")


def _settings_here(text: str, relocation: Relocation, user_home: Path | None) -> Settings:
    return _settings_in(_relocated(text, relocation), user_home)


def _settings_in(text: str, user_home: Path | None) -> Settings:
    """The settings of this process, with this text, if any, in place of the user's own file."""
    environ = dict(os.environ)
    with staged_aside() as folder:
        if text:
            inner = folder / "commonplace"
            inner.mkdir()
            (inner / "config.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
            environ["XDG_CONFIG_HOME"] = str(folder)
        return read_settings(environ=environ, cwd=Path.home(), home=user_home)
