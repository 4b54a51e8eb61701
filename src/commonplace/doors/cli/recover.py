"""`commonplace recover`: notes of this project that are gone come back from their copies.

Never decides what is gone: the private journal does.
"""

from __future__ import annotations

import click

from commonplace.doors.cli.calls import opened
from commonplace.doors.cli.frame import show
from commonplace.doors.cli.options import common_options


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
        service = app.private.service()
        answer = forget_answer(service) if forget else recover_answer(service.journal.recovery)
        app.brief.refresh()
        show(answer, as_json)
