"""How the SDK takes over a session from the front, or serves it from its first byte.

Answers nothing itself, except that the server cannot start: it replays to the SDK what the front
has read, and drops the answers that the client has already.
"""

from __future__ import annotations

import json
import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.doors import entry_point
from commonplace.doors.stdio.front import answer_lines
from commonplace.doors.stdio.snapshot_recorder import delete_snapshot, write_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from commonplace.config.table import Settings
    from commonplace.doors.stdio.front import FrontedSession

_log = logging.getLogger(__name__)

REPLAY_S = 30.0


class Replay:
    """Gives the SDK what the client sent to the front, and drops the answers the client has.

    Nothing new is read before the SDK has answered all of it, so no answer is mistaken for another.

    Args:
        session: What the front has read and answered.
        differs: Called where the SDK answers other than the front did.
    """

    def __init__(self, session: FrontedSession, *, differs: Callable[[], None]) -> None:
        self._exchanges = session.exchanges
        self._differs = differs
        self._unread = session.unread
        self._awaited = [answer for _, answer in session.exchanges if answer]
        self._answered = threading.Semaphore(0)
        self._held = b""

    def lines(self) -> Iterator[bytes]:
        """Yield what the SDK reads before it reads stdin."""
        for line, answer in self._exchanges:
            yield line
            if answer:
                self._answered.acquire(timeout=REPLAY_S)
        if self._unread:
            yield self._unread

    def filter_output(self, written: bytes) -> bytes:
        """Take what the SDK writes; return the part of it that the client does not have yet."""
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
    session: FrontedSession,
    settings: Settings,
    *,
    user_home: Path | None,
    flags: Mapping[str, object],
    keep: bool,
) -> None:
    """Serve the rest of a session; returns only by an error, before anything was read.

    Where the settings say `preload`, encoder and index are loaded once the tools were listed: a
    first `recall` then takes 0.12 s instead of 4.0 s, on two cores that are busy with other work.

    Args:
        session: What the front has read and answered, if anything.
        settings: Of this call.
        user_home: The home folder; None for a user who has none.
        flags: The command line's options, by the keys of settings.
        keep: Whether to keep a snapshot for the next session.
    """
    from commonplace.app import App
    from commonplace.doors.lifecycle import Lifecycle
    from commonplace.doors.stdio.prompt_listener import PromptListener

    app = App(settings, user_home=user_home)
    prompts = PromptListener(app)

    def close() -> None:
        prompts.close()
        app.close()

    def load() -> None:
        app.warm_up()
        prompts.start()

    lifecycle = Lifecycle(close)
    lifecycle.watch(session.parent)
    toolsets = app.toolsets()

    warm_up = _Once(load)
    steps: list[Callable[[], object]] = [warm_up] if settings.preload else []
    if keep and session.key and not session.fronted:
        key = session.key
        steps.insert(0, lambda: write_snapshot(key, toolsets, settings, flags))
    due = {"tools/call": lambda: _in_background([warm_up])}
    if session.tools_listed:
        _in_background(steps)
    else:
        due["tools/list"] = lambda: _in_background(steps)
    replay = Replay(session, differs=lambda: _remove_snapshot(session))
    entry_point("mcp_over_stdio")(
        toolsets,
        screen=app.shared.screen,
        structured=settings.structured,
        lifecycle=lifecycle,
        due=due,
        replayed=replay.lines(),
        output_filter=replay.filter_output if session.exchanges else None,
        elsewhere=app.toolsets_with,
    )


def refuse(session: FrontedSession, error: CommonplaceError) -> None:
    """Answer every further request with why the server cannot start, until the client leaves.

    The snapshot is deleted, so that the next start fails at once, where the client can see it.

    Args:
        session: A session that the front has begun.
        error: Why the server cannot start.
    """
    if session.key:
        delete_snapshot(session.key)

    def answer(line: bytes) -> bytes:
        with suppress(ValueError, RecursionError):
            message = json.loads(line)
            if isinstance(message, dict) and "id" in message and "method" in message:
                failure = {"code": -32603, "message": str(error)}
                refusal = {"jsonrpc": "2.0", "id": message["id"], "error": failure}
                return json.dumps(refusal).encode() + b"\n"
        return b""

    rest = session.unread
    while True:  # a line too long for a request is left out
        answer_lines(answer, parent=session.parent, rest=rest)
        rest = b""


def _remove_snapshot(session: FrontedSession) -> None:
    _log.warning("A snapshot held other answers than the SDK's, and was removed.")
    if session.key:
        delete_snapshot(session.key)


class _Once:
    """A function that calls another one the first time only. Thread-safe."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function
        self._first = threading.Semaphore(1)

    def __call__(self) -> None:
        if self._first.acquire(blocking=False):
            self._function()


def _in_background(steps: Sequence[Callable[[], object]]) -> None:
    threading.Thread(target=_run_steps, args=(steps,), name="warm-up", daemon=True).start()


def _run_steps(steps: Sequence[Callable[[], object]]) -> None:
    for step in steps:
        try:
            step()
        except CommonplaceError as exc:  # each call says the same to its client
            _log.warning("Nothing was warmed up: %s", exc)
        except Exception:  # noqa: BLE001  a thread's last line: the log says it in our way
            _log.exception("Nothing was warmed up")
