"""What a timeline costs: adding, reading, listing, searching, rolling a year up, and its size.

Never changes a kept timeline: what is added goes to a copy, what is rolled up is made for the run.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from bench.corpus import make_lines, make_questions
from bench.figures import Figure, Spread
from bench.homes import Home, is_marked, mark, put_synthetic_vectors
from commonplace.core.values import Interval
from commonplace.inference.language.extract import Extractive
from commonplace.journals.timeline.entry import TimelineDraft
from commonplace.journals.timeline.expiry import apply_retention
from commonplace.journals.timeline.journal import TimelineJournal
from commonplace.journals.timeline.repair import file_of
from commonplace.journals.timeline.retention import parse_retention
from commonplace.journals.timeline.rollups import Rollups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from commonplace.app import App

ADD_SHARE = 3.0
BY_ID_MS = 0.3
RANGE_MS = 2.0
SEARCH_MS = 25.0
YEAR_S = 120.0
YEAR_MB = 300.0
AGAIN_S = 1.0
DESIGN_MB, DESIGN_KEPT_MB = 36.5, 3.6

FIRST_DAY = datetime(2023, 1, 1, tzinfo=UTC)
_PROJECTS = ("sales", "garden", "harbour", "orchard", "museum")
_WARM = 5
_ROWS = 100
_SYNTHETIC = "real words, synthetic clustered vectors put through the index's public face."
_WEEK = timedelta(days=8)


class Sizes(Struct, frozen=True, kw_only=True):
    """How large and how often. days: of the year that is rolled up; entries: of the long one."""

    a_day: int
    days: int
    entries: int
    adds: int
    questions: int


def timeline_figures(sizes: Sizes, cache: Path, scratch: Path) -> Iterator[Figure]:
    """All of the timeline's figures, the longest last."""
    home = kept_home(cache, sizes.entries, a_day=sizes.a_day)
    yield from _row_figures(home, sizes, scratch)
    yield from _search_figures(home, sizes)
    yield from _year_figures(sizes, scratch)


