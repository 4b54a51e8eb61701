"""Owns the loading of an encoder in the background, and the sentence why there is none.

Never raises into a search, and never imports the model's libraries on the caller's thread.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.inference.encoder.profiles import Missing, Weights, trust

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from commonplace.core.ports import Encoder

_LOG = logging.getLogger(__name__)

RETRY_S = 3.0
"""After a failure the weights are looked at again when somebody asks, this often at most."""

FETCH_RETRY_S = 60.0
"""The same where looking for them itself failed: a download that is not answered takes its time."""

EXIT_WAIT_S = 10.0
"""The most that the end of the process waits for a load, of 0.3 s on a machine that is not busy."""

# One load at a time. A daemon thread inside native code when the interpreter goes away aborts the
# process: its end waits for the load under way (0.3 s), and lets no other begin.
_LOADS = threading.Lock()
atexit.register(_LOADS.acquire, timeout=EXIT_WAIT_S)

_NOT_STARTED = "The encoder has not been started."
_LOADING = "The encoder is still loading."
_CLOSED = "The encoder is closed."


def load(weights: Weights) -> Encoder:
    """Load the encoder of these weights; the import of its libraries is part of the price."""
    from commonplace.inference.encoder.encoder import load_encoder

    return load_encoder(weights)


class BackgroundEncoder:
    """An encoder that is loaded by a daemon thread; see `core.ports.EncoderSlot`. Thread-safe.

    Args:
        find: Where the weights are now; asked on the thread, so it may fetch.
        home: Keeps the hash of weights that are trusted on first use.
        shows_paths: Whether the reason why there is none names the folder that was searched.
    """

    def __init__(
        self,
        find: Callable[[], Weights | Missing],
        *,
        home: Path,
        load: Callable[[Weights], Encoder] = load,
        retry_s: float = RETRY_S,
        shows_paths: bool = True,
    ) -> None:
        self._find = find
        self._home = home
        self._load = load
        self._retry_s = retry_s
        self._shows_paths = shows_paths
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._encoder: Encoder | None = None
        self._reason = _NOT_STARTED
        self._tried: Weights | Missing | None = None
        self._ended_at: float | None = None
        self._closed = False

    def start(self) -> None:
        """Begin loading in the background; after a failure, again if the weights have changed."""
        with self._changed:
            if self._closed or self._thread is not None or self._encoder is not None:
                return
            if self._ended_at is None:
                self._reason = _LOADING
            self._thread = threading.Thread(target=self._run, name="encoder", daemon=True)
            self._thread.start()

    def get(self, timeout_s: float = 0.0) -> Encoder | None:
        """The encoder, waiting at most so long for one that is being loaded; never raises."""
        if self._due():
            self.start()
        with self._changed:
            self._changed.wait_for(lambda: self._thread is None or self._closed, timeout_s)
            return None if self._closed else self._encoder

    def reason(self) -> str:
        """Why there is none now, as one sentence; empty when there is one."""
        with self._changed:
            return self._reason

    def is_loading(self) -> bool:
        """Whether one is on its way, so that waiting helps."""
        with self._changed:
            return self._thread is not None and not self._closed

    def close(self, timeout_s: float = 0.0) -> None:
        """Let every waiter go; wait at most so long for a load under way. May be called twice."""
        with self._changed:
            self._closed = True
            self._encoder = None
            self._reason = _CLOSED
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._thread is None, timeout_s)

    def _due(self) -> bool:
        """Whether an earlier attempt failed and it is time to look at the weights again."""
        with self._changed:
            if self._ended_at is None or self._encoder is not None:
                return False
            wait_s = self._retry_s if self._tried is not None else FETCH_RETRY_S
            return time.monotonic() - self._ended_at >= wait_s

    def _run(self) -> None:
        encoder, reason = None, ""
        try:
            encoder, reason = self._attempt()
        except CommonplaceError as exc:
            _LOG.exception("The encoder was not loaded.")
            reason = exc.located if self._shows_paths else exc.message
        except Exception as exc:  # noqa: BLE001  a thread's last line: words must go on without it
            _LOG.exception("The encoder was not loaded.")
            reason = f"The encoder was not loaded ({type(exc).__name__}); the log says more."
        with self._changed:
            self._thread = None
            self._ended_at = time.monotonic()
            if not self._closed:
                self._encoder, self._reason = encoder, reason
            self._changed.notify_all()

    def _attempt(self) -> tuple[Encoder | None, str]:
        last, self._tried = self._tried, None
        found = self._find()
        with self._changed:
            self._tried = found
            if self._closed or found == last:
                return None, self._reason
            if isinstance(found, Weights):
                self._reason = _LOADING
        if isinstance(found, Missing):
            _LOG.warning("%s", found.located)
            return None, found.located if self._shows_paths else found.reason
        with _LOADS:
            encoder = self._load(found)
        trust(found, self._home)
        return encoder, ""
