"""Keeps account of who used what: tools and pages over HTTP, with the refs that they touched.

Never notes what was asked or answered, and never fails a call.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

from commonplace.core.access_files import FOLDER, Access, AccessFiles
from commonplace.core.errors import CommonplaceError
from commonplace_server.background import Background

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from commonplace.core.clock import Clock
    from commonplace_server.http.calls import FinishedCall
    from commonplace_server.tokens import ReadsTokens

_log = logging.getLogger(f"commonplace.{__name__}")
_EVERY_S = 3600.0


class AccessLog:
    """Notes each call with its owner's accesses. Thread-safe; see `http.calls.ObservesCalls`.

    Args:
        folder_of: An owner's folder.
        tokens: Their labels.
        clock: Gives the time.
    """

    def __init__(
        self, folder_of: Callable[[str], Path], *, tokens: ReadsTokens, clock: Clock
    ) -> None:
        self._folder_of = folder_of
        self._tokens = tokens
        self._clock = clock
        self._warned = ""

    def __call__(self, call: FinishedCall) -> None:
        """Note it; what cannot be written is logged, once while it lasts."""
        try:
            self._note(call)
            self._warned = ""
        except CommonplaceError as exc:
            if str(exc) != self._warned:
                _log.error("Accesses are not noted: %s", exc)
            self._warned = str(exc)
        except Exception:  # noqa: BLE001  the call is over, and its answer waits
            _log.exception("An access was not noted")

    def _note(self, call: FinishedCall) -> None:
        owner, token_id = call.owner, call.token_id
        token = self._tokens.get(token_id)
        AccessFiles(self._folder_of(owner) / FOLDER).add(
            Access(
                at=self._clock(),
                owner=owner,
                token=token_id,
                label="" if token is None else token.label,
                member=call.member,
                tool=call.tool,
                outcome=call.outcome,
                refs=tuple(dict.fromkeys(call.refs())),
            )
        )


class AccessUpkeep(Background):
    """Removes accesses that are older than they are kept, every hour.

    Args:
        users: The folder of all owners' folders.
        days: How long they are kept.
        clock: Gives the time.
    """

    def __init__(self, users: Path, *, days: float, clock: Clock) -> None:
        super().__init__("accesses")
        self._users = users
        self._days = days
        self._clock = clock

    def drop(self) -> None:
        """Remove what is over now; what fails is logged."""
        day = (self._clock() - timedelta(days=self._days)).date()
        for folder in sorted(self._users.glob(f"*/{FOLDER}")):
            try:
                AccessFiles(folder).drop_before(day)
            except CommonplaceError as exc:
                _log.warning("Old accesses were not removed: %s", exc)
            except Exception:  # noqa: BLE001  a thread's last line: the others have their turn
                _log.exception("Old accesses were not removed")

    def _run(self) -> None:
        self._repeat(self.drop, every_s=_EVERY_S)
