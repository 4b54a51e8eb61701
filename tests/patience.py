"""How long a test waits for what must come before it gives up: minutes, and never a measure.

A machine under load is no fault of the product. A test whose subject is a bound says so beside it.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_S = 300.0


def until(is_so: Callable[[], object], what: str, *, within_s: float = PATIENCE_S) -> None:
    """Wait for what another thread or process does.

    Args:
        is_so: Whether it has come.
        what: What is waited for, in the words of the failure: "the second writer to begin".
        within_s: How long it may take, seconds.
    """
    ends = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < ends, f"waited {within_s:g} s for {what}, which did not come"
        threading.Event().wait(0.01)
