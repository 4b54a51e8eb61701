"""Where the parts of a backup are on this machine, and what backups and exports leave out.

Opens no journal.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.app.wiring.private import recoveries_in
from commonplace.config.settings import user_file
from commonplace.core.owner_folders import list_owners
from commonplace.verbs.backup.manifest import BackupPlace

if TYPE_CHECKING:
    from commonplace.app.app import App


def backup_places(app: App) -> tuple[BackupPlace, ...]:
    """Where each part lies, or would; what lies in another part is not named twice."""
    home = Path(os.path.realpath(app.settings.home))
    named = [
        BackupPlace(root="private", path=app.private.files.roots[0].path),
        BackupPlace(root="chronicle", path=app.chronicle.journal.path),
        BackupPlace(root="notebook", path=app.settings.notebook.path or app.folder / "notebook"),
        BackupPlace(root="settings", path=user_file()),
    ]
    found = [BackupPlace(root="home", path=home)]
    for each in named:
        path = Path(os.path.realpath(each.path))
        if not any(path.is_relative_to(other.path) for other in found):
            found.append(BackupPlace(root=each.root, path=path))
    return tuple(found)


def left_out_of_backups(app: App) -> list[str]:
    """What a backup does not hold, a sentence each, with how to keep it.

    To be called before it is made: the notes of projects are copied into our home by this, since a
    backup takes them from there.
    """
    left_out = app.private.files.recovery.copy_all()
    for folder, recovery in recoveries_in(app.settings.home, app.clock):
        if folder != app.folder:
            left_out += recovery.copy_all()
    if app.settings.database.url:
        left_out.append("What lies in Postgres: back the database up with pg_dump.")
    return left_out


def left_out_of_exports(app: App) -> list[str]:
    """What an export does not hold, a sentence each; called before it, as for backups."""
    left_out = app.private.files.recovery.copy_all()
    others = [
        owner for owner in list_owners(app.settings.home / "users") if owner != app.settings.owner
    ]
    if others:
        left_out.append(f"The journals of {', '.join(others)}: export them with --owner.")
    return left_out