def kept_home(cache: Path, entries: int, *, a_day: int) -> Home:
    """A home whose timeline holds so many raw entries, rolled up and filed; kept in the cache."""
    home = Home(cache / f"timeline-{entries}").make()
    if is_marked(home, "rolled-up"):
        return home
    with home.opened(encoder="absent") as app:
        journal, days = app.timeline.journal, -(-entries // a_day)
        with unsynced(journal):
            _told("Filled", lambda: fill(journal, days=days, a_day=a_day, first=FIRST_DAY))
            _told("Rolled up", app.timeline.rollups.catch_up)
        _told("Filed", app.filing.sweep)
    with home.opened() as app:
        _told("Given vectors", lambda: put_synthetic_vectors(app))
    mark(home, "rolled-up")
    return home


@contextmanager
def unsynced(journal: TimelineJournal) -> Iterator[None]:
    """What this thread writes meanwhile does not wait for the disk: it is made for the run."""
    with file_of(journal).bare() as conn:
        conn.execute("PRAGMA synchronous = OFF")
        try:
            yield
        finally:
            conn.execute("PRAGMA synchronous = FULL")


def _told(what: str, run: Callable[[], object]) -> None:
    began = time.monotonic()
    run()
    print(f"  {what} in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def fill(
    journal: TimelineJournal, *, days: int, a_day: int, first: datetime, seed: int = 61
) -> None:
    """So many days of so many raw entries each, evenly spread; the same each time."""
    lines = make_lines(seed=seed)
    step = timedelta(days=1) / a_day
    for day in range(days):
        start = first + timedelta(days=day)
        journal.add_many(
            [
                TimelineDraft(
                    content=next(lines),
                    at=start + step * number,
                    metadata={"projects": [_PROJECTS[number % len(_PROJECTS)]], "tags": ["work"]},
                )
                for number in range(a_day)
            ]
        )


def _row_figures(home: Home, sizes: Sizes, scratch: Path) -> Iterator[Figure]:
    """Adds to a copy and bare commits to another file take turns; then reads and lists."""
    copy = scratch / "timeline"
    shutil.copytree(home.own / "users" / "me" / "journal", copy)
    os.sync()  # else the copy is written to the disk while commits to it are measured
    journal = TimelineJournal(copy, owner="me", zone=UTC)
    lines = make_lines(seed=62)
    floors, adds, reads = [], [], []
    with closing(_floor(scratch / "floor.db")) as floor, closing(journal):
        for _ in range(sizes.adds + _WARM):
            text = next(lines)
            began = time.perf_counter()
            floor.execute("INSERT INTO bare VALUES (?)", (text,))
            floors.append((time.perf_counter() - began) * 1000)
            began = time.perf_counter()
            entry = journal.add(text, metadata={"projects": ["sales"]}).entry
            adds.append((time.perf_counter() - began) * 1000)
            began = time.perf_counter()
            journal.read(entry.id)
            reads.append((time.perf_counter() - began) * 1000)
        lists = [_listed(journal, number) for number in range(sizes.adds)]
    least = Spread.of(floors[_WARM:])
    yield Figure(
        name=f"timeline add, {sizes.entries:,} entries",
        unit="ms",
        measured=Spread.of(adds[_WARM:]),
        floor=least,
        limit=least.median * ADD_SHARE,
        rule=f"{ADD_SHARE} x one FULL commit",
        note="until the truth is whole; the floor is one column in a file of its own.",
    )
    yield _plain(f"timeline by id, {sizes.entries:,} entries", "ms", reads[_WARM:], BY_ID_MS)
    name = f"timeline, {_ROWS} rows of a month, {sizes.entries:,} entries"
    yield _plain(name, "ms", lists, RANGE_MS)


def _listed(journal: TimelineJournal, number: int) -> float:
    start = FIRST_DAY + timedelta(days=number % 300)
    within = Interval(start=start, end=start + timedelta(days=30))
    began = time.perf_counter()
    journal.list_entries(within, limit=_ROWS)
    return (time.perf_counter() - began) * 1000


def _floor(path: Path) -> sqlite3.Connection:
    conn = sqlite3.connect(path, isolation_level=None)
    conn.execute("PRAGMA journal_mode = WAL")
    conn.execute("PRAGMA synchronous = FULL")
    conn.execute("CREATE TABLE bare (text TEXT)")
    return conn


def _search_figures(home: Home, sizes: Sizes) -> Iterator[Figure]:
    """Warm questions to the service, plain and with a month; each question once for each."""
    month = Interval(start=datetime(2023, 6, 1, tzinfo=UTC), end=datetime(2023, 7, 1, tzinfo=UTC))
    filters: dict[str, Interval | None] = {"": None, ", a month": month}
    if sizes.entries < 200 * sizes.a_day:
        filters.pop(", a month")
    encoding: list[float] = []
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in filters}
    with home.opened() as app:
        app.filing.catch_up()
        encoder = app.encoder.get()
        assert encoder is not None
        first, *questions = make_questions(sizes.questions + _WARM + 1)
        yield _plain(
            f"first timeline search, {sizes.entries:,} entries",
            "ms",
            [_asked(app, first, None)[0]],
            None,
        )
        for question in questions:
            began = time.perf_counter()
            encoder.encode_query(question)
            encoding.append((time.perf_counter() - began) * 1000)
            for name, within in filters.items():
                took[name].append(_asked(app, question, within))
    floor = Spread.of(encoding[_WARM:])
    for name, times in took.items():
        computing = Spread.of([cpu for _, cpu in times[_WARM:]])
        yield Figure(
            name=f"timeline search, {sizes.entries:,} entries{name}",
            unit="ms",
            measured=Spread.of([wall for wall, _ in times[_WARM:]]),
            floor=floor,
            limit=floor.median + SEARCH_MS if name else None,
            rule=f"query encoding + {SEARCH_MS:.0f}" if name else "",
            note=f"{_SYNTHETIC} Computing, in all threads: {computing} ms.",
        )


def _asked(app: App, question: str, within: Interval | None) -> tuple[float, float]:
    """How long an answer took, and how much of it was computed: the machine may be busy."""
    began, computed = time.perf_counter(), time.process_time()
    app.timeline.service().find(question, interval=within)
    return (time.perf_counter() - began) * 1000, (time.process_time() - computed) * 1000


def _year_figures(sizes: Sizes, scratch: Path) -> Iterator[Figure]:
    """A year in a file of its own and by a process of its own, so that its memory can be told."""
    folder = scratch / "year"
    what = f"{sizes.days} days of {sizes.a_day:,} entries"
    journal = TimelineJournal(folder, owner="me", zone=UTC)
    with closing(journal), unsynced(journal):
        fill(journal, days=sizes.days, a_day=sizes.a_day, first=FIRST_DAY)
    command = [sys.executable, "-m", "bench.timelines", str(folder), str(sizes.days)]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    yield _plain(f"{what} rolled up", "s", [told["rolled_s"]], YEAR_S)
    note = f"{told['made']:,} rollups, in a process that does nothing else."
    yield _plain("peak memory of that", "MB", [told["peak_mb"]], YEAR_MB, note=note)
    yield _plain("again with nothing new", "s", [told["again_s"]], AGAIN_S)
    design = DESIGN_MB * sizes.days * sizes.a_day / 365_000
    yield _sized(f"size of {what}", told["size_mb"], design)
    yield _plain("let go of what the design does", "s", [told["let_go_s"]], None)
    kept = DESIGN_KEPT_MB * sizes.days * sizes.a_day / 365_000
    yield _sized(f"size of {what}, let go of", told["kept_mb"], kept)
    yield from _saved_figures(what, told["size_mb"], live_a_year(scratch / "lived", sizes))


