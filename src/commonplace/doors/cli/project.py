"""`commonplace project` and `recover`: which project this is, and its notes that are gone.

Never decides what is gone: the private journal does.
"""

from __future__ import annotations

from pathlib import Path

import click

from commonplace.core.errors import Invalid
from commonplace.doors.cli.calls import opened
from commonplace.doors.cli.options import common_options
from commonplace.doors.cli.output import show


@click.command()
@click.option("--join", metavar="CLONE", help="Make this clone a part of another one's project.")
@click.option("--leave", is_flag=True, help="Make this clone a project by itself again.")
@common_options
def project(join: str | None, leave: bool, as_json: bool) -> None:
    """Show which project this folder belongs to.

    Subfolders and work trees of a git repository are one project: notes of it lie in the main work
    tree. Clones are one only once you join them.
    """
    if join and leave:
        raise Invalid("--join and --leave go one at a time.", hint="Leave one of them out.")
    with opened() as app:
        verbs = app.project()
        if verbs is None:
            raise Invalid(
                "No project is known here.", hint="Go to its folder, or name it: --project."
            )
        if join:
            show(verbs.join(Path(join).absolute()), as_json)
            return
        show(verbs.leave() if leave else verbs.show(), as_json)


@click.command()
@click.option("--forget", is_flag=True, help="Remove the copies instead: the notes stay gone.")
@common_options
def recover(forget: bool, as_json: bool) -> None:
    """Bring back notes of this project that are gone.

    `git clean -fdx` deletes a project's private journal, so the home has a copy of each note. What
    is gone is written where it was, and nothing is written over.
    """
    from commonplace.verbs.private.recovery import forget_answer, recover_answer

    with opened(names_gone=False) as app:
        amender = app.private.amender()
        found = app.private.files.recovery
        answer = forget_answer(amender, found) if forget else recover_answer(found)
        app.brief.refresh()
        show(answer, as_json)
