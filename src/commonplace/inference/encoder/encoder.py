"""Owns the encoder: texts in, vectors out, in batches that keep time and memory small.

Never keeps or logs a text, and never decides where weights come from.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import weakref
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from commonplace.core.errors import Invalid, Unavailable
from commonplace.core.text import well_formed
from commonplace.inference.encoder.onnx import Graph, count_threads, open_graph
from commonplace.inference.encoder.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from commonplace.core.values import Vector
    from commonplace.inference.encoder.profiles import Weights

CHUNK_TOKENS = 256
"""The most tokens of a chunk, special ones and the passage prefix included."""

BATCH_TOKENS = 256
"""Tokens of a batch, padding included. More is not faster on a CPU (measured: 256 to 2,048 are
alike, from texts of 8 tokens to texts of 500) and costs 30 MB at 1,024, 90 MB at 2,048."""

ASIDE_NICENESS = 5
"""By how much the threads give way that encode what nobody waits for: beside one of them a thread
of a write or a search, of this process or another, has three quarters of a core."""

EXIT_WAIT_S = 2.0
"""The most that the end of the process waits for the batch under way."""


class OnnxEncoder:
    """An encoder on onnxruntime; see `core.ports.Encoder`. Needs no torch.

    Each batch runs in one thread, and as many run at once as there are threads: that takes an
    eighth less of the processor than a batch over all of them. A query waits for no passages, and
    passages wait for none that are encoded aside.
    """

    def __init__(self, weights: Weights, graph: Graph, tokens: Tokens) -> None:
        self._profile = weights.profile
        self.identity = weights.identity
        """Name, dimensions, pooling, normalisation, and the first 8 hex of the weights' sha256."""
        self._graph = graph
        self._tokens = tokens
        self._chunk_tokens = CHUNK_TOKENS - tokens.count(weights.profile.passage_prefix)
        self._waited_for = _Runner(graph)
        self._aside = _Runner(graph, niceness=ASIDE_NICENESS)

    @property
    def dimensions(self) -> int:
        """Numbers in a vector."""
        return self._profile.dimensions

    def split(self, text: str, *, most: int | None = None) -> tuple[tuple[int, int], ...]:
        """(start, end) of overlapping chunks of <= 256 tokens, in characters; () for a blank text.

        Together they hold every character that is not space. most: so many of the first.
        """
        return self._tokens.split(well_formed(text), limit=self._chunk_tokens, most=most)

    def count_tokens(self, text: str) -> int:
        """Tokens of a text of moderate length, special ones not included."""
        return self._tokens.count(well_formed(text))

    def encode_passages(self, texts: Sequence[str]) -> Vector:
        """(n, dimensions) float32, in the order given; longer texts are cut at 512 tokens.

        A text without words gives the vector of the special tokens alone. Raises Unavailable.
        """
        return self._waited_for.vectors(self._rows(texts), self.dimensions)

    def encode_in_background(self, texts: Sequence[str]) -> Vector:
        """As `encode_passages`, in threads that give way to all others. Raises Unavailable."""
        return self._aside.vectors(self._rows(texts), self.dimensions)

    def encode_query(self, text: str) -> Vector:
        """(dimensions,) float32. Raises Unavailable."""
        row = self._tokens.ids(self._profile.query_prefix + well_formed(text))
        vector: Vector = self._graph.vectors([row])[0]
        return vector

    def encoded(self) -> tuple[int, float]:
        """What it has done; see `core.ports.CountsEncoding`."""
        return self._graph.encoded()

    def _rows(self, texts: Sequence[str]) -> list[list[int]]:
        prefix = self._profile.passage_prefix
        return [self._tokens.ids(prefix + well_formed(text)) for text in texts]


