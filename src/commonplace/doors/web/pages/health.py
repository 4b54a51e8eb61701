"""Settings and health: each setting with its origin, what each journal holds, what is wrong."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from typing import TYPE_CHECKING

from commonplace.config.settings import render_setting
from commonplace.config.table import SETTINGS
from commonplace.core.clock import local_date
from commonplace.core.errors import Denied
from commonplace.doors import entry_point
from commonplace.doors.installed import installed_version
from commonplace.doors.last_examination import keep_examination
from commonplace.doors.web.visit import Download, Redirect, WebPage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from commonplace.doors.web.visit import Visit

_HIDDEN = "(set, not shown)"


def health(visit: Visit) -> WebPage:
    """What each journal holds, the encoder, the index, the disk, the clients, the settings."""
    app = visit.app
    status = app.recall.status()
    usage = shutil.disk_usage(app.settings.home if app.settings.home.exists() else "/")
    is_whole = visit.shows_paths
    clients = []
    if is_whole and app.user_home is not None:
        clients = entry_point("list_clients")(home=app.user_home).facts["clients"]
    return WebPage(
        template="health.html",
        title="Health and settings",
        values={
            "current": "health",
            "status": status,
            "free": usage.free,
            "clients": clients,
            "is_whole": is_whole,
            "home": app.settings.home,
            "settings": _settings(visit) if is_whole else [],
        },
    )


def examine(visit: Visit) -> WebPage:
    """What `commonplace doctor` finds."""
    _check_own(visit)
    report = entry_point("doctor")(visit.app).examine()
    keep_examination(visit.app, report)
    return WebPage(
        template="doctor.html",
        title="Doctor",
        values={"current": "health", "report": report, "done": None},
    )


def repair(visit: Visit) -> Redirect:
    """Repair what can be repaired."""
    _check_own(visit)
    repairs = entry_point("doctor")(visit.app).repair()
    said = [f"Repaired, {part}: {done}" for part, done in repairs.done]
    failed = [f"{part}: {problem.what} {problem.hint}" for part, problem in repairs.failed]
    return Redirect(
        to=visit.url("examine"), notes=[*said, *failed] or ["There was nothing to repair."]
    )


def back_up(visit: Visit) -> Download:
    """A backup of everything that cannot be made again, as a download."""
    _check_own(visit)
    from commonplace.app.backup import backup_places, left_out_of_backups
    from commonplace.verbs.backup.copies import BACKUP
    from commonplace.verbs.backup.making import make_backup

    def make(target: Path) -> None:
        make_backup(
            target,
            backup_places(visit.app),
            scratch_folders=visit.app.scratch_folders,
            clock=lambda: visit.now,
            program=installed_version(),
            user_home=visit.app.user_home,
            with_tokens=False,
            not_included=left_out_of_backups(visit.app),
        )
        visit.app.copies().note(BACKUP)

    return _download(visit, "commonplace", make)


def export(visit: Visit) -> Download:
    """An export of this owner's journals, as a download."""
    from commonplace.app.backup import left_out_of_exports
    from commonplace.verbs.backup.copies import EXPORT

    def make(target: Path) -> None:
        # Who is served reaches no project, and hears of no other owner.
        left_out = left_out_of_exports(visit.app) if visit.shows_paths else []
        visit.visitor.notes += [f"Not included: {each}" for each in left_out]
        visit.app.exporting().export(target)
        visit.app.copies().note(EXPORT)

    return _download(visit, "commonplace-export", make)


def _download(visit: Visit, name: str, make: Callable[[Path], None]) -> Download:
    """A zip made in a scratch folder, which no other user can read, and which goes with us."""
    day = local_date(visit.now, visit.zone)
    with ExitStack() as held:
        path = held.enter_context(visit.app.scratch_folders.inside()) / "download.zip"
        make(path)
        return Download(
            path=path,
            name=f"{name}-{day}.zip",
            media_type="application/zip",
            close=held.pop_all().close,
        )


def _check_own(visit: Visit) -> None:
    if not visit.shows_paths:
        raise Denied("The doctor looks after a whole machine.", hint="Ask who runs the server.")


def _settings(visit: Visit) -> list[tuple[str, str, str, str]]:
    """Each setting: its key, its value, where that comes from, what it is."""
    read = visit.app.settings
    found = []
    for row in SETTINGS:
        value = row.read(read)
        hidden = row.is_secret and value not in (None, (), "")
        shown = _HIDDEN if hidden else render_setting(value)
        found.append((row.key, visit.shown(_said(shown)), read.origins[row.key], row.help))
    return found


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return "" if value is None else str(value)
