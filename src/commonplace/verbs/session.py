"""What one client's session keeps between its calls, where a process serves several of them.

Set by a door around each call. Where none is set, as over stdio, the process is the session.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

_Kept = TypeVar("_Kept")
_SESSION: ContextVar[Session | None] = ContextVar("session", default=None)


class Session:
    """One client's session: whose it is, and what of it is kept. Thread-safe."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self._lock = threading.Lock()
        self._kept: dict[type, Any] = {}

    def kept(self, kind: type[_Kept]) -> _Kept:
        """The one of this kind that belongs to this session; made when it is first asked for."""
        with self._lock:
            if kind not in self._kept:
                self._kept[kind] = kind()
            found: _Kept = self._kept[kind]
            return found

    def note_read(self, section: str, version: str) -> None:
        """Tell all who serve this session which version of an overview was shown in it."""

    def last_read(self, section: str) -> str:
        """The version that any of them showed last; empty where none of them did."""
        return ""


def current_session() -> Session | None:
    """The session whose call this is; None where the process serves one client alone."""
    return _SESSION.get()


@contextmanager
def within(session: Session) -> Iterator[None]:
    """What is called inside, and in threads begun with a copy of its context, is this session's."""
    before = _SESSION.set(session)
    try:
        yield
    finally:
        _SESSION.reset(before)