class _Runner:
    """Runs batches through a graph, as many at once as it has threads, for all who ask."""

    def __init__(self, graph: Graph, *, niceness: int = 0) -> None:
        self._graph = graph
        self._niceness = niceness
        self._threads = count_threads()
        self._turns = threading.Semaphore(self._threads)
        self._ending = False
        with _RUNNERS_LOCK:
            _RUNNERS.add(self)

    def vectors(self, rows: Sequence[list[int]], dimensions: int) -> Vector:
        """(n, dimensions) float32, in the order given. Raises: what the graph raises."""
        vectors = np.empty((len(rows), dimensions), np.float32)
        made = list(batches([len(row) for row in rows]))
        left = iter(made)  # of which no batch is given to two threads
        if len(made) == 1 and not self._niceness:
            self._run(rows, left, vectors)
            return vectors
        failures: list[BaseException] = []

        def run() -> None:
            try:
                self._give_way()
                self._run(rows, left, vectors)
            except BaseException as exc:  # noqa: BLE001  raised again in the thread that waits
                failures.append(exc)
                deque(left, maxlen=0)

        threads = [
            threading.Thread(target=run, name="encoding", daemon=True)
            for _ in range(min(self._threads, len(made)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return vectors

    def _run(self, rows: Sequence[list[int]], left: Iterator[list[int]], vectors: Vector) -> None:
        """Run what is left, batch by batch, until this or another thread has run the last."""
        while True:
            if self._ending:
                threading.Event().wait()  # for ever: the process is about to end
            try:
                with self._turns:
                    batch = next(left, None)
                    if batch is None:
                        return
                    vectors[batch] = self._graph.vectors([rows[number] for number in batch])
            except Unavailable:
                if not self._ending:
                    raise

    def _give_way(self) -> None:
        # Elsewhere a priority is that of a whole process, which cannot be raised again.
        if self._niceness and sys.platform == "linux":
            me = threading.get_native_id()
            with suppress(OSError):
                nice = os.getpriority(os.PRIO_PROCESS, me) + self._niceness
                os.setpriority(os.PRIO_PROCESS, me, nice)

    def end(self) -> None:
        """Break off what runs and let nothing begin; wait at most `EXIT_WAIT_S` for it."""
        self._ending = True
        self._graph.break_off()
        deadline = time.monotonic() + EXIT_WAIT_S
        for _ in range(self._threads):
            self._turns.acquire(timeout=max(deadline - time.monotonic(), 0.0))


# Weak references: the memory of an encoder that is no longer used is given back.
_RUNNERS: weakref.WeakSet[_Runner] = weakref.WeakSet()
_RUNNERS_LOCK = threading.Lock()


@atexit.register
def _end_runners() -> None:
    """Take every turn: a background thread in native code would abort the process at its end.

    One that waits for its turn does not.
    """
    with _RUNNERS_LOCK:
        runners = list(_RUNNERS)
    for runner in runners:
        runner.end()


def batches(lengths: Sequence[int], *, budget: int = BATCH_TOKENS) -> Iterator[list[int]]:
    """Indexes of rows in batches of like length, longest first, within a budget of padded tokens.

    A row longer than the budget is a batch of its own. Every index comes once.
    """
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda n: -lengths[n]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > budget:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def load_encoder(weights: Weights) -> OnnxEncoder:
    """The encoder of these weights, ready, in about 0.2 s. Raises Invalid or Unavailable."""
    graph = open_graph(weights)
    try:
        tokens = Tokens(weights.tokenizer, max_tokens=weights.profile.max_tokens)
    except MemoryError:
        raise
    except Exception as exc:  # the library raises bare Exception for a file it cannot read
        raise Invalid(
            "The weights in {place} are broken: no tokenizer can be read.",
            hint="Run `commonplace model fetch`.",
            place=weights.tokenizer.parent,
        ) from exc
    # The first run allocates, and shows a model of another shape. No end of the process breaks it
    # off, as it does the runs of an encoder: it belongs to the load, which the end waits for.
    graph.vectors([tokens.ids("")])
    return OnnxEncoder(weights, graph, tokens)
