"""`commonplace rollup`: what cron calls, and what people call to see what it would do.

Never decides what is due: it parses, calls one verb and shows its answer.
"""

from __future__ import annotations

from pathlib import Path

import click

from commonplace.core.errors import Invalid
from commonplace.doors import entry_point
from commonplace.doors.cli.calls import file_everything, opened
from commonplace.doors.cli.options import common_options
from commonplace.doors.cli.output import show
from commonplace.doors.cli.progress import show_counting


@click.command(short_help="Roll the timeline up: what is due, or a period again.")
@click.option("--due", is_flag=True, help="Roll up all that is due; for cron or a timer.")
@click.option("--rebuild", metavar="PERIOD", help="Make a period again, with all it is made from.")
@click.option("--status", is_flag=True, help="Show what is kept and what is due.")
@click.option("--dry-run", is_flag=True, help="Show what --due would do, and do nothing.")
@click.option("--install", is_flag=True, help="Have the system run --due each hour.")
@click.option("--remove", is_flag=True, help="Take that timer away.")
@common_options
def rollup(as_json: bool, rebuild: str | None, **flags: bool) -> None:
    """Roll the timeline up, from hours to years.

    --due may run at any time, as often as you like, in several processes: the summaries are the
    same. It also deletes the sessions older than transcripts.retain_days. PERIOD is `2026`,
    `2026-10`, `2026-W41`, `2026-10-07` or `2026-10-07 14`. --install makes a systemd user timer, an
    agent of launchd or a line of crontab that runs it each hour, with your settings of now.
    """
    dry_run = flags["dry_run"]
    wanted = [name for name, is_given in flags.items() if is_given and name != "dry_run"]
    wanted += ["rebuild"] if rebuild is not None else []
    if dry_run and wanted != ["due"]:
        wanted.append("dry_run")
    if len(wanted) != 1:
        raise Invalid(
            "One option at a time." if wanted else "No option says what to do.",
            hint="Give --due, --dry-run, --rebuild PERIOD, --status, --install or --remove.",
        )
    if flags["install"] or flags["remove"]:
        verb = entry_point("install_timer" if flags["install"] else "remove_timer")
        show(verb(Path.home()), as_json)
        return
    with opened() as app:
        commands = app.timeline_commands()
        if flags["status"]:
            show(commands.status(), as_json)
        elif dry_run:
            show(commands.dry_run(), as_json)
        elif rebuild is not None:
            show(commands.rebuild(rebuild), as_json)
        else:
            with show_counting("Rolling up") as progress:
                done = commands.roll_up(progress=progress)
            if done.facts["made"]:
                file_everything(app)
            # What a server does as well: nobody else would keep to transcripts.retain_days.
            show(done.noting(app.transcripts.service().retain_as_set()), as_json)
