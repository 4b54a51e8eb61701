"""Fakes that work: an encoder, a clock, a slot and a source, for tests of whatever uses one.

Never imported by the product itself.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from commonplace.core.text import fold_name, text_hash
from commonplace.core.values import (
    Doc,
    Drop,
    Encoded,
    Put,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from commonplace.core.ports import Encoder, OwnerIndex
    from commonplace.core.values import Change, Since, Vector

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

_WORD = re.compile(r"\S+")
_DIMENSIONS = 64
_CHUNK, _OVERLAP = 256, 32


class HashingEncoder:
    """An encoder without a model: words have directions, a text points along the sum of its own.

    The same text gives the same vector, texts that share words are alike, others are nearly at
    right angles. Case, underscores and runs of space do not matter.
    """

    identity = f"hashing:{_DIMENSIONS}:bag:l2:00000000"
    dimensions = _DIMENSIONS

    def split(self, text: str, *, most: int | None = None) -> tuple[tuple[int, int], ...]:
        """Spans of at most 256 words, overlapping by 32; one span for a short text."""
        words = [match.span() for match in _WORD.finditer(text)]
        if len(words) <= _CHUNK:
            return ((0, len(text)),)
        starts = range(0, len(words) - _OVERLAP, _CHUNK - _OVERLAP)
        chunks = (words[start : start + _CHUNK] for start in starts)
        return tuple((chunk[0][0], chunk[-1][1]) for chunk in islice(chunks, most))

    def count_tokens(self, text: str) -> int:
        """Words are its tokens."""
        return len(_WORD.findall(text))

    def encode_passages(self, texts: Sequence[str]) -> Vector:
        """(n, 64) float32, each of length 1."""
        if not texts:
            return np.zeros((0, _DIMENSIONS), dtype=np.float32)
        return np.stack([self.encode_query(text) for text in texts])

    def encode_query(self, text: str) -> Vector:
        """(64,) float32 of length 1."""
        total = np.zeros(_DIMENSIONS, dtype=np.float32)
        for word in re.findall(r"\w+", fold_name(text)) or [""]:
            digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=_DIMENSIONS)
            direction = np.frombuffer(digest.digest(), dtype=np.uint8).astype(np.float32) - 127.5
            total += direction / np.linalg.norm(direction)
        vector: Vector = total / np.linalg.norm(total)
        return vector


class FrozenClock:
    """A clock that stands still until it is advanced; called, it gives an aware UTC instant."""

    def __init__(self, at: datetime = START) -> None:
        self.at = at

    def __call__(self) -> datetime:
        """The instant it stands at."""
        return self.at

    def seconds(self) -> float:
        """The same as seconds since the epoch, for clocks that count so."""
        return self.at.timestamp()

    def advance(self, seconds: float) -> datetime:
        """Go on by so many seconds, backwards if negative; the new instant."""
        self.at += timedelta(seconds=seconds)
        return self.at


class ReadySlot:
    """An encoder slot that holds what it was given: an encoder, or a reason for none."""

    def __init__(self, encoder: Encoder | None = None, *, reason: str = "") -> None:
        self.encoder = encoder
        self._reason = reason or "No encoder is configured."

    def start(self) -> None:
        """Nothing is to be loaded."""

    def get(self, timeout_s: float = 0.0) -> Encoder | None:
        """The encoder, at once."""
        return self.encoder

    def reason(self) -> str:
        """Why there is none; empty when there is one."""
        return "" if self.encoder is not None else self._reason

    def is_loading(self) -> bool:
        """Nothing is on its way."""
        return False

    def close(self, timeout_s: float = 0.0) -> None:
        """Nothing is under way."""


class OneSource:
    """A source over a list of docs, which a test changes as another program would.

    prefix: its refs begin so; to be given where several sources share an index.
    """

    cheap_mark = False
    exact_mark = False

    def __init__(
        self, name: str = "test:one", docs: Iterable[Doc] = (), *, prefix: str = ""
    ) -> None:
        self.name = name
        self.prefix = prefix
        self.docs = {doc.ref: doc for doc in docs}
        self._changes = 0

    def put(self, doc: Doc) -> None:
        """Write a doc, in place of any with its ref."""
        self.docs[doc.ref] = doc
        self._changes += 1

    def drop(self, ref: str) -> None:
        """Delete a doc."""
        del self.docs[ref]
        self._changes += 1

    def mark(self) -> str:
        """The number of changes so far."""
        return str(self._changes)

    def count(self, since: Since) -> tuple[int, int]:
        """How many docs there are, and how many the index has."""
        return len(self.docs), len(since.stamps(self.prefix))

    def scan(self, since: Since) -> Iterator[Change]:
        """What differs from the stamps the index holds, newest first, then what is gone."""
        known = since.stamps(self.prefix)
        for doc in sorted(self.docs.values(), key=lambda each: each.at, reverse=True):
            if known.get(doc.ref) != doc.stamp:
                yield Put(doc)
        for ref in known:
            if ref not in self.docs:
                yield Drop(ref)


def a_doc(ref: str, text: str, *, minutes: float = 0.0, **rest: Any) -> Doc:
    """A doc of the journal `notes`, so many minutes after START; the rest are fields of Doc.

    Its stamp follows from its text.
    """
    doc = Doc(
        ref=ref,
        journal="notes",
        scope="user",
        at=START + timedelta(minutes=minutes),
        text=text,
        stamp=text_hash(text),
    )
    return replace(doc, **rest)


def encode_all(index: OwnerIndex, encoder: Encoder, *, limit: int = 1000) -> int:
    """Make and file every vector an index lacks; how many docs were encoded."""
    made = 0
    while waiting := index.unencoded(encoder.identity, limit):
        batch = []
        for each in waiting:
            spans = encoder.split(each.text)
            vectors = encoder.encode_passages([each.text[start:end] for start, end in spans])
            batch.append(
                Encoded(ref=each.ref, text_hash=each.text_hash, spans=spans, vectors=vectors)
            )
        index.put_vectors(encoder.identity, batch)
        made += len(batch)
    return made
