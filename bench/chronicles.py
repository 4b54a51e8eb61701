"""What chronicle costs on a large log: adding, listing, searching, opening, and how tags fare.

Never changes a kept home's journal: what is added goes to a copy, what is filed is dropped again.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from bench.catching_up import catch_up_figures
from bench.corpus import make_questions
from bench.figures import Figure, Spread
from bench.homes import UTC as ZONE
from bench.logs import insert, make_rows, seen_home
from bench.searches import Asking, search_figures
from bench.tag_sentences import HELD_OUT, precision_recall
from commonplace.core.values import Drop, Put
from commonplace.journals.chronicle.journal import ChronicleJournal, doc_of
from commonplace.journals.chronicle.places import ChroniclePlace
from commonplace.journals.chronicle.source import ChronicleSource
from commonplace.journals.chronicle.tags import suggest_tags

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from bench.homes import Home
    from bench.logs import Row
    from commonplace.journals.chronicle.journal import Event

ADD_SHARE = 1.5
LIST_MS = 2.0
SEARCH_MS = 35.0
OPEN_MS = 60.0
PRECISION, RECALL = 0.9, 0.8

ASKING = Asking(
    name="chronicle search",
    tool=lambda app: app.chronicle.toolset().tool("search_entries"),
    argument="text",
    filters={
        "": {},
        ", a tag": {"tags": ["review"]},
        ", a month": {"since": "2025-06-01", "until": "2025-06-30"},
    },
)
_SYNTHETIC = "real words, synthetic clustered vectors put through the index's public face."
_WARM = 5


class Sizes(Struct, frozen=True, kw_only=True):
    """How large and how often. slice: entries whose vectors are made to learn a rate."""

    entries: int
    adds: int
    questions: int
    openings: int
    first_searches: int
    slice: int


def chronicle_figures(sizes: Sizes, cache: Path, scratch: Path) -> Iterator[Figure]:
    """All of chronicle's figures, the longest last but for the tags."""
    home = seen_home(cache, sizes.entries)
    yield from _add_figures(home, sizes, scratch)
    yield _list_figure(home, sizes)
    yield from search_figures(
        home,
        ASKING,
        make_questions(sizes.questions),
        entries=sizes.entries,
        allowed_ms=SEARCH_MS,
        note=_SYNTHETIC,
    )
    yield _open_figure(home, sizes)
    yield from catch_up_figures(
        cache,
        scratch,
        entries=sizes.entries,
        first_searches=sizes.first_searches,
        part=sizes.slice,
    )
    yield from tag_figures()


