"""`commonplace reindex`: rebuild the index from the journals.

Never touches a journal: all it deletes is derived.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from commonplace.app.process import ENCODER_LOAD_S
from commonplace.core.ports import Clearing
from commonplace.core.text import counted_entries
from commonplace.core.values import Answer
from commonplace.doors.cli.calls import opened
from commonplace.doors.cli.options import common_options
from commonplace.doors.cli.output import show
from commonplace.doors.cli.progress import show_counting
from commonplace.search.policy import CHUNKS_OF_AN_ENTRY

if TYPE_CHECKING:
    from commonplace.app import App


@click.command()
@common_options
def reindex(as_json: bool) -> None:
    """Rebuild the index from the journals.

    Journals of other projects are indexed as well, where their folders are known and exist.
    """
    with opened() as app:
        app.encoder.start()
        if isinstance(app.index, Clearing):
            app.index.clear()
        with show_counting("Making vectors") as on_progress:
            made = app.filing.catch_up(on_progress)
        show(_answer(app, made), as_json)


def _answer(app: App, made: int) -> Answer:
    encoder = app.encoder.get(ENCODER_LOAD_S)
    counts = app.index.counts(encoder.identity if encoder else "")
    lines = [f"Filed {counted_entries(counts.docs)} and made the vectors of {made}."]
    why = ""
    if encoder is None:
        why = app.encoder.reason()
        lines = [f"Filed {counted_entries(counts.docs)} by their words alone. {why}"]
    elif counts.pending:
        why = "Another process is making vectors now."
        verb = "waits" if counts.pending == 1 else "wait"
        lines.append(f"{counted_entries(counts.pending)} still {verb} for a vector. {why}")
    cut = app.filing.cut
    if cut:
        verb = "is" if cut == 1 else "are"
        parts = f"first {CHUNKS_OF_AN_ENTRY} parts"
        lines.append(
            f"{counted_entries(cut)} {verb} long: meaning finds the {parts}, words all of it."
        )
    facts = {
        "entries": counts.docs,
        "encoded": made,
        "pending": counts.pending,
        "cut": cut,
        "why": why,
    }
    return Answer(text="\n".join(lines), facts=facts)
