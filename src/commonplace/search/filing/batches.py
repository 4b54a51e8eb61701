"""How texts are put together for the encoder: by length, in chunks, as many as one commit holds.

Pure but for the encoder that splits: never asks an index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from commonplace.core.ports import EncodesInBackground
from commonplace.core.text import text_hash
from commonplace.core.values import Encoded, Unencoded
from commonplace.search import policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from commonplace.core.ports import Encoder
    from commonplace.core.values import Put, Vector

Spans: TypeAlias = tuple[tuple[int, int], ...]

_CHUNK_TOKENS = 256
"""The most tokens of a chunk, by the port; see `Encoder.split`."""


def unencoded_of(put: Put) -> Unencoded:
    """What the encoder needs of a doc that is put."""
    said = put.doc.said
    return Unencoded(ref=put.doc.ref, text=said, text_hash=text_hash(said))


def next_limit(docs: Sequence[Unencoded]) -> int:
    """How many docs to take next: few of long ones, for the memory, and many of short ones."""
    mean = sum(len(doc.text) for doc in docs) / len(docs)
    fitting = int(policy.ENCODE_CHARACTERS / mean)
    return max(policy.ENCODE_BATCH, min(policy.ENCODE_BATCH_MOST, fitting))


def groups_of(
    encoder: Encoder, docs: Sequence[Unencoded]
) -> Iterator[list[tuple[Unencoded, Spans]]]:
    """Docs with their chunks, as many at a time as one commit of vectors should hold.

    Docs of like length come together, since the encoder pads the texts of a batch to the longest.
    Short ones come first: a text of 200 chunks takes 10 s, and a process that ends before then
    keeps nothing of it.
    """
    group: list[tuple[Unencoded, Spans]] = []
    chunks = size = 0
    for doc in sorted(docs, key=lambda doc: len(doc.text)):
        spans = spans_of(encoder, doc.text)
        chunks += len(spans)
        size += len(doc.text)
        if group and (chunks > policy.CHUNKS_AT_ONCE or size > policy.CHARACTERS_AT_ONCE):
            yield group
            group, chunks, size = [], len(spans), len(doc.text)
        group.append((doc, spans))
    if group:
        yield group


def spans_of(encoder: Encoder, text: str) -> Spans:
    """The chunks of a text that get a vector."""
    return encoder.split(text, most=policy.CHUNKS_OF_AN_ENTRY)


def is_cut(text: str, spans: Spans) -> bool:
    """Whether a text goes on after the chunks that get a vector: words alone find the rest."""
    return len(spans) == policy.CHUNKS_OF_AN_ENTRY and bool(text[spans[-1][1] :].strip())


def will_be_cut(encoder: Encoder, text: str) -> bool:
    """The same of a text that is not split into chunks yet.

    Of one with more words than the chunks have tokens that is known without the tokenizer.
    """
    most = _CHUNK_TOKENS * policy.CHUNKS_OF_AN_ENTRY
    return len(text.split(None, most)) > most or is_cut(text, spans_of(encoder, text))


def texts_of(group: Iterable[tuple[Unencoded, Spans]]) -> list[str]:
    """The chunks of a group, doc by doc."""
    return [doc.text[start:end] for doc, spans in group for start, end in spans]


def encode_in_background(encoder: Encoder, texts: Sequence[str]) -> Vector:
    """The vectors of texts that no call waits for, made at a lower priority where that is known."""
    if isinstance(encoder, EncodesInBackground):
        return encoder.encode_in_background(texts)
    return encoder.encode_passages(texts)


def encoded_of(group: Iterable[tuple[Unencoded, Spans]], vectors: Vector) -> Iterator[Encoded]:
    """The vectors of a group's chunks, doc by doc."""
    at = 0
    for doc, spans in group:
        part = vectors[at : at + len(spans)]
        yield Encoded(ref=doc.ref, text_hash=doc.text_hash, spans=spans, vectors=part)
        at += len(spans)
