"""Waits until an index holds all that was written, its vectors too.

Never files or encodes by itself: the filing does, or the worker of a database.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from commonplace.core.errors import Invalid, Unavailable
from commonplace.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.core.ports import EncoderSlot, OwnerIndex
    from commonplace.search.filing.port import Refreshing

_PAUSE_S = 0.02
_AT_ONCE_S = 1.0


def wait_until_found(
    filing: Refreshing,
    index: OwnerIndex,
    encoder: EncoderSlot,
    timeout_s: float,
    *,
    monotonic: Callable[[], float] = time.monotonic,
    pause: Callable[[float], object] = time.sleep,
) -> None:
    """Return once words and meaning find all that was written, by any process, when this began.

    pause: lets so many seconds pass between two looks.

    Raises:
        Invalid: A time below 0.
        Unavailable: There is no model, or something still waits at the end; the message says what.
    """
    if not timeout_s >= 0:
        raise Invalid(f"Invalid timeout_s: {timeout_s}.", hint="Use 0 or more seconds.")
    end = monotonic() + timeout_s
    ready = encoder.get(timeout_s)
    while True:
        left = max(end - monotonic(), 0.0)
        behind = filing.refresh(left)
        if ready is None:
            why = " ".join([encoder.reason(), *behind])
            raise Unavailable(f"Nothing is found by meaning yet: {why}", hint="Words find it.")
        filing.settle(ready.identity, min(left, _AT_ONCE_S))
        pending = index.counts(ready.identity).pending
        if not pending and not behind:
            return
        if left <= 0:
            waiting = counted(pending, "entry waits for its vector", "entries wait for theirs")
            why = " ".join([*([f"{waiting}."] if pending else []), *behind])
            raise Unavailable(
                f"Not all is found by meaning after {timeout_s:g} s: {why}",
                hint="Wait longer; words find what is filed.",
            )
        pause(min(_PAUSE_S, left))
