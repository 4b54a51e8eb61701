"""The wiring of what only the tables' owner may do: an index of the nearest for each large user.

Never waited for: until it is made, a large user's searches are exact, and slower.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace_server.background import Background
from commonplace_server.index.nearest import maintain_nearest
from commonplace_server.postgres.address import parse_address
from commonplace_server.postgres.database import connect
from commonplace_server.postgres.errors import TranslatedPostgres

if TYPE_CHECKING:
    from collections.abc import Iterator

UPDATE_EVERY_S = 3600.0
"""How often a worker that knows the owner's address checks which users have become large."""

MAKING_S = 6 * 3600.0
"""The longest that the making of one index may take; 100,000 vectors take a minute."""

_log = logging.getLogger(f"commonplace.{__name__}")


def update_nearest(url: str) -> list[str]:
    """Make or drop these indexes, as the tables' owner; a sentence for each thing done.

    Raises: Unavailable, Denied.
    """
    conninfo, name, place = parse_address(url)
    with TranslatedPostgres(name, place), connect(conninfo, deadline_s=MAKING_S) as conn:
        return maintain_nearest(conn)


@contextmanager
def updating_nearest(url: str | None, *, every_s: float = UPDATE_EVERY_S) -> Iterator[None]:
    """Update them in a thread, every so often; None for no address: nothing is done."""
    if url is None:
        yield
        return
    updating = _Updating(url, every_s)
    updating.start()
    try:
        yield
    finally:
        # What is under way goes on in the server; one that is broken off is made again.
        updating.stop(0.0)


class _Updating(Background):
    def __init__(self, url: str, every_s: float) -> None:
        super().__init__("nearest")
        self._url = url
        self._every_s = every_s

    def _run(self) -> None:
        self._repeat(self._update, every_s=self._every_s)

    def _update(self) -> None:
        try:
            for line in update_nearest(self._url):
                _log.info("%s", line)
        except CommonplaceError as exc:
            _log.warning("Indexes of large users were not updated: %s", exc)
        except Exception:  # noqa: BLE001  a thread's last line: the next look may go well
            _log.exception("Indexes of large users were not updated.")
