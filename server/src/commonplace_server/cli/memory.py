"""`commonplace memory migrate` and `memory worker`: the tables of Postgres, and who files them."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from commonplace.core.values import Answer
from commonplace.doors.cli.call_settings import settings
from commonplace.doors.cli.calls import load_encoder, opened
from commonplace.doors.cli.options import json_option
from commonplace.doors.cli.output import say, show
from commonplace.doors.cli.progress import show_counting

if TYPE_CHECKING:
    from collections.abc import Iterator


_WHOLE = "The tables are as they should be."


@click.command(short_help="Create or update the tables of Postgres.")
@click.option(
    "--check", is_flag=True, help="Show what would be applied; exit with 1 if anything would be."
)
@json_option
def migrate(check: bool, as_json: bool) -> None:
    """Create or update the tables in the database of COMMONPLACE_DATABASE_ADMIN_URL."""
    from commonplace_server.wiring import schema
    from commonplace_server.wiring.nearest import update_nearest

    if check:
        pending = schema.list_pending(settings())
        lines = [f"Would apply {name}." for name in pending] or [_WHOLE]
        show(Answer(text="\n".join(lines), facts={"pending": pending}), as_json)
        raise SystemExit(1 if pending else 0)
    done = schema.migrate(settings())
    owner = settings().database.admin_url
    assert owner is not None  # else the tables were not made
    made = update_nearest(owner)
    lines = [f"Applied {name}." for name in done] or [_WHOLE]
    facts = {"applied": done, "indexes": made}
    show(Answer(text="\n".join([*lines, *made]), facts=facts), as_json)


@click.command(short_help="File what is saved in Postgres, of all users.")
@click.option("--once", is_flag=True, help="End when nothing is left to file.")
@click.option("--rebuild", is_flag=True, help="File everything again, as after the index was lost.")
@json_option
def worker(once: bool, rebuild: bool, as_json: bool) -> None:
    """File words and vectors of what users save in Postgres, and roll up timelines there.

    Where COMMONPLACE_DATABASE_URL is set too, it also deletes what is old or has expired. Runs
    until it is asked to end. Several may run at once; if one dies, the others take over its work.
    """
    from commonplace_server.wiring.addresses import address_in
    from commonplace_server.wiring.memories import open_worker
    from commonplace_server.wiring.nearest import updating_nearest

    with opened() as app, open_worker(app.shared, app.clock) as working:
        load_encoder(app)
        if why := app.encoder.reason():
            say(f"Words alone are filed: {why}", err=True)
        if rebuild:
            working.renew()
        if once:
            with show_counting("Filing") as progress:
                filed = working.run_once(progress=progress)
            show(Answer(text=f"Filed {filed}.", facts={"filed": filed}), as_json)
            return
        admin_url = settings().database.admin_url
        if admin_url is not None:
            admin_url = address_in(settings(), "admin_url")
        with _until_ended() as stop, updating_nearest(admin_url):
            working.run(stop)


@contextmanager
def _until_ended() -> Iterator[threading.Event]:
    """What is set when the process is asked to end: the batch in hand comes to its end."""
    stop = threading.Event()
    before = [
        (number, signal.signal(number, lambda *_: stop.set()))
        for number in (signal.SIGTERM, signal.SIGINT)
    ]
    try:
        yield stop
    finally:
        for number, handler in before:
            signal.signal(number, handler)
