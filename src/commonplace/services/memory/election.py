"""Whether a worker's encoder is the one that vectors are made with, as all workers agree.

Never makes a vector.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.search import policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from commonplace.core.memory import Upkeep
    from commonplace.core.ports import Encoder, EncoderSlot

_log = logging.getLogger(__name__)


class Charge:
    """Whether this worker's encoder is the one that vectors are made with. Thread-safe."""

    def __init__(
        self,
        upkeep: Upkeep,
        slot: EncoderSlot,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._upkeep = upkeep
        self._slot = slot
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._takers = 0
        self._chosen = ""
        self._told: tuple[str, float] | None = None

    @contextmanager
    def taken(self) -> Iterator[None]:
        """A stretch of work, at the end of which another encoder may take over at once."""
        with self._lock:
            self._takers += 1
        try:
            yield
        finally:
            with self._lock:
                self._takers -= 1
                if not self._takers and self._told is not None:
                    self._told = None
                    # Told or not, it is held for a minute more at the most.
                    with suppress(CommonplaceError):
                        self._upkeep.leave()

    def find(self) -> Encoder | None:
        """The encoder, if it is in charge; tells the others now and then that it is there.

        None once no stretch of work is left: what tidies up may end after it. Raises: Unavailable.
        """
        encoder = self._slot.get()
        if encoder is None:
            return None
        identity = encoder.identity
        with self._lock:
            if not self._takers:
                return None
            now = self._monotonic()
            told = self._told
            if told is None or told[0] != identity or now - told[1] >= policy.BACKLOG_LEASE_S / 4:
                chosen = self._upkeep.work_with(identity, seconds=policy.BACKLOG_LEASE_S)
                self._told = (identity, now)
                if chosen != self._chosen:
                    _tell_chosen(chosen, identity)
                self._chosen = chosen
            return encoder if self._chosen == identity else None


def _tell_chosen(chosen: str, mine: str) -> None:
    if chosen == mine:
        _log.info("Vectors are made with %s.", mine)
        return
    _log.warning(
        "Another worker is at work, and vectors are made with its model %s: this one, with %s,"
        " files words alone until none of those is left.",
        chosen,
        mine,
    )
