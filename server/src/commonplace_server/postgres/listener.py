"""Hears what other servers of a database say on its channels, on a connection of its own.

Promises nothing: whoever listens reads for itself too, since a connection may be lost without a
word.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

from commonplace_server.background import Background
from commonplace_server.postgres.database import parse_address

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_AGAIN_S = 1.0
_TURN_S = 0.25
_log = logging.getLogger(f"commonplace.{__name__}")


class Listener(Background):
    """Calls what is to be called with each word that comes on a channel.

    Args:
        url: Of the database.
        heard: What is called, by channel.
        missed: Called when words may have been missed: at the beginning, and after each loss.
    """

    def __init__(
        self,
        url: str,
        heard: Mapping[str, Callable[[str], None]],
        *,
        missed: Callable[[], None],
    ) -> None:
        super().__init__("listener")
        self._conninfo, self._name, _ = parse_address(url)
        self._heard = heard
        self._missed = missed
        self._is_lost = False

    def _run(self) -> None:
        self._repeat(self._listen, every_s=_AGAIN_S)

    def _listen(self) -> None:
        """Listen until the connection is lost, or the end."""
        try:
            with psycopg.connect(self._conninfo, autocommit=True) as conn:
                for channel in self._heard:
                    conn.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                self._missed()
                self._is_lost = False
                while not self._stopping.is_set():
                    for word in conn.notifies(timeout=_TURN_S):
                        self._heard[word.channel](word.payload)
        except psycopg.Error:
            self._missed()
            if not self._is_lost:
                _log.warning("%s is not listened to: what changes is read each second", self._name)
            self._is_lost = True
        except Exception:  # noqa: BLE001  a thread's last line: it begins anew
            self._missed()
            _log.exception("What was heard could not be used")
