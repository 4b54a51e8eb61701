"""`commonplace export`, and `commonplace import` of what it made.

Never decides what is exported or imported: it parses, calls and shows.
"""

from __future__ import annotations

from pathlib import Path

import click

from commonplace.core.values import Answer
from commonplace.doors.cli.acts import noting_import
from commonplace.doors.cli.call_settings import settings
from commonplace.doors.cli.calls import opened_of, start_of
from commonplace.doors.cli.options import (
    Respelled,
    beginning_options,
    common_options,
    journals_option,
)
from commonplace.doors.cli.output import show
from commonplace.doors.cli.progress import show_counting


@click.command()
@click.argument("target", metavar="DIR|FILE.zip", type=click.Path(path_type=Path))
@journals_option(
    cls=Respelled, former=("--journals",), help="Only this journal. May be given again."
)
@click.option(
    "--owner", metavar="NAME", help="Export the journals of another owner on this machine."
)
@beginning_options
@common_options
def export(
    target: Path,
    journals: tuple[str, ...],
    owner: str | None,
    as_json: bool,
    *,
    when: str | None,
    since: str | None,
) -> None:
    """Write all journals as Markdown and JSON lines.

    Markdown is for people, JSON lines are for programs. The same journals always give the same
    bytes. Secrets of known shapes are replaced by marks. `commonplace import` reads an export into
    empty journals. Nothing is ever overwritten.
    """
    from commonplace.app.backup import left_out_of_exports
    from commonplace.verbs.backup.copies import EXPORT

    with opened_of(owner) as app:
        left_out = left_out_of_exports(app)
        wanted = [x.strip() for each in journals for x in each.split(",") if x.strip()]
        with show_counting("Exporting entries") as progress:
            made = app.exporting().export(
                target, journals=wanted, since=start_of(app, when, since), progress=progress
            )
        app.copies().note(EXPORT, str(target.absolute()))
    lines = [f"Exported to {target}: {_counted(made.journals)}."]
    lines += [f"Not included: {each}" for each in left_out]
    facts = {
        "path": str(target.absolute()),
        "owner": made.owner,
        "journals": made.journals,
        "not_included": left_out,
    }
    show(Answer(text="\n".join(lines), facts=facts), as_json)


def import_export(path: Path, owner: str | None, as_json: bool, *, dry_run: bool) -> None:
    """Import an export into empty journals."""
    from commonplace.app.wiring.memory.wiring import memories_of

    with opened_of(owner, may_be_new=True) as app:
        is_new = owner is not None and not memories_of(app.shared).is_known(app.settings.owner)
        with show_counting("Importing entries") as progress:
            done = app.exporting().take(
                path,
                writes=not dry_run,
                recording=noting_import(app, "", own=settings()),
                progress=progress,
            )
        if not dry_run:
            with show_counting("Filing words"):
                app.filing.sweep()
    said = "Would be imported" if dry_run else "Imported"
    text = f"{said}: {_counted(done.journals)}."
    if done.journals and done.new and not any(done.new.values()):
        text = "All of this export was imported before."
    elif is_new:
        text += f" Of {owner!r} nothing was kept until now."
    facts = {"owner": done.owner, "journals": done.journals, "new": done.new, "dry_run": dry_run}
    show(Answer(text=text, facts=facts), as_json)


def _counted(journals: dict[str, int]) -> str:
    found = [f"{count:,} in {name}" for name, count in journals.items() if count]
    return ", ".join(found) or "no entry"
