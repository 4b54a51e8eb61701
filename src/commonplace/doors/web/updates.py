"""What tells an open page that something new was written, by whatever process.

Asks each source for its mark once a second while a page is open, once for all pages of an owner:
that is what a search asks for too, and it reads no entry.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from commonplace.core.errors import CommonplaceError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from commonplace.doors.owner_apps import OwnerApps

EVERY_S = 1.0
PING_EVERY = 15
"""Rounds after which a line is sent that says nothing: a browser that is gone is noticed by it."""

_NEW = b"event: new\ndata: \n\n"
_NOTHING = b": open\n\n"


class LiveMarks:
    """Follows the marks of owners' sources, for any number of open pages."""

    def __init__(
        self,
        apps: OwnerApps,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._apps = apps
        self._monotonic = monotonic
        self._sleep = sleep
        self._seen: dict[str, tuple[float, tuple[str, ...]]] = {}
        self._one = anyio.Lock()

    async def events(
        self, owner: str, *, is_open: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[bytes]:
        """Server-sent events: `new` after each write, and a comment now and then in between.

        The first is `new` as well unless nothing was written since these marks were last read: what
        was written after the page was made, or while its connection was lost, would not be shown.

        Args:
            owner: Whose sources are followed.
            is_open: Called every second; the events end once it returns False.
        """
        _, last = self._seen.get(owner, (0.0, None))
        before = await self._marks(owner)
        yield _NEW if before != last else _NOTHING
        rounds = 0
        while True:
            await self._sleep(EVERY_S)
            if not await is_open():
                return
            rounds += 1
            now = await self._marks(owner)
            if now != before:
                before = now
                yield _NEW
            elif rounds % PING_EVERY == 0:
                yield _NOTHING

    async def _marks(self, owner: str) -> tuple[str, ...]:
        """The marks of an owner's sources, asked for once however many pages want them."""
        async with self._one:
            at, marks = self._seen.get(owner, (-EVERY_S, ()))
            if self._monotonic() - at >= EVERY_S / 2:
                marks = await anyio.to_thread.run_sync(self._read, owner)
                self._seen[owner] = (self._monotonic(), marks)
            return marks

    def _read(self, owner: str) -> tuple[str, ...]:
        marks = []
        with self._apps.using(owner) as app:
            for source in app.sources():
                try:
                    marks.append(f"{source.name} {source.mark()}")
                except CommonplaceError:
                    marks.append(source.name)  # the page itself says what is wrong
        return tuple(marks)
