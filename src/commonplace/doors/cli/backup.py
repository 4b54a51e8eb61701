"""`commonplace backup` and `commonplace restore`: the whole memory in one file, and back.

Never writes over a file or a journal.
"""

from __future__ import annotations

import os
from pathlib import Path

import click

from commonplace.core.values import Answer
from commonplace.doors.cli.call_settings import home_folder
from commonplace.doors.cli.calls import opened
from commonplace.doors.cli.options import json_option
from commonplace.doors.cli.output import show


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--with-tokens",
    is_flag=True,
    help="Include the record of tokens for HTTP; once restored, they are accepted again.",
)
@json_option
def backup(file: Path, with_tokens: bool, as_json: bool) -> None:
    """Copy all journals into one new FILE, at any time.

    Other programs may write meanwhile. FILE is a zip. It holds everything that cannot be made
    again: every journal, the private notes of every project that is known, your settings, and the
    key that the marks of secrets are made with. Index and model are left out, and notes that a
    project's git repository holds itself. It is read back before it gets its name; a file that
    exists is never written over.
    """
    from commonplace.app.backup import backup_places, left_out_of_backups
    from commonplace.core.clock import utc_now
    from commonplace.doors.installed import installed_version
    from commonplace.verbs.backup.copies import BACKUP
    from commonplace.verbs.backup.making import make_backup

    with opened() as app:
        made = make_backup(
            file,
            backup_places(app),
            scratch_folders=app.scratch_folders,
            clock=utc_now,
            program=installed_version(),
            user_home=app.user_home,
            with_tokens=with_tokens,
            not_included=left_out_of_backups(app),
        )
        app.copies().note(BACKUP, str(file.absolute()))
    size = os.path.getsize(file)
    lines = [f"Backed up: {len(made.files)} files, {size:,} bytes, in {file}."]
    lines += [f"Not included: {each}" for each in made.not_included]
    facts = {
        "file": str(file.absolute()),
        "bytes": size,
        "files": len(made.files),
        "not_included": made.not_included,
    }
    show(Answer(text="\n".join(lines), facts=facts), as_json)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def restore(file: Path, as_json: bool) -> None:
    """Restore everything that `commonplace backup` put into FILE.

    The whole file is checked first, and nothing that exists is written over. Each part goes to the
    place that your settings name; if you have no settings, those in FILE are restored and used.
    Paths in FILE below the home that was backed up are changed to this one; others are listed.
    Private notes go into their project's folder if it is there, else once the project is opened.
    """
    from commonplace.app.restore import restore_here

    done = restore_here(file, user_home=home_folder())
    made = done.manifest
    text = "\n".join(
        [
            f"Restored: {len(made.files)} files of {made.made_at}.",
            *(f"{each.root}: {each.path}" for each in done.places),
            *(f"Notes of a project put back: {each}" for each in done.projects),
            *(f"Changed to this home: {each}" for each in done.moved),
            *(f"Not changed, outside of the home that was backed up: {x}" for x in done.outside),
            "The index is built by the next search, or by `commonplace reindex`.",
        ]
    )
    facts = {
        "made_at": made.made_at,
        "files": len(made.files),
        "places": {each.root: str(each.path) for each in done.places},
        "moved": done.moved,
        "outside": done.outside,
        "projects": [str(each) for each in done.projects],
    }
    show(Answer(text=text, facts=facts), as_json)
