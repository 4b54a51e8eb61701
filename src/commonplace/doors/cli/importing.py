"""`commonplace import`: bring in what other programs kept, each session and entry once.

Never decides what is a session or an entry, or what of it is kept: it parses, calls and shows.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commonplace.doors.cli.acts import noting_import
from commonplace.doors.cli.call_settings import home_folder
from commonplace.doors.cli.calls import opened, start_of
from commonplace.doors.cli.exporting import import_export
from commonplace.doors.cli.options import beginning_options, common_options
from commonplace.doors.cli.output import say, show
from commonplace.doors.cli.progress import show_counting, show_fetching
from commonplace.journals.transcripts.clients import CLIENTS
from commonplace.verbs.imports.programs import OURS, list_others

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from commonplace.app import App
    from commonplace.verbs.imports.records import ImportRecord
    from commonplace.verbs.imports.service import ProgramImport
    from commonplace.verbs.transcripts.importing import TranscriptImport

_INTO = ("private", "timeline")
_DATES = ("day-first", "month-first")


class _NameOrExport(click.Choice[str]):
    """The name of a program, or the path of an export by Commonplace."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in self.choices or isinstance(value, Path):
            return value
        if os.sep in value or value.endswith(".zip"):
            return Path(value)
        others = list_others()
        if value not in others and os.path.exists(value):
            return Path(value)
        return click.Choice([*self.choices, *others]).convert(value, param, ctx)


@click.command(name="import", short_help="Import an export, sessions, or other programs' entries.")
@click.argument(
    "name", required=False, metavar="[NAME|EXPORT]", type=_NameOrExport([*CLIENTS, *OURS])
)
@click.argument("path", required=False, metavar="[PATH]")
@click.option("--all", "every", is_flag=True, help="Import the sessions of all clients here.")
@beginning_options
@click.option("--into", type=click.Choice(_INTO), help="Another journal, for entries.")
@click.option("--dates", type=click.Choice(_DATES), help="How 01/02/2026 is read, in entries.")
@click.option(
    "--owner", metavar="NAME", help="Import an EXPORT into the journals of another owner."
)
@click.option("--dry-run", is_flag=True, help="Only say what would be imported.")
@common_options
def import_sessions(name: str | Path | None, path: str | None, as_json: bool, **given: Any) -> None:
    """Import what another program keeps, each session and entry once however often you run it.

    NAME is an AI client, whose sessions are imported, or another program, whose entries are; with
    neither NAME nor --all it lists them, and what is there on this machine. PATH is a folder or a
    file, in place of where the program keeps its own; for claude-ai and chatgpt it is the archive
    of the export. It says first which sessions it will take. EXPORT is a folder or a zip that
    `commonplace export` made; it is imported whole, and only into empty journals.
    """
    if isinstance(name, Path):
        if path is not None or any(given[x] for x in ("every", "into", "dates", "when", "since")):
            raise click.UsageError(
                "An export is imported whole: give only --owner and --dry-run with it."
            )
        import_export(name, given["owner"], as_json, dry_run=given["dry_run"])
        return
    if given["owner"]:
        raise click.UsageError("--owner is only for an export by Commonplace.")
    if name is not None and given["every"]:
        raise click.UsageError("Name a client, or give --all.")
    of_sessions = name is None or name in CLIENTS
    for option in ("into", "dates"):
        if given[option] and of_sessions:
            raise click.UsageError(f"--{option} goes with a program whose entries are imported.")
    with opened() as app:
        if name is None and not given["every"]:
            from commonplace.verbs.imports.answers import programs_answer

            importers, failed = app.foreign_import(os.environ).list_importers()
            originals = Counter(each.client for each in _importing(app).find_all())
            answer = programs_answer(importers, failed, CLIENTS, originals)
            show(answer, as_json, items="programs")
            return
        start = start_of(app, given["when"], given["since"])
        if name is None or of_sessions:
            _import_sessions(app, name, start, as_json, {**given, "path": path})
        else:
            _import_entries(app, name, start, as_json, {**given, "path": path})


def _import_entries(
    app: App,
    program: str,
    since: datetime | None,
    as_json: bool,
    given: Mapping[str, Any],
) -> None:
    from commonplace.verbs.imports.answers import program_answer
    from commonplace.verbs.imports.programs import load_importer

    importing, dry_run = app.foreign_import(os.environ), given["dry_run"]
    paths = importing.find(program, given["path"] or "")
    into = given["into"] or load_importer(program).into

    def run(record: ImportRecord | None) -> ProgramImport:
        with show_counting("Reading entries" if dry_run else "Importing entries") as progress:
            return importing.go_through(
                program,
                paths,
                into=into,
                since=since,
                dates=given["dates"],
                record=record,
                progress=progress,
            )

    if dry_run:
        done = run(None)
    else:
        with noting_import(app, into) as record:
            done = run(record)
    if done.taken and not dry_run:
        with show_counting("Filing words"):
            app.filing.sweep()
    show(program_answer(done, app.settings.timezone, dry_run=dry_run), as_json, items="left_out")
    if done.failed:
        raise SystemExit(1)


def _import_sessions(
    app: App,
    client: str | None,
    since: datetime | None,
    as_json: bool,
    given: Mapping[str, Any],
) -> None:
    from commonplace.verbs.transcripts.importing import import_answer

    importing = _importing(app)
    if client is None:
        originals = importing.find_all(since=since)
    else:
        originals = importing.find(client, path=given["path"] or "", since=since)
    zone = app.settings.timezone
    with show_counting("Counting messages"):
        plan = import_answer(importing.plan(originals, since=since), zone, dry_run=True)
    if given["dry_run"]:
        show(plan, as_json, items="clients")
        return
    if plan.facts["messages"] and not as_json:  # else the answer says the same
        say(plan.text, err=True)
    with show_fetching() as progress, noting_import(app, "transcripts") as record:
        record.begin("sessions")
        noting = record.into("transcripts")
        done = importing.run(originals, since=since, noting=noting, progress=progress)
    with show_counting("Filing words"):
        app.filing.sweep()
    show(import_answer(done, zone, dry_run=False), as_json, items="clients")


def _importing(app: App) -> TranscriptImport:
    from commonplace.journals.transcripts.copying import Kept
    from commonplace.verbs.transcripts.importing import TranscriptImport

    transcripts = app.settings.transcripts
    return TranscriptImport(
        app.transcripts.files,
        Kept(tools=transcripts.tools, subagents=transcripts.subagents),
        home=str(home_folder() or ""),
        environ=os.environ,
    )
