"""What is done in a thread of its own, beside whatever else the process does, until it is stopped.

Never holds up the end of the process.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Background(ABC):
    """Something that goes on in a thread of its own. name: the thread's."""

    def __init__(self, name: str) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin; called once."""
        self._thread.start()

    def stop(self, wait_s: float) -> None:
        """Begin nothing more, and wait at most so long for what is under way."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(wait_s)

    @abstractmethod
    def _run(self) -> None:
        """Go on until `_stopping` is set."""

    def _repeat(self, act: Callable[[], object], *, every_s: float) -> None:
        """Do this again and again, so many seconds after it was done, until `_stopping` is set."""
        while not self._stopping.is_set():
            act()
            self._stopping.wait(every_s)
