"""`commonplace web`: the pages of this machine's own owner, for browsers of this machine alone."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

import anyio

from commonplace.app import App
from commonplace.core.clock import utc_now
from commonplace.core.values import Filter
from commonplace.doors.connections import ConnectionLimits
from commonplace.doors.host_names import LOOPBACK_NAMES, HostNames
from commonplace.doors.interrupt import INTERRUPTED
from commonplace.doors.last_examination import examine_if_due
from commonplace.doors.lifecycle import Lifecycle
from commonplace.doors.uvicorn_server import (
    end_at_stop_signals,
    listen,
    make_server,
    on_stop_signals,
)
from commonplace.doors.web.application import OneApp, WebApplication
from commonplace.doors.web.guard import LinkEntrance
from commonplace.doors.web.render import environment
from commonplace.doors.web.table import row_of

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path

    from commonplace.config.table import Settings

_log = logging.getLogger(__name__)

HOST = "127.0.0.1"
FINISH_S = 2.0
LIMITS = ConnectionLimits(most=200, of_a_peer=100, kept=50)

OPENING_S = 0.3
"""How long the link waits until the files are open that the first page reads."""

FIRST_PAGE_S = 5.0
"""How long the encoder waits to be loaded for the first page, which does not need it."""

AFTER_IT_S = 0.2
"""How long it then waits for the requests that follow the first page."""

QUIET_S = 20.0
"""How long no page must have been asked for before the doctor examines, which takes seconds."""

AGAIN_S = 600.0
"""How often it is checked whether an examination is due."""


def start(
    settings: Settings, port: int, *, user_home: Path | None, ready: Callable[[str], None]
) -> None:
    """Serve the pages until SIGTERM or Ctrl-C, then end the process. Raises: Unavailable."""
    opened = listen(HOST, port, option="--port")
    app = App(settings, user_home=user_home)
    opening = threading.Thread(target=_open_first, args=(app,), name="open", daemon=True)
    opening.start()
    anyio.run(_serve, app, opened, opening, ready)


async def _serve(
    app: App, opened: socket.socket, opening: threading.Thread, ready: Callable[[str], None]
) -> None:
    port = opened.getsockname()[1]
    settings = app.settings
    entrance = LinkEntrance(settings.owner, may_write=not settings.read_only)
    names = HostNames(hosts=LOOPBACK_NAMES, is_loopback=True)
    pages = WebApplication(
        apps=OneApp(app),
        entrance=entrance,
        knows_host=names.knows,
        clock=utc_now,
        screen=app.shared.screen,
    )
    threading.Thread(target=_prepare, args=(app, pages), name="warm-up", daemon=True).start()
    server = make_server(pages, limits=LIMITS, finish_s=FINISH_S)
    status = 0

    def stop(number: int) -> None:
        nonlocal status
        status = number
        server.should_exit = True

    on_stop_signals(lambda: stop(0), at_ctrl_c=lambda: stop(INTERRUPTED))
    opening.join(OPENING_S)
    ready(f"http://{HOST}:{port}/enter?key={entrance.new_key()}")
    await server.serve([opened])
    end_at_stop_signals()
    Lifecycle(app.close).leave(status)


def _open_first(app: App) -> None:
    """Open the files that the first page reads, while the server and the browser start."""
    with suppress(Exception):  # the page says what is wrong
        environment().get_template("today.html")
        import_module(row_of("home").handler.partition(":")[0])
        service = app.recall.service()
        service.list_in(None, within=service.written(Filter()), limit=1)


def _prepare(app: App, pages: WebApplication) -> None:
    """Load the encoder after the first page; have the doctor examine once a day, in a quiet moment.

    Runs in a thread until the process ends.
    """
    if pages.first_answer.wait(FIRST_PAGE_S):
        time.sleep(AFTER_IT_S)
    app.warm_up()
    while True:
        while (quiet := pages.quiet_s()) < QUIET_S:
            time.sleep(QUIET_S - quiet)
        try:
            examine_if_due(app)
        except Exception:  # noqa: BLE001  the thread's last line: the pages go on without it
            _log.exception("The doctor could not examine")
        time.sleep(AGAIN_S)
