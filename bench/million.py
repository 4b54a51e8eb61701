"""How recall fares over a million entries: an index filled through its public face alone.

Never writes a journal: behind these entries there are no files.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from bench.corpus import make_lines, make_texts
from bench.figures import Figure, Spread
from bench.homes import Clustered, Home, is_marked, mark
from commonplace.core.clock import render_date
from commonplace.core.text import text_hash
from commonplace.core.values import Doc, Encoded, Filter, Interval, Put
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.search import policy
from commonplace.search.filing.filing import Filing
from commonplace.search.finder import Finder, SearchQuestion
from commonplace_testing import ReadySlot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from commonplace.core.ports import Encoder, OwnerIndex
    from commonplace.core.values import Found

WARM_MS = 250.0

JOURNALS = ("private", "chronicle", "notebook", "timeline", "memory")
FIRST_DAY = datetime(2020, 1, 1, tzinfo=UTC)
DAYS = 2_000
_LONGEST = 80
_BATCH = 5_000
_WARM = 5

FILTERS = {
    "": Filter(),
    ", a month": Filter(
        interval=Interval(
            start=datetime(2023, 6, 1, tzinfo=UTC), end=datetime(2023, 7, 1, tzinfo=UTC)
        )
    ),
    ", a journal": Filter(journals=("notebook",)),
}


def million_figures(
    cache: Path, encoder: Encoder, questions: list[str], *, entries: int
) -> list[Figure]:
    """The finder's answers, plain and filtered; each question once for each."""
    folder = filled_folder(cache, entries, encoder)
    encoding: list[float] = []
    asking: dict[str, list[float]] = {name: [] for name in FILTERS}
    computing: dict[str, list[float]] = {name: [] for name in FILTERS}
    with _opened(folder) as index:
        slot = ReadySlot(encoder)
        filing = Filing(index=index, sources=(), encoder=slot, holder="bench")
        # Until it has looked once whether vectors are missing, each search counts them.
        filing.catch_up()
        finder = Finder(index=index, encoder=slot, filing=filing)
        began = time.perf_counter()
        _find(finder, questions[0], Filter())
        first = time.perf_counter() - began
        for question in questions[:_WARM]:
            for within in FILTERS.values():
                _find(finder, question, within)
        for question in questions:
            began = time.perf_counter()
            encoder.encode_query(question)
            encoding.append((time.perf_counter() - began) * 1000)
            for name, within in FILTERS.items():
                began, computed = time.perf_counter(), time.thread_time()
                found = _find(finder, question, within)
                asking[name].append((time.perf_counter() - began) * 1000)
                computing[name].append((time.thread_time() - computed) * 1000)
                assert not found.notes, found.notes
        filing.close()
    floor = Spread.of(encoding)
    return [
        Figure(
            name=f"warm recall, {entries:,} entries{name}",
            unit="ms",
            measured=Spread.of(took),
            floor=floor,
            limit=floor.median + WARM_MS,
            rule=f"query encoding + {WARM_MS:.0f}",
            note="an index without journals, asked through the finder; the first question took"
            f" {first:.1f} s. Its thread computes {statistics.median(computing[name]):.0f} ms.",
        )
        for name, took in asking.items()
    ]


def _find(finder: Finder, question: str, within: Filter) -> Found:
    return finder.find(
        SearchQuestion(
            text=question,
            where=within,
            limit=10,
            floor=policy.RECALL_FLOOR,
            policy=policy.RECALL,
        )
    )


def make_docs(count: int) -> Iterator[Doc]:
    """Entries of five journals by turns, evenly over 2,000 days; a day of a journal is a session.

    One in five is of 20 to 80 words, the others are lines. The same each time.
    """
    lines, texts = make_lines(seed=41), make_texts(seed=42, longest=_LONGEST)
    step = timedelta(days=DAYS) / max(count, 1)
    for number in range(count):
        at = FIRST_DAY + step * number
        journal = JOURNALS[number % len(JOURNALS)]
        yield Doc(
            ref=f"{journal}:{number}",
            journal=journal,
            scope="",
            at=at,
            text=next(texts if journal == "private" else lines),
            stamp="",
            session=f"{journal}/{at.date().isoformat()}",
            dated=render_date(at.date()),
        )


def filled_folder(cache: Path, count: int, encoder: Encoder) -> Path:
    """The folder of an index of so many entries with synthetic vectors; kept in the cache."""
    home = Home(cache / f"index-{count}")
    folder = home.folder / "index"
    if is_marked(home, "filled"):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    began = time.monotonic()
    with _opened(folder) as index:
        _fill(index, make_docs(count), encoder)
        size = index.bytes_on_disk()
    took = time.monotonic() - began
    print(f"Filled in {took:.0f} s, {size / 1e9:.1f} GB", file=sys.stderr, flush=True)
    mark(home, "filled")
    return folder


def _fill(index: OwnerIndex, docs: Iterator[Doc], encoder: Encoder) -> None:
    clustered = Clustered(encoder.dimensions)
    while batch := list(islice(docs, _BATCH)):
        index.apply([Put(doc) for doc in batch])
        vectors = clustered.vectors(len(batch))
        encoded = [
            Encoded(
                ref=doc.ref,
                text_hash=text_hash(doc.said),
                spans=((0, len(doc.said)),),
                vectors=vector[None],
            )
            for doc, vector in zip(batch, vectors, strict=True)
        ]
        index.put_vectors(encoder.identity, encoded)


@contextmanager
def _opened(folder: Path) -> Iterator[OwnerIndex]:
    indexes = SqliteIndex(lambda _: folder)
    try:
        yield indexes.of_owner("me")
    finally:
        indexes.close()
