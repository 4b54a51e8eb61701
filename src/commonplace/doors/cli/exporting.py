"""`commonplace export`, and `commonplace import` of what it made.

Never decides what is exported or imported: it parses, calls and shows.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace.core.values import Answer
from commonplace.doors.cli.acts import noting_import
from commonplace.doors.cli.call_settings import home_folder
from commonplace.doors.cli.calls import opened, start_of
from commonplace.doors.cli.options import (
    Respelled,
    beginning_options,
    common_options,
    journals_option,
)
from commonplace.doors.cli.output import show
from commonplace.doors.cli.progress import show_counting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.app import App


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

    with _opened_of(owner) as app:
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
    with _opened_of(owner, makes=not dry_run) as app:
        with show_counting("Importing entries") as progress:
            if dry_run:
                done = app.exporting().take(path, writes=False, progress=progress)
            else:
                with noting_import(app, "") as record:
                    done = app.exporting().take(path, record=record, progress=progress)
        if not dry_run:
            with show_counting("Filing words"):
                app.filing.sweep()
    said = "Would be imported" if dry_run else "Imported"
    text = f"{said}: {_counted(done.journals)}."
    if done.journals and done.new and not any(done.new.values()):
        text = "All of this export was imported before."
    facts = {"owner": done.owner, "journals": done.journals, "new": done.new, "dry_run": dry_run}
    show(Answer(text=text, facts=facts), as_json)


@contextmanager
def _opened_of(owner: str | None, *, makes: bool = False) -> Iterator[App]:
    """The app of this call's owner or of another one; closed at the end.

    Args:
        owner: The other owner's name; None for this call's own.
        makes: Whether an owner may be named who has no journals yet.
    """
    from commonplace.app.apps import Apps
    from commonplace.core.errors import NotFound
    from commonplace.core.owner_folders import parse_owner

    with opened() as app:
        if owner is None or parse_owner(owner) == app.settings.owner:
            yield app
            return
        owner = parse_owner(owner)
        # A database does not say who has a memory in it.
        may_be_known = makes or app.settings.database.url
        if not may_be_known and not os.path.isdir(app.shared.folder_of(owner)):
            raise NotFound(
                f"Nothing is kept of the owner {owner!r}.",
                hint="The folders in `users`, in Commonplace's home, are named after the owners.",
            )
        apps = Apps(app.settings, user_home=home_folder(), shared=app.shared)
        try:
            with apps.using(owner) as other:
                other.finish_forgetting()
                yield other
        finally:
            apps.close()


def _counted(journals: dict[str, int]) -> str:
    found = [f"{count:,} in {name}" for name, count in journals.items() if count]
    return ", ".join(found) or "no entry"
