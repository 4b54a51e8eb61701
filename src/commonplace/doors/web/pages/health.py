"""Health: how everything stands in a few lines, what each journal holds, what is wrong."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from commonplace.core.clock import local_date
from commonplace.core.text import counted
from commonplace.doors import entry_point
from commonplace.doors.installed import installed_version
from commonplace.doors.last_examination import find_examination, keep_examination
from commonplace.doors.web.render import since
from commonplace.doors.web.visit import Download, Redirect, WebPage
from commonplace.search import policy
from commonplace.verbs.private.recovery import gone_sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from commonplace.doors.web.visit import Visit
    from commonplace.verbs.recall.status import RecallStatus

_PARTS = ("server", "hooks", "skills", "module")
"""What a client's files may hold of ours."""

_GIGABYTE = 1_000_000_000
_LITTLE = _GIGABYTE
_OLD_DAYS = 30


class HealthLine(Struct, frozen=True, kw_only=True):
    """How something stands, in words.

    Attributes:
        what_to_do: Why it is not fine, and what helps; empty where it is fine.
        page: Where more of it is to be seen; empty for nowhere.
    """

    name: str
    said: str
    what_to_do: str = ""
    page: str = ""


def health(visit: Visit) -> WebPage:
    """How it stands in a few lines; what each journal holds, the index, the clients in the fold."""
    app = visit.app
    status = app.recall.status()
    clients = []
    if visit.shows_paths and app.user_home is not None:
        clients = entry_point("list_clients")(home=app.user_home).facts["clients"]
    free = shutil.disk_usage(app.settings.home if app.settings.home.exists() else "/").free
    return WebPage(
        template="health.html",
        title="Health",
        values={
            "current": "health",
            "lines": [*_lines(visit, status, clients, free)],
            "status": status,
            "clients": clients,
            "parts": _PARTS,
            "is_whole": visit.shows_paths,
            "home": app.settings.home,
        },
    )


def examine(visit: Visit) -> WebPage:
    """What `commonplace doctor` finds."""
    report = entry_point("doctor")(visit.app).examine()
    keep_examination(visit.app, report)
    return WebPage(
        template="doctor.html",
        title="Doctor",
        values={"current": "health", "report": report},
    )


def repair(visit: Visit) -> Redirect:
    """Repair what can be repaired."""
    repairs = entry_point("doctor")(visit.app).repair()
    said = [f"Repaired, {part}: {done}" for part, done in repairs.done]
    failed = [f"{part}: {problem.what} {problem.hint}" for part, problem in repairs.failed]
    return Redirect(
        to=visit.url("examine"), notes=[*said, *failed] or ["There was nothing to repair."]
    )


def back_up(visit: Visit) -> Download:
    """A backup of everything that cannot be made again, as a download."""
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


def _lines(
    visit: Visit, status: RecallStatus, clients: Sequence[Mapping[str, Any]], free: int
) -> Iterator[HealthLine]:
    """How it stands, in a sentence each: two lines for who is served, six on one's own machine."""
    yield _of_journals(visit, status)
    yield _of_search(status)
    if visit.shows_paths:
        yield _of_assistants(status, clients)
        yield _of_backup(visit, status)
        gigabytes = f"{free / _GIGABYTE:,.1f} GB are free."
        what = "Make room: what cannot be written is refused." if free < _LITTLE else ""
        yield HealthLine(name="Disk", said=gigabytes, what_to_do=what)
        yield _of_doctor(visit)


def _of_journals(visit: Visit, status: RecallStatus) -> HealthLine:
    wrong = [f"{x.name}: {x.trouble}" for x in status.journals if x.trouble]
    wrong += [gone_sentence(status.gone, visit.zone)] if status.gone else []
    wrong += status.left_out
    count = sum(each.entries or 0 for each in status.journals)
    journals = counted(sum(bool(x.entries) for x in status.journals), "journal", "journals")
    said = f"{journals} with {counted(count, 'entry', 'entries')}."
    if not count:
        said = "Nothing is written yet."
    return HealthLine(name="Journals", said=said, what_to_do=" ".join(wrong))


def _of_search(status: RecallStatus) -> HealthLine:
    encoder, pending = status.encoder, sum(each.pending or 0 for each in status.journals)
    what, said = "", "All of it is found by its words and by its meaning."
    if status.index_trouble:
        said, what = "The index cannot be read.", status.index_trouble
    elif encoder.state == "missing":
        said, what = "Found by its words alone, not by meaning.", encoder.why
    elif encoder.state == "loading":
        said = "Found by its words; meaning joins once its model is loaded."
    elif pending > policy.VECTORS_SOON:
        said = (
            f"{counted(pending, 'text is', 'texts are')} found by words alone until all are read."
        )
    return HealthLine(name="Search", said=said, what_to_do=what)


def _of_assistants(status: RecallStatus, clients: Sequence[Mapping[str, Any]]) -> HealthLine:
    """The clients that are set up, and the sessions that are kept of them."""
    set_up = [x["title"] for x in clients if x["plugin"] or any(x[kind] for kind in _PARTS)]
    wrong = [f"{x['title']}: {x['problem']}" for x in clients if x["problem"]]
    said = f"{', '.join(set_up)}." if set_up else "None is set up."
    if status.sessions and status.sessions.sentence:
        said += f" {status.sessions.sentence}"
        if status.sessions.waiting:
            wrong.append("`commonplace import --all` keeps those that are not safe yet.")
    if not set_up:
        wrong.append("`commonplace setup` lets your assistants read and write here.")
    return HealthLine(name="Assistants", said=said, what_to_do=" ".join(wrong))


def _of_backup(visit: Visit, status: RecallStatus) -> HealthLine:
    made = status.last_backup
    if made is None:
        return HealthLine(
            name="Backup", said="None was made yet.", what_to_do="Download one below."
        )
    days = (local_date(visit.now, visit.zone) - local_date(made.at, visit.zone)).days
    ago = "today" if days < 1 else f"{counted(days, 'day', 'days')} ago"
    what = "Download a new one below." if days > _OLD_DAYS else ""
    return HealthLine(name="Backup", said=f"The last one was made {ago}.", what_to_do=what)


def _of_doctor(visit: Visit) -> HealthLine:
    last = find_examination(visit.app)
    if last is None:
        return HealthLine(name="Problems", said="Nobody has looked yet.", page="examine")
    count = len(last.report.problems)
    said = f"{counted(count, 'problem was', 'problems were')} found" if count else "None was found"
    what = "See them, and what repairs them." if count else ""
    when = since(last.at, visit)
    return HealthLine(name="Problems", said=f"{said} at {when}.", what_to_do=what, page="examine")
