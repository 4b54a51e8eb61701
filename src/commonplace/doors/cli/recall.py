"""`commonplace recall`, `open` and `status`: all journals at once, from a terminal.

Never decides anything about ranking or journals: each command calls one tool and shows its answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from commonplace.doors.cli.calls import load_encoder, opened
from commonplace.doors.cli.options import common_options, page_options, project_option
from commonplace.doors.cli.output import show, show_page
from commonplace.doors.cli.short_refs import ShortRefCommand, find_entry
from commonplace.doors.cli.verb_commands import VerbCommand
from commonplace.verbs.recall.tools import RecallTools

if TYPE_CHECKING:
    from commonplace.app import App

SWEPT = 20_000
"""Up to so many entries a question looks at each first, for edits in place (0.3 s for them all); of
more it files what came and went, and a server or `commonplace status` finds the edits."""


def file_quickly(app: App) -> None:
    """Wait for the encoder, and file what changed, as far as a question may wait for it."""
    load_encoder(app)
    if app.index.counts("").docs <= SWEPT:
        app.filing.sweep()


recall = VerbCommand(
    "recall",
    RecallTools.recall,
    "recall",
    """Ask all journals one question, in words and time.

    A time in the QUERY is read out of it: `why did we leave Postgres last spring`. The answer
    shows the interval it was read as. --journal and --kind may be given several times.
    """,
    argument=click.Argument(["query"], nargs=-1, required=True),
    defaults={"limit": 10, "budget_tokens": 1500},  # a screen, whole
    files=file_quickly,
).command()


@click.command(name="open", cls=ShortRefCommand)
@click.argument("ref")
@page_options
@project_option
def open_ref(ref: str, as_json: bool) -> None:
    """Show any entry whole, with what came before and after it.

    REF is as searches and lists show it, or its beginning; `3` is the third entry of the last list,
    -1 the newest entry.
    """
    with opened() as app:
        tool = app.toolset("recall").tool("open_ref")
        answer = find_entry(app, ref, lambda each: tool.call({"ref": each}))
    show_page(answer, as_json)


@click.command()
@common_options
def status(as_json: bool) -> None:
    """Show what each journal holds."""
    with opened(names_gone=False) as app:
        show(app.recall.status().answer, as_json)
