"""`commonplace web`: the pages of this machine's own owner, for browsers of this machine alone."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import anyio

from commonplace.app import App
from commonplace.core.clock import utc_now
from commonplace.doors.host_names import LOOPBACK_NAMES, HostNames
from commonplace.doors.interrupt import INTERRUPTED
from commonplace.doors.lifecycle import Lifecycle
from commonplace.doors.uvicorn_server import (
    end_at_stop_signals,
    listen,
    make_server,
    on_stop_signals,
)
from commonplace.doors.web.application import OneApp, WebApplication
from commonplace.doors.web.guard import LinkEntrance

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path

    from commonplace.config.table import Settings

HOST = "127.0.0.1"
FINISH_S = 2.0


def start(
    settings: Settings, port: int, *, user_home: Path | None, ready: Callable[[str], None]
) -> None:
    """Serve the pages until SIGTERM or Ctrl-C, then end the process.

    Args:
        settings: Of the machine's own user.
        port: To listen on; 0 for any that is free.
        user_home: The home folder; None for a user who has none.
        ready: Called with the link that lets one browser in.

    Raises:
        Unavailable: Another process listens there.
    """
    opened = listen(HOST, port, option="--port")
    app = App(settings, user_home=user_home)
    threading.Thread(target=app.warm_up, name="warm-up", daemon=True).start()
    anyio.run(_serve, app, opened, ready)


async def _serve(app: App, opened: socket.socket, ready: Callable[[str], None]) -> None:
    port = opened.getsockname()[1]
    settings = app.settings
    entrance = LinkEntrance(settings.owner, may_write=not settings.read_only)
    names = HostNames(hosts=LOOPBACK_NAMES, is_loopback=True)
    pages = WebApplication(
        apps=OneApp(app),
        entrance=entrance,
        knows_host=names.knows,
        clock=utc_now,
        cookie=f"commonplace-{port}",
    )
    server = make_server(pages, connections=200, keep_alive_s=75, finish_s=FINISH_S)
    status = 0

    def stop(number: int) -> None:
        nonlocal status
        status = number
        server.should_exit = True

    on_stop_signals(lambda: stop(0), at_ctrl_c=lambda: stop(INTERRUPTED))
    ready(f"http://{HOST}:{port}/enter?key={entrance.new_key()}")
    await server.serve([opened])
    end_at_stop_signals()
    Lifecycle(app.close).leave(status)