def _add_figures(home: Home, sizes: Sizes, scratch: Path) -> list[Figure]:
    """`add_event` on one copy and a bare commit on another take turns; then some are filed."""
    rows = list(make_rows(2 * (sizes.adds + _WARM), seed=22))
    with closing(_copy(home, scratch / "floor.db")) as database:
        _copy(home, scratch / "added.db").close()
        added = ChroniclePlace(path=scratch / "added.db", form="database")
        with closing(
            ChronicleJournal(added, owner="me", zone=ZONE, clock=lambda: datetime.now(UTC))
        ) as chronicle:
            floors, took, events = _take_turns(database, chronicle, rows)
    floor = Spread.of(floors)
    return [
        Figure(
            name=f"chronicle add, {sizes.entries:,} entries",
            unit="ms",
            measured=Spread.of(took),
            floor=floor,
            limit=floor.median * ADD_SHARE,
            rule=f"{ADD_SHARE} x one FULL commit",
            note="until the truth is whole; the floor is a row in a copy of the same database.",
        ),
        _filing_figure(home, events[: sizes.adds // 4], entries=sizes.entries),
    ]


def _copy(home: Home, path: Path) -> sqlite3.Connection:
    """A copy of a home's database, open for commits that are synced."""
    copy = sqlite3.connect(path, isolation_level=None)
    with closing(sqlite3.connect(home.chronicle)) as original:
        original.backup(copy)
    copy.execute("PRAGMA journal_mode = WAL")
    copy.execute("PRAGMA synchronous = FULL")
    return copy


def _take_turns(
    database: sqlite3.Connection, chronicle: ChronicleJournal, rows: list[Row]
) -> tuple[list[float], list[float], list[Event]]:
    """Milliseconds of bare commits and of adds, each first in every other pair; what was added."""
    floors: list[float] = []
    took: list[float] = []
    events: list[Event] = []

    def bare(columns: Mapping[str, object]) -> None:
        database.execute("BEGIN IMMEDIATE")
        insert(database, columns)
        database.execute("COMMIT")

    def add(row: Row) -> None:
        added = chronicle.add_event(row.message, tags=row.tags, directory=row.directory)
        events.append(added.event)

    for number in range(len(rows) // 2):
        columns, row = rows[2 * number].columns(), rows[2 * number + 1]
        if number % 2:
            took.append(_ms(add, row))
        floors.append(_ms(bare, columns))
        if not number % 2:
            took.append(_ms(add, row))
    return floors[_WARM:], took[_WARM:], events


def _filing_figure(home: Home, events: list[Event], *, entries: int) -> Figure:
    """What an added entry costs after its truth is whole: its words and its vector."""
    docs = [doc_of(event, ZONE, "me") for event in events]
    with home.opened() as app:
        app.filing.sweep()
        encoder = app.encoder.get()
        assert encoder is not None
        floors, took = [], []
        for doc in docs:
            floors.append(_ms(encoder.encode_passages, [doc.text]))
            took.append(_ms(app.filing.file, [Put(doc)]))
        app.index.apply([Drop(doc.ref) for doc in docs])
    return Figure(
        name=f"chronicle filing of an added entry, {entries:,} entries",
        unit="ms",
        measured=Spread.of(took[_WARM:] or took),
        floor=Spread.of(floors[_WARM:] or floors),
        limit=None,
        rule="the encoding alone; no limit",
    )


def _list_figure(home: Home, sizes: Sizes) -> Figure:
    with home.opened(encoder="absent") as app:
        call = app.chronicle.toolset().tool("list_entries").call
        took = [_ms(call, {"limit": 10}) for _ in range(sizes.adds)]
    return Figure(
        name=f"chronicle list of 10, {sizes.entries:,} entries",
        unit="ms",
        measured=Spread.of(took[_WARM:]),
        floor=None,
        limit=LIST_MS,
        rule=f"{LIST_MS:.0f} ms",
    )


def _open_figure(home: Home, sizes: Sizes) -> Figure:
    """A fresh app: until the mark is known to be the last one and the first list is answered."""
    took = []
    for _ in range(sizes.openings):
        began = time.perf_counter()
        with home.opened(encoder="absent") as app:
            known = app.index.known().marks.get("chronicle")
            seen = known == ChronicleSource(app.chronicle.journal).mark()
            app.chronicle.toolset().tool("list_entries").call({"limit": 10})
            took.append((time.perf_counter() - began) * 1000)
            assert seen, "the index does not know this home"
    return Figure(
        name=f"chronicle opened, {sizes.entries:,} entries seen before",
        unit="ms",
        measured=Spread.of(took),
        floor=None,
        limit=OPEN_MS,
        rule=f"{OPEN_MS:.0f} ms",
        note="in this process: settings read, the mark compared and the first list answered.",
    )


def tag_figures() -> list[Figure]:
    """Precision and recall of suggested tags on the sentences that the rules never saw."""
    reached = precision_recall((each.expected, suggest_tags(each.text)) for each in HELD_OUT)
    return [
        Figure(
            name=f"chronicle tags, {what} on {len(HELD_OUT)} held-out sentences",
            unit="share",
            measured=Spread.of([share]),
            floor=None,
            limit=wanted,
            rule=f"{wanted}",
            at_least=True,
            note="by the rules alone, without the owner's own tags.",
        )
        for what, share, wanted in zip(
            ("precision", "recall"), reached, (PRECISION, RECALL), strict=True
        )
    ]


def _ms(run: Callable[..., object], *given: object) -> float:
    began = time.perf_counter()
    run(*given)
    return (time.perf_counter() - began) * 1000
