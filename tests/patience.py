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


def until(is_so: Callable[[], object]) -> None:
    """Wait for what another thread or process does; a failure where it does not come."""
    ends = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < ends, "it did not come"
        threading.Event().wait(0.01)
