"""What the pages cost: each beside a bare answer of the same server, and how soon the first comes.

Never measures in this process: the real command runs in one of its own, and is asked over a socket.
"""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

import psutil
from msgspec import Struct

from bench import homes, timelines
from bench.corpus import make_lines
from bench.figures import Figure, Spread
from commonplace.journals.timeline.entry import TimelineDraft

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from commonplace.app import App

FIRST_S = 0.3
"""From the printed link to the whole first page."""

PAGE_MS = 100.0
"""Beside what encoding a question takes, which the pages listed here have none of."""

_PAGES = {
    "home": "/",
    "a year": "/calendar/2026",
    "a month": "/calendar/2026-03",
    "a day": "/calendar/2026-03-02",
    "chronicle": "/chronicle",
    "transcripts": "/transcripts",
    "notebook": "/notebook",
    "memory": "/memory",
    "health": "/health",
    "settings": "/settings",
    "forgetting": "/entry/forget?ref=transcripts:claude-code/s0000000%2310",
}

_DAYS = 365


class Sizes(Struct, frozen=True, kw_only=True):
    """How large and how often.

    Attributes:
        entries: Of the home.
        timeline: Those of them that are a timeline of the year until now; the rest are turns.
        times: How often each page is asked for.
    """

    entries: int
    timeline: int
    times: int


def page_figures(sizes: Sizes, scratch: Path) -> Iterator[Figure]:
    """The time of each page beside that of the stylesheet, of the first one, and the memory.

    Once with all summaries made; once with a server that may only read while they are due: half of
    them never made, the others older than their entries.
    """
    made, due = homes.Home(scratch / "made").make(), homes.Home(scratch / "due")
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    first = today - timedelta(days=_DAYS)
    _fill(made, due, sizes, first)
    what = f"{sizes.entries:,} entries"
    with _served(made) as (process, link, started_s):
        ready = time.perf_counter()
        with _let_in(link) as (asked, cookie):
            yield _first_figure(what, time.perf_counter() - ready, started_s)
            pages = {**_PAGES, **_timeline_pages(first)}
            yield from _asked(asked, cookie, pages, sizes, what)
        yield _memory_figure(what, process)
    with _served(due, "--read-only") as (_, link, _), _let_in(link) as (asked, cookie):
        pages = {"home": "/", **_timeline_pages(first)}
        yield from _asked(asked, cookie, pages, sizes, f"{what}, summaries due")


