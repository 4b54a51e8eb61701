"""`commonplace import`: bring the sessions in that clients kept, each message once.

Never decides what is a session, or what of it is kept: it parses, calls the service and shows.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from commonplace.doors.cli.calls import opened
from commonplace.doors.cli.frame import common_options, home_folder, show
from commonplace.doors.cli.progress import show_counting, show_fetching
from commonplace.journals.transcripts.clients import CLIENTS

if TYPE_CHECKING:
    from datetime import datetime

    from commonplace.app import App
    from commonplace.services.transcripts.importing import Original, TranscriptImport


@click.command(name="import", short_help="Import the sessions of AI clients.")
@click.argument("client", required=False, type=click.Choice([*CLIENTS]))
@click.argument("path", required=False, metavar="[PATH]")
@click.option("--all", "every", is_flag=True, help="Import from all clients of this machine.")
@click.option("--since", metavar="TIME", help="Leave out sessions that ended before this time.")
@click.option("--dry-run", is_flag=True, help="Only say what would be imported.")
@common_options
def import_sessions(client: str | None, path: str | None, as_json: bool, **given: Any) -> None:
    """Import the sessions that an AI client keeps, each message once however often it is asked.

    PATH is a folder or a file, in place of where the client keeps its sessions; for claude-ai and
    chatgpt it is the archive of the export. It says first what it will take.
    """
    if (client is None) is not given["every"]:
        raise click.UsageError("Name a client, or give --all.")
    from commonplace.tools.transcripts.importing import import_answer, plan_answer

    with opened() as app:
        start = _start_of(app, given["since"])
        importing = _importing(app)
        originals = _found(importing, client, path or "", start)
        zone = app.settings.timezone
        with show_counting("Counting messages"):
            plan = plan_answer(importing.plan(originals, since=start), zone)
        if given["dry_run"]:
            show(plan, as_json, items="clients")
            return
        if plan.facts["messages"] and not as_json:  # else the answer says the same
            click.echo(plan.text, err=True)
        with show_fetching() as progress:
            done = importing.run(originals, since=start, progress=progress)
        with show_counting("Filing words"):
            app.filing.sweep()
        show(import_answer(done, zone), as_json, items="clients")


def _found(
    importing: TranscriptImport, client: str | None, path: str, since: datetime | None
) -> list[Original]:
    if client is None:
        return importing.find_all(since=since)
    return importing.find(client, path=path, since=since)


def _start_of(app: App, since: str | None) -> datetime | None:
    if since is None:
        return None
    from commonplace.core.when.phrases import parse_since

    return parse_since(since, now=app.clock(), zone=app.settings.timezone)


def _importing(app: App) -> TranscriptImport:
    from commonplace.journals.transcripts.copying import Kept
    from commonplace.services.transcripts.importing import TranscriptImport

    transcripts = app.settings.transcripts
    return TranscriptImport(
        app.transcripts.store,
        Kept(tools=transcripts.tools, subagents=transcripts.subagents),
        home=str(home_folder() or ""),
        environ=os.environ,
    )
