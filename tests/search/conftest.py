"""Candidates made by hand, as an index would hand them over; filings over one index in memory."""

import numpy as np
import pytest

from commonplace.core.values import Candidates
from commonplace.search.filing.filing import Filing
from commonplace_testing import FrozenClock, ReadySlot, a_doc
from commonplace_testing.in_memory import MemoryIndex


def one(ref="", text="", **figures):
    """One candidate: its doc, and its figures where they are not the plain ones."""
    journal = figures.pop("journal", "notes")
    covers = figures.pop("covers", ())
    kind = figures.pop("kind", "entry")
    minutes = figures.pop("minutes", 0.0)
    rest = {"scope": scope} if (scope := figures.pop("scope", "")) else {}
    doc = a_doc(
        ref, text or ref, journal=journal, covers=covers, kind=kind, minutes=minutes, **rest
    )
    return doc, figures


@pytest.fixture
def made():
    """Candidates of rows made by `one`, oldest first."""

    def make(*rows):
        docs = [doc for doc, _ in rows]
        figures = [row for _, row in rows]

        def column(name, default, dtype):
            return np.array([row.get(name, default) for row in figures], dtype=dtype)

        similarity = column("similarity", np.nan, np.float32)
        kinds = sorted({doc.kind for doc in docs})
        scopes = sorted({doc.scope for doc in docs})
        authors = sorted({row["author"] for row in figures if "author" in row})
        return Candidates(
            keys=np.arange(len(rows), dtype=np.int64),
            words=column("words", 0.0, np.float32),
            matched=np.array([row.get("matched", "words" in row) for row in figures], dtype=bool),
            covered=column("covered", 0.0, np.float32),
            similarity=similarity,
            nearness=np.array(
                [row.get("nearness", same) for row, same in zip(figures, similarity, strict=True)],
                dtype=np.float32,
            ),
            at_us=np.array([doc.at.timestamp() * 1e6 for doc in docs], dtype=np.int64),
            timed=column("timed", False, np.bool_),
            lengths=np.array([len(doc.text.split()) for doc in docs], dtype=np.int64),
            author=np.array(
                [authors.index(row["author"]) if "author" in row else -1 for row in figures],
                dtype=np.int64,
            ),
            authors=tuple(authors),
            kind=np.array([kinds.index(doc.kind) for doc in docs], dtype=np.int64),
            kinds=tuple(kinds),
            scope=np.array([scopes.index(doc.scope) for doc in docs], dtype=np.int64),
            scopes=tuple(scopes),
            read=lambda keys: {key: docs[key] for key in keys},
        )

    return make


@pytest.fixture
def clock():
    return FrozenClock()


@pytest.fixture
def index(clock):
    made = MemoryIndex(clock=clock.seconds)
    yield made.of_owner("me")
    made.close()


@pytest.fixture
def opened(index, clock):
    """Makes filings over one index, each as another process would; all are closed at the end."""
    made = []

    def open_filing(*sources, encoder=None, index=index, holder=None, **rest):
        slot = encoder if isinstance(encoder, ReadySlot) else ReadySlot(encoder)
        made.append(
            Filing(
                index=index,
                sources=sources,
                encoder=slot,
                holder=holder or f"process-{len(made)}",
                monotonic=clock.seconds,
                now=clock.seconds,
                **rest,
            )
        )
        return made[-1]

    yield open_filing
    for each in made:
        each.close()
