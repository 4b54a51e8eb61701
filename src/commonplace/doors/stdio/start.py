"""How `commonplace mcp` starts: at once from the built lists, or by reading all settings.

Answers nothing itself. Imports nothing but small builtins before the first call.
"""

from __future__ import annotations

import os
import threading

from commonplace.doors.lifecycle import Lifecycle
from commonplace.doors.stdio.built_lists import find_quick_start
from commonplace.doors.stdio.loop import StdioLoop, announce

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, NoReturn

    from commonplace.app import App
    from commonplace.config.table import Settings
    from commonplace.doors.mcp_offer import McpOffer
    from commonplace.doors.stdio.prompt_listener import PromptListener

PRELOAD_AFTER_S = 0.1
"""How long after the tools were listed the app is loaded: what a client lists next comes first."""


def serve_at_once(argv: Sequence[str], *, parent: int) -> None:
    """Serve, if the lists of this start were built; return if the settings must be read first."""
    try:
        cwd = os.getcwd()
    except OSError:  # the working folder is gone: who reads all settings says so
        return
    found = find_quick_start(argv, os.environ, cwd)
    if found is not None:
        opened = OpenedApp(found.flags)
        _serve(opened, found.lists, parent=parent, preload=found.preload)


def serve(
    settings: Settings, flags: Mapping[str, object], *, parent: int, user_home: Any
) -> NoReturn:
    """Serve with settings that were already read."""
    opened = OpenedApp(flags)
    offer = opened.open(settings, user_home)
    _serve(opened, offer.lists, parent=parent, preload=settings.preload)


def _serve(opened: OpenedApp, lists: dict[str, Any], *, parent: int, preload: bool) -> NoReturn:
    announce()
    lifecycle = Lifecycle(opened.close)
    lifecycle.watch(parent)
    on_listed = opened.preload if preload else lambda: None
    StdioLoop(lists, opened.load, lifecycle=lifecycle, on_listed=on_listed).run()


class OpenedApp:
    """The app behind a session, which is loaded when it is first asked for."""

    def __init__(self, flags: Mapping[str, object]) -> None:
        self._flags = flags
        self._loading = threading.Lock()
        self._offer: McpOffer | None = None
        self._app: App | None = None
        self._prompts: PromptListener | None = None
        self._warming = threading.Lock()  # taken once, by the first who warms up

    def load(self) -> McpOffer:
        """The offer; encoder and index go on loading in a thread. Raises: RefusedRequest."""
        from commonplace.core.errors import CommonplaceError
        from commonplace.doors.protocol import INTERNAL_ERROR, RefusedRequest

        try:
            with self._loading:
                offer = self._offer or self._read()
        except CommonplaceError as exc:
            raise RefusedRequest(INTERNAL_ERROR, str(exc), exc.facts) from exc
        if self._warming.acquire(blocking=False):
            threading.Thread(target=self._warm_up, name="warm-up", daemon=True).start()
        return offer

    def _read(self) -> McpOffer:
        """Read the settings, and open the app with them."""
        from pathlib import Path

        from commonplace.config.settings import read_settings, user_home

        home = user_home()
        settings = read_settings(flags=self._flags, cwd=Path.cwd(), home=home)
        return self.open(settings, home)

    def open(self, settings: Settings, user_home: Any) -> McpOffer:
        """Open the app with these settings; what it offers."""
        import sys

        from commonplace.app import App
        from commonplace.doors.logs import set_up_logging
        from commonplace.doors.mcp_offer import McpOffer
        from commonplace.doors.stdio.prompt_listener import PromptListener

        set_up_logging(settings, stderr=sys.stderr)
        app = App(settings, user_home=user_home)
        self._app, self._prompts = app, PromptListener(app)
        self._offer = McpOffer(
            app.toolsets(),
            screen=app.shared.screen,
            structured=settings.structured,
            elsewhere=app.toolsets_with,
        )
        return self._offer

    def preload(self) -> None:
        """Begin to load app, encoder and index: a first search then takes a tenth of the time."""
        timer = threading.Timer(PRELOAD_AFTER_S, self._load_quietly)
        timer.daemon = True
        timer.start()

    def _load_quietly(self) -> None:
        from contextlib import suppress

        from commonplace.doors.protocol import RefusedRequest

        with suppress(RefusedRequest):  # each call says the same to its client
            self.load()

    def _warm_up(self) -> None:
        import logging

        from commonplace.core.errors import CommonplaceError

        log = logging.getLogger(__name__)
        assert self._app is not None
        assert self._prompts is not None
        try:
            self._app.warm_up()
            self._prompts.start()
        except CommonplaceError as exc:  # each call says the same to its client
            log.warning("Nothing was warmed up: %s", exc)
        except Exception:
            log.exception("Nothing was warmed up")

    def close(self) -> None:
        """Close what was opened."""
        if self._prompts is not None:
            self._prompts.close()
        if self._app is not None:
            self._app.close()
