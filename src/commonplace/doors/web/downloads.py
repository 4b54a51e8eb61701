"""Sends a file to a browser, as long as who asked for it is let in.

Never leaves the file behind, however the server ends.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from starlette.responses import StreamingResponse

from commonplace.core.errors import CommonplaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from commonplace.doors.web.visit import Download

_PART = 2**20
_ASKED_EVERY_S = 0.5


class _CutShort(Exception):
    """What is left of a file is not sent."""


class _FileResponse(StreamingResponse):
    """A file on its way; the browser sees that it is cut short, since no end is announced."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(_CutShort):  # the server closes the connection
            await super().__call__(scope, receive, send)


def send_file(
    made: Download,
    *,
    may_go_on: Callable[[], bool],
    monotonic: Callable[[], float] = time.monotonic,
) -> Response:
    """Send a file after unlinking it.

    Args:
        made: The file.
        may_go_on: Whether who asked is let in still. Asked before it begins, since it may have
            been long in the making, and again and again: what is left is not sent where it says no.
        monotonic: Gives seconds.
    """
    file = made.path.open("rb")
    with suppress(OSError):  # where an open file cannot be unlinked, it is once it was sent
        made.path.unlink()
        made.close()
    return _FileResponse(
        _parts(file, made, may_go_on, monotonic),
        media_type=made.media_type,
        headers={
            "content-length": str(os.fstat(file.fileno()).st_size),
            "content-disposition": f'attachment; filename="{made.name}"',
        },
    )


def _parts(
    file: BinaryIO, made: Download, may_go_on: Callable[[], bool], monotonic: Callable[[], float]
) -> Iterator[bytes]:
    asked: float | None = None
    try:
        with file:
            while part := file.read(_PART):
                now = monotonic()
                if asked is None or now - asked >= _ASKED_EVERY_S:
                    asked, is_let_in = now, False
                    with suppress(CommonplaceError):  # the next page says why that cannot be read
                        is_let_in = may_go_on()
                    if not is_let_in:
                        raise _CutShort
                yield part
    finally:
        made.close()
