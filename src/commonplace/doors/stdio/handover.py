"""How the SDK takes over a session, from its first byte or from the front, in the same process.

Never answers anything itself but that the server cannot start: it replays what the front has read,
and drops the answers the client has.
"""

from __future__ import annotations

import json
import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.doors import entry
from commonplace.doors.stdio.front import talk
from commonplace.doors.stdio.snapshot_recorder import forget_snapshot, leave_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from commonplace.config.table import Settings
    from commonplace.doors.stdio.front import FrontedSession

_log = logging.getLogger(__name__)

REPLAY_S = 30.0


class Replay:
    """Gives the SDK what the client sent to the front, and drops the answers the client has.

    Nothing new is read before the SDK has answered it all, so no answer can be taken for another.
    """

    def __init__(self, taken: FrontedSession, *, differs: Callable[[], None]) -> None:
        self._asked = taken.asked
        self._differs = differs
        self._rest = taken.rest
        self._awaited = [answer for _, answer in taken.asked if answer]
        self._answered = threading.Semaphore(0)
        self._held = b""

    def lines(self) -> Iterator[bytes]:
        """What the SDK reads before it reads stdin."""
        for line, answer in self._asked:
            yield line
            if answer:
                self._answered.acquire(timeout=REPLAY_S)
        if self._rest:
            yield self._rest

    def sieve(self, written: bytes) -> bytes:
        """What of the SDK's output is news to the client."""
        if not self._awaited:
            return written
        *lines, self._held = (self._held + written).split(b"\n")
        news = b""
        for line in lines:
            if self._awaited and b'"id":' in line and b'"method":' not in line[:40]:
                if self._awaited.pop(0).rstrip() != line.rstrip():
                    self._differs()
                self._answered.release()
            else:
                news += line + b"\n"
        if not self._awaited:
            news, self._held = news + self._held, b""
        return news


def take_over(
    taken: FrontedSession,
    settings: Settings,
    *,
    user_home: Path | None,
    flags: Mapping[str, object],
    keep: bool,
) -> None:
    """Serve the rest of a session; comes back only with an error, before anything was read.

    flags: of this call, by the keys of settings. keep: whether to leave a snapshot behind.
    """
    from commonplace.app import App
    from commonplace.doors.lifecycle import Lifecycle

    app = App(settings, user_home=user_home)
    lifecycle = Lifecycle(app.close)
    lifecycle.watch(taken.parent)
    toolsets = app.toolsets()

    warm_up = _Once(app.warm_up)
    steps: list[Callable[[], object]] = [warm_up] if settings.preload else []
    if keep and taken.key and not taken.fronted:
        key = taken.key
        steps.insert(0, lambda: leave_snapshot(key, toolsets, settings, flags))
    due = {"tools/call": lambda: _in_background([warm_up])}
    if taken.listed:
        _in_background(steps)
    else:
        due["tools/list"] = lambda: _in_background(steps)
    replay = Replay(taken, differs=lambda: _distrust(taken))
    entry("mcp_over_stdio")(
        toolsets,
        lifecycle=lifecycle,
        due=due,
        before=replay.lines(),
        sieve=replay.sieve if taken.asked else None,
    )


def refuse(taken: FrontedSession, error: CommonplaceError) -> None:
    """Tell a client that was answered so far why it can have no more, until it leaves.

    The snapshot goes: the next start says the same at once, and loudly.
    """
    if taken.key:
        forget_snapshot(taken.key)

    def answer(line: bytes) -> bytes:
        with suppress(ValueError, RecursionError):
            message = json.loads(line)
            if isinstance(message, dict) and "id" in message and "method" in message:
                failure = {"code": -32603, "message": str(error)}
                refusal = {"jsonrpc": "2.0", "id": message["id"], "error": failure}
                return json.dumps(refusal).encode() + b"\n"
        return b""

    rest = taken.rest
    while True:  # a line too long for a request is left out
        talk(answer, parent=taken.parent, rest=rest)
        rest = b""


def _distrust(taken: FrontedSession) -> None:
    _log.warning("A snapshot held other answers than the SDK's, and was removed.")
    if taken.key:
        forget_snapshot(taken.key)


class _Once:
    """Calls a function the first time it is called itself."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function
        self._first = threading.Semaphore(1)

    def __call__(self) -> None:
        if self._first.acquire(blocking=False):
            self._function()


def _in_background(steps: Sequence[Callable[[], object]]) -> None:
    threading.Thread(target=_do, args=(steps,), name="warm-up", daemon=True).start()


def _do(steps: Sequence[Callable[[], object]]) -> None:
    for step in steps:
        try:
            step()
        except CommonplaceError as exc:  # each call tells its client the same
            _log.warning("Nothing was warmed up: %s", exc)
        except Exception:  # noqa: BLE001  a thread's last line: the log says it in our way
            _log.exception("Nothing was warmed up")
