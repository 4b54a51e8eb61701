"""From settings to a running HTTP server.

Decides who may use what at most; imports the server and the SDK after every cheap error.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from commonplace.app import App
from commonplace.config import DEFAULT_TOOLSETS, TOOLSETS
from commonplace.core.clock import utc_now
from commonplace.core.owners import owner_folder
from commonplace.doors.http_address import check_access, parse_address
from commonplace.doors.http_gate import Offer
from commonplace.doors.http_limits import Limits
from commonplace.doors.tokens import TokenFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from commonplace.config import Settings


class _Apps:
    def __init__(self, settings: Settings, *, user_home: Path | None) -> None:
        self._settings = settings
        self._user_home = user_home
        self._lock = threading.Lock()
        self._open: dict[str, App] = {}

    @contextmanager
    def using(self, owner: str) -> Iterator[App]:
        with self._lock:
            if owner not in self._open:
                self._open[owner] = self._make(owner)
            app = self._open[owner]
        yield app

    def _make(self, owner: str) -> App:
        settings = replace(self._settings, owner=owner, project=None)
        if owner != self._settings.owner:
            folder = settings.home / "users" / owner_folder(owner)
            settings = replace(
                settings,
                private_user_path=folder / "private",
                private_path=None,
                private_both_path=None,
                chronicle_path=folder / "chronicle" / "chronicle.db",
                notebook_path=None,
            )
        app = App(settings, user_home=self._user_home)
        if self._open:
            other = next(iter(self._open.values()))
            app.encoder = other.encoder
        app.encoder.start()
        return app

    def close(self) -> None:
        for app in self._open.values():
            app.close()


def start(
    settings: Settings,
    address: str,
    *,
    hosts: Sequence[str],
    user_home: Path | None,
    ready: Callable[[str], None],
    limits: Limits | None = None,
) -> None:
    """Serve there until told to stop; ends the process. Raises: Invalid, Denied, Unavailable."""
    where = parse_address(address, hosts)
    tokens = TokenFile(settings.home, clock=utc_now)
    check_access(where, tokens)
    chosen = settings.origins.get("toolsets", "default") != "default"
    offer = Offer(
        owner=settings.owner,
        toolsets=settings.toolsets if chosen else TOOLSETS,
        usual=settings.toolsets if chosen else DEFAULT_TOOLSETS,
        may_write=not settings.read_only,
    )
    served = replace(settings, toolsets=offer.toolsets)
    apps = _Apps(served, user_home=user_home)
    sample = App(served, user_home=user_home).toolsets()
    from commonplace.doors.http import HttpDoor  # noqa: PLC0415  0.8 s, after every cheap error

    HttpDoor(
        served,
        apps=apps,
        sample=sample,
        tokens=tokens,
        offer=offer,
        clock=utc_now,
        limits=limits or Limits(),
    ).run(where, ready=ready)
