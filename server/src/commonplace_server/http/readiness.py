"""Whether this server is alive, and fit to be sent calls: what proxies and orchestrators ask.

Never holds up an answer, and names no owner, no host and no place: anybody may ask.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from commonplace_server.background import Background

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from commonplace.core.ports import EncoderSlot

HEALTH = "/healthz"
READY = "/readyz"

WATCHED_S = 60.0
"""Who asked within that time whether the server is ready learns that it will not be for long."""

_SAID_ALONE = {"settings"}
"""What is said, and takes no server out of service: it may be so at all of them."""

_EVERY_S = 1.0
_LATE_S = 1.5
_OK = 200
_NOT_READY = 503

_log = logging.getLogger(f"commonplace.{__name__}")

State: TypeAlias = Literal["serving", "draining", "stopping"]
"""draining: calls are answered, and no more are wanted. stopping: calls are refused."""


class DatabaseWatch(Background):
    """Looks each second whether the database can be used, so that nobody who asks waits for it.

    Args:
        look: Says what is wrong, by what was looked at; empty where nothing is.
        monotonic: Gives seconds.
    """

    def __init__(
        self,
        look: Callable[[], Mapping[str, str]],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__("readiness")
        self._look = look
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._found: Mapping[str, str] = {"database": "not asked yet"}
        self._begun_at: float | None = None

    def find(self) -> Mapping[str, str]:
        """What was found a second ago; that the database is silent while a look takes too long."""
        with self._lock:
            begun_at, found = self._begun_at, self._found
        if begun_at is not None and self._monotonic() - begun_at > _LATE_S:
            return {**found, "database": "does not answer"}
        return found

    def look(self) -> None:
        """Look now; what is not fit is logged, once while it lasts."""
        with self._lock:
            self._begun_at = self._monotonic()
        try:
            found = self._look()
        except Exception:  # noqa: BLE001  a thread's last line: the next look may do
            _log.exception("Whether the database is ready could not be found out")
            found = {"database": "not looked at"}
        with self._lock:
            self._begun_at, before, self._found = None, self._found, found
        wrong = {name: said for name, said in found.items() if said}
        if wrong and found != before:
            state = "Not ready" if wrong.keys() - _SAID_ALONE else "Ready, but see `doctor`"
            _log.warning("%s: %s", state, "; ".join(f"{x}: {said}" for x, said in wrong.items()))

    def _run(self) -> None:
        self._repeat(self.look, every_s=_EVERY_S)


class Readiness:
    """Whether the server is alive, and whether it is ready. Used in one event loop.

    Args:
        find_problem: Why no request can be admitted; empty where they can.
        encoder: Said alone: words are found without it.
        find_database: What is wrong with a database, by what was looked at; nothing without one.
        monotonic: Gives seconds.
    """

    def __init__(
        self,
        *,
        find_problem: Callable[[], str],
        encoder: EncoderSlot,
        find_database: Callable[[], Mapping[str, str]] = dict,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._find_problem = find_problem
        self._encoder = encoder
        self._find_database = find_database
        self._monotonic = monotonic
        self._asked_at: float | None = None
        self.state: State = "serving"

    @property
    def is_watched(self) -> bool:
        """Whether anybody asked lately, who is to hear of the end before it comes."""
        return self._asked_at is not None and self._monotonic() - self._asked_at < WATCHED_S

    def answer(self, path: str) -> tuple[int, Mapping[str, Any]] | None:
        """The status and the facts for a path; None where it is none of these."""
        if path == HEALTH:
            return _OK, {"status": "ok" if self.state == "serving" else self.state}
        if path != READY:
            return None
        self._asked_at = self._monotonic()
        found = self._find_database()
        # Where a database is, the tokens lie in it.
        is_cut_off = self._find_problem() or found.get("database")
        needed = {"tokens": "cannot be read" if is_cut_off else "", **found}
        is_fit = not any(said for name, said in needed.items() if name not in _SAID_ALONE)
        status = ("ready" if is_fit else "not ready") if self.state == "serving" else self.state
        said = {name: wrong or "ok" for name, wrong in needed.items()}
        facts = {"status": status, **said, "encoder": self._describe_encoder()}
        return _OK if status == "ready" else _NOT_READY, facts

    def _describe_encoder(self) -> str:
        if self._encoder.is_loading():
            return "loading"
        return "none" if self._encoder.reason() else "loaded"
