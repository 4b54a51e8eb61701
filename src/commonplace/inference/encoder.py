"""Owns the encoder: texts in, vectors out, in batches that keep time and memory small.

Never keeps or logs a text, and never decides where weights come from.
"""

from __future__ import annotations

import atexit
import threading
from typing import TYPE_CHECKING

import numpy as np

from commonplace.core.errors import Invalid
from commonplace.core.text import well_formed
from commonplace.inference.graph import Graph, open_graph
from commonplace.inference.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from commonplace.core.values import Vector
    from commonplace.inference.models import Weights

CHUNK_TOKENS = 256
"""The most tokens of a chunk, special ones and the passage prefix included."""

BATCH_TOKENS = 512
"""Tokens of a batch, padding included. More is not faster on a CPU (measured: 256 to 2,048 are
alike, from texts of 8 tokens to texts of 500) and costs 30 MB at 1,024, 90 MB at 2,048."""


EXIT_WAIT_S = 2.0
"""The most that the end of the process waits for the batch under way."""


class OnnxEncoder:
    """An encoder on onnxruntime; see `core.ports.Encoder`. Needs no torch.

    A query never waits for passages: those take turns among themselves, one batch at a time.
    """

    def __init__(self, weights: Weights, graph: Graph, tokens: Tokens) -> None:
        self._profile = weights.profile
        self._identity = weights.identity
        self._graph = graph
        self._tokens = tokens
        self._chunk_tokens = CHUNK_TOKENS - tokens.count(weights.profile.passage_prefix)
        self._turn = threading.Lock()
        # The end of the process takes the last turn: a background thread in the middle of native
        # code would abort it, one that waits for its turn does not.
        atexit.register(self._turn.acquire, timeout=EXIT_WAIT_S)

    @property
    def identity(self) -> str:
        """Name, dimensions, pooling, normalisation, and the first 8 hex of the weights' sha256."""
        return self._identity

    @property
    def dimensions(self) -> int:
        """Numbers in a vector."""
        return self._profile.dimensions

    def split(self, text: str, *, most: int | None = None) -> tuple[tuple[int, int], ...]:
        """(start, end) of overlapping chunks of <= 256 tokens, in characters; () for a blank text.

        Together they hold every character that is not space.
        """
        return self._tokens.split(well_formed(text), limit=self._chunk_tokens)

    def count_tokens(self, text: str) -> int:
        """Tokens of a text of moderate length, special ones not included."""
        return self._tokens.count(well_formed(text))

    def encode_passages(self, texts: Sequence[str]) -> Vector:
        """(n, dimensions) float32, in the order given; longer texts are cut at 512 tokens.

        A text without words gives the vector of the special tokens alone. Raises Unavailable.
        """
        prefix = self._profile.passage_prefix
        rows = [self._tokens.ids(prefix + well_formed(text)) for text in texts]
        vectors = np.empty((len(rows), self.dimensions), np.float32)
        for batch in batches([len(row) for row in rows]):
            with self._turn:
                vectors[batch] = self._graph.vectors([rows[number] for number in batch])
        return vectors

    def encode_query(self, text: str) -> Vector:
        """(dimensions,) float32. Raises Unavailable."""
        row = self._tokens.ids(self._profile.query_prefix + well_formed(text))
        vector: Vector = self._graph.vectors([row])[0]
        return vector


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
            f"The weights in {weights.tokenizer.parent} are broken: no tokenizer can be read.",
            hint="Run `commonplace model fetch`.",
        ) from exc
    encoder = OnnxEncoder(weights, graph, tokens)
    encoder.encode_query("")  # the first run allocates, and shows a model of another shape
    return encoder
