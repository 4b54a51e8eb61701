"""What the pages cost: each beside a bare answer of the same server, and how soon the first comes.

Never measures in this process: the real command runs in one of its own, and is asked over a socket.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

import psutil
from msgspec import Struct

from bench import homes
from bench.corpus import make_lines
from bench.figures import Figure, Spread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
    "health": "/health",
}


class Sizes(Struct, frozen=True, kw_only=True):
    """How large and how often. entries: of the home; times: that each page is asked for."""

    entries: int
    times: int


def page_figures(sizes: Sizes, scratch: Path) -> Iterator[Figure]:
    """The time of each page beside that of the stylesheet, of the first one, and the memory."""
    home = homes.Home(scratch).make()
    _fill(home, sizes.entries)
    words = [sys.executable, "-m", "commonplace", "web", "--no-open", "--json"]
    begun = time.perf_counter()
    with subprocess.Popen(
        words, env=home.environment(), cwd=home.project, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield from _figures(process, sizes, begun)
        finally:
            process.kill()
            process.wait()


def _figures(process: subprocess.Popen[str], sizes: Sizes, begun: float) -> Iterator[Figure]:
    assert process.stdout is not None
    text = ""
    while not text.endswith("}\n"):
        text += process.stdout.readline()
    link = json.loads(text)["url"]
    ready = time.perf_counter()
    host, _, path = link.removeprefix("http://").partition("/")
    with closing(http.client.HTTPConnection(host)) as asked:
        yield from _asked(asked, path, sizes, ready, ready - begun)
    yield Figure(
        name=f"memory of the pages' process, {sizes.entries:,} entries",
        unit="MB",
        measured=Spread.of([psutil.Process(process.pid).memory_info().rss / 1e6]),
        floor=None,
        limit=None,
        rule="",
    )


def _asked(
    asked: http.client.HTTPConnection, path: str, sizes: Sizes, ready: float, started_s: float
) -> Iterator[Figure]:
    """The figures of the pages over one connection, which the link lets in first."""
    cookie = _cookie(asked, f"/{path}")
    _ask(asked, "/", cookie)
    first = time.perf_counter() - ready
    what = f"{sizes.entries:,} entries"
    yield Figure(
        name=f"first page, {what}",
        unit="s",
        measured=Spread.of([first]),
        floor=None,
        limit=FIRST_S,
        rule=f"{FIRST_S:g} s",
        note=f"from the link on; the link came {started_s:.2f} s after the command began.",
    )
    taken: dict[str, list[float]] = {name: [] for name in [*_PAGES, "style"]}
    for _ in range(sizes.times):
        taken["style"].append(_ask(asked, "/static/style.css", cookie))
        for name, each in _PAGES.items():
            taken[name].append(_ask(asked, each, cookie))
    floor = Spread.of(taken["style"])
    for name in _PAGES:
        yield Figure(
            name=f"page: {name}, {what}",
            unit="ms",
            measured=Spread.of(taken[name]),
            floor=floor,
            limit=PAGE_MS,
            rule=f"{PAGE_MS:g} ms",
            note="the floor is the stylesheet, from the same server.",
        )


def _fill(home: homes.Home, entries: int) -> None:
    """Sessions of 1,000 messages, one every third day, filed with vectors that no encoder made."""
    lines = [*islice(make_lines(seed=1), entries)]
    with home.opened(encoder="absent") as app:
        homes.add_sessions(app, lines)
        app.filing.sweep()
    # What waits for a vector is encoded behind the pages, which would be measured with them.
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