def live_a_year(folder: Path, sizes: Sizes) -> dict[str, float]:
    """Roll each day up as it ends, with the design's retention every 8 days; what was, and is left.

    As a timeline is used: the days come one after the other, and what is over leaves as it goes.
    """
    now = [FIRST_DAY]
    journal = TimelineJournal(folder, owner="me", zone=UTC, clock=lambda: now[0])
    rollups, retention = Rollups(journal, Extractive()), parse_retention("design")
    written = 0
    began = time.perf_counter()
    with closing(journal), unsynced(journal):
        for day in range(sizes.days):
            start = FIRST_DAY + timedelta(days=day)
            fill(journal, days=1, a_day=sizes.a_day, first=start, seed=1000 + day)
            ((text, _),) = texts_of(journal, "AND rollup_level = 0 AND timestamp >= ?", start)
            written += text
            now[0] = start + timedelta(days=1, hours=2)
            rollups.catch_up()
            if not (day + 1) % _WEEK.days:
                apply_retention(rollups, retention)
        apply_retention(rollups, retention)
        ((kept, docs),) = texts_of(journal, "AND status = 'active'")
    told = {"written_mb": written / 1e6, "kept_mb": kept / 1e6, "docs": docs}
    return {**told, "file_mb": _megabytes(folder), "took_s": time.perf_counter() - began}


def texts_of(journal: TimelineJournal, where: str = "", *at: datetime) -> list[tuple[int, int]]:
    """How many bytes of text entries hold, and in how many of them."""
    counted = "SELECT coalesce(sum(length(CAST(content AS BLOB))), 0), count(*)"
    query = f"{counted} FROM journal_entries WHERE content <> '' {where}"
    with file_of(journal).bare() as conn:
        return conn.execute(query, [f"{each:%Y-%m-%dT%H:%M:%S}" for each in at]).fetchall()


def _saved_figures(what: str, size_mb: float, lived: dict[str, float]) -> Iterator[Figure]:
    """The design's promise is 90 %, of texts alone."""
    saved = 100 * (1 - lived["kept_mb"] / lived["written_mb"])
    note = f"{lived['kept_mb']:.2f} of {lived['written_mb']:.1f} MB are left; the design says 90."
    yield _plain(f"texts of {what} that retention saves", "%", [saved], None, note=note)
    note = f"{lived['file_mb']:.1f} of {size_mb:.1f} MB are left, in {lived['took_s']:.0f} s."
    saved = 100 * (1 - lived["file_mb"] / size_mb)
    yield _plain(f"the file of {what} that it saves", "%", [saved], None, note=note)
    yield _plain(f"entries of {what} that are left to search", "", [lived["docs"]], None)


def roll_up_a_year(folder: Path, days: int) -> dict[str, float]:
    """Roll a filled timeline up, again, and let go of what the design does; what it took."""
    now = [FIRST_DAY + timedelta(days=days, hours=2)]
    journal = TimelineJournal(folder, owner="me", zone=UTC, clock=lambda: now[0])
    rollups = Rollups(journal, Extractive())
    told: dict[str, float] = {}
    with closing(journal):
        began = time.perf_counter()
        told["made"] = rollups.catch_up()
        told["rolled_s"] = time.perf_counter() - began
        told["peak_mb"] = _peak_mb()
        began = time.perf_counter()
        rollups.catch_up()
        told["again_s"] = time.perf_counter() - began
        told["size_mb"] = _megabytes(folder)
        began = time.perf_counter()
        apply_retention(rollups, parse_retention("design"))
        now[0] += _WEEK
        apply_retention(rollups, parse_retention("design"))
        told["let_go_s"] = time.perf_counter() - began
        told["kept_mb"] = _megabytes(folder)
    return told


def _peak_mb() -> float:
    """The most memory this process has held; `ru_maxrss` counts what its parent held as well."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) / 1024


def _megabytes(folder: Path) -> float:
    return sum(x.stat().st_size for x in folder.iterdir() if x.name.startswith("journal")) / 1e6


def _sized(name: str, size: float, design: float) -> Figure:
    note = f"the design reckoned {design:.1f} MB, of texts alone."
    return _plain(name, "MB", [size], None, note=note)


def _plain(
    name: str, unit: str, values: list[float], limit: float | None, *, note: str = ""
) -> Figure:
    rule = "" if limit is None else f"{limit:g} {unit}"
    return Figure(
        name=name,
        unit=unit,
        measured=Spread.of(values),
        floor=None,
        limit=limit,
        rule=rule,
        note=note,
    )


if __name__ == "__main__":
    print(json.dumps(roll_up_a_year(Path(sys.argv[1]), int(sys.argv[2]))))
