"""`commonplace reindex`: build the index anew from the journals.

Never touches a journal: all it deletes is derived.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from commonplace.core.values import Answer
from commonplace.doors.cli.frame import common_options, show
from commonplace.doors.cli.private import ENCODER_WAIT_S, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def progress(title: str, unit: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on stderr that is told (done, still to do); None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415  on a terminal only
    from rich.progress import Progress  # noqa: PLC0415  as above

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=None)

        def tell(done: int, left: int) -> None:
            bar.update(task, completed=done, total=done + left, description=f"{title} ({unit})")

        yield tell


@click.command()
@common_options
def reindex(as_json: bool) -> None:
    """Build the index anew from the journals."""
    with opened() as app:
        app.encoder.start()
        app.index.clear()
        with progress("Making vectors", "entries") as tell:
            made = app.filing.catch_up(tell)
        encoder = app.encoder.get(ENCODER_WAIT_S)
        counts = app.index.counts(encoder.identity if encoder else "")
        text = f"Filed {counts.docs} entries and made the vectors of {made}."
        if counts.pending:
            text += f"\n{counts.pending} wait for their vector: {app.encoder.reason()}".rstrip(": ")
        facts = {"entries": counts.docs, "encoded": made, "pending": counts.pending}
        show(Answer(text=text, facts=facts), as_json)