def _timeline_pages(first: datetime) -> Mapping[str, str]:
    """The pages of a timeline that begins on a day."""
    year, day = first.year + 1, first + timedelta(days=_DAYS // 3)
    week = "{}-W{:02}".format(*day.isocalendar())
    hour = f"{day:%Y-%m-%d}T10"
    return {
        "the year that goes on": f"/calendar/{year}",
        "the year before": f"/calendar/{first.year}",
        "a month with summaries": f"/calendar/{day:%Y-%m}",
        "a week": f"/calendar/{week}",
        "a day with summaries": f"/calendar/{day:%Y-%m-%d}",
        "an hour": f"/calendar/{hour}",
        "a summary": f"/entry?ref=timeline:rollup_monthly_{day:%Y%m}",
        "timeline": "/timeline",
        "timeline by day": "/timeline?period=day",
    }


@contextmanager
def _served(home: homes.Home, *given: str) -> Iterator[tuple[subprocess.Popen[str], str, float]]:
    """The command in a home: its process, the link, and the seconds until that was printed."""
    words = [sys.executable, "-m", "commonplace", "web", "--no-open", "--json", *given]
    begun = time.perf_counter()
    with subprocess.Popen(
        words, env=home.environment(), cwd=home.project, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            text = ""
            while not text.endswith("}\n"):
                text += process.stdout.readline()
            yield process, json.loads(text)["url"], time.perf_counter() - begun
        finally:
            process.kill()
            process.wait()


@contextmanager
def _let_in(link: str) -> Iterator[tuple[http.client.HTTPConnection, str]]:
    """A connection that the link let in and that has seen the first page; with its cookie."""
    host, _, path = link.removeprefix("http://").partition("/")
    with closing(http.client.HTTPConnection(host)) as asked:
        cookie = _cookie(asked, f"/{path}")
        _ask(asked, "/", cookie)
        yield asked, cookie


def _first_figure(what: str, first_s: float, started_s: float) -> Figure:
    return Figure(
        name=f"first page, {what}",
        unit="s",
        measured=Spread.of([first_s]),
        floor=None,
        limit=FIRST_S,
        rule=f"{FIRST_S:g} s",
        note=f"from the link on; the link came {started_s:.2f} s after the command began.",
    )


def _memory_figure(what: str, process: subprocess.Popen[str]) -> Figure:
    return Figure(
        name=f"memory of the pages' process, {what}",
        unit="MB",
        measured=Spread.of([psutil.Process(process.pid).memory_info().rss / 1e6]),
        floor=None,
        limit=None,
        rule="",
    )


def _asked(
    asked: http.client.HTTPConnection,
    cookie: str,
    pages: Mapping[str, str],
    sizes: Sizes,
    what: str,
) -> Iterator[Figure]:
    """The figures of the pages over one connection."""
    taken: dict[str, list[float]] = {name: [] for name in [*pages, "style"]}
    for _ in range(sizes.times):
        taken["style"].append(_ask(asked, "/static/style.css", cookie))
        for name, each in pages.items():
            taken[name].append(_ask(asked, each, cookie))
    floor = Spread.of(taken["style"])
    for name in pages:
        yield Figure(
            name=f"page: {name}, {what}",
            unit="ms",
            measured=Spread.of(taken[name]),
            floor=floor,
            limit=PAGE_MS,
            rule=f"{PAGE_MS:g} ms",
            note="the floor is the stylesheet, from the same server.",
        )


def _fill(made: homes.Home, due: homes.Home, sizes: Sizes, first: datetime) -> None:
    """Fill a home, and its copy in which summaries are due; vectors that no encoder made.

    Sessions of 1,000 messages, one every third day. A year of the timeline, evenly spread.
    """
    lines = [*islice(make_lines(seed=1), sizes.entries - sizes.timeline)]
    with made.opened(encoder="absent") as app:
        homes.add_sessions(app, lines)
        timeline = app.timeline
        with timelines.unsynced(timeline.journal):
            a_day = max(1, sizes.timeline // _DAYS)
            timelines.fill(timeline.journal, days=_DAYS, a_day=a_day, first=first)
            halves = sum(each.count for each in timeline.rollups.list_due()) // 2
            timeline.rollups.catch_up(most=halves)
        app.filing.sweep()
    # What waits for a vector is encoded behind the pages, which would be measured with them.
    _put_vectors(made)
    shutil.copytree(made.folder, due.folder)
    with due.opened(encoder="absent") as app:
        _add_late(app, first)
        app.filing.sweep()
    _put_vectors(due)
    with made.opened(encoder="absent") as app:
        with timelines.unsynced(app.timeline.journal):
            app.timeline.rollups.catch_up()
        app.filing.sweep()
    _put_vectors(made)


def _add_late(app: App, first: datetime) -> None:
    """An entry more in each day of the year: all summaries are older than their entries."""
    journal = app.timeline.journal
    with timelines.unsynced(journal):
        journal.add_many(
            [
                TimelineDraft(content=f"late {day}", at=first + timedelta(days=day, hours=10))
                for day in range(_DAYS)
            ]
        )


def _put_vectors(home: homes.Home) -> None:
    with home.opened() as app:
        homes.put_synthetic_vectors(app)


def _cookie(asked: http.client.HTTPConnection, path: str) -> str:
    asked.request("GET", path)
    answer = asked.getresponse()
    answer.read()
    return (answer.getheader("set-cookie") or "").partition(";")[0]


def _ask(asked: http.client.HTTPConnection, path: str, cookie: str) -> float:
    """How long a page takes, in ms."""
    begun = time.perf_counter()
    asked.request("GET", path, headers={"cookie": cookie})
    answer = asked.getresponse()
    answer.read()
    if answer.status != http.client.OK:
        sys.exit(f"{path} answered {answer.status}.")
    return (time.perf_counter() - begun) * 1000
