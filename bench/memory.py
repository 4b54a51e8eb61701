"""What a server's process holds in memory: at rest after searches, and at its worst.

Never measures in this process: a real server is asked over its pipes.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from bench.figures import Figure, Spread
from bench.sessions import OURS, session

if TYPE_CHECKING:
    from bench.homes import Home

STEADY_MB = 260.0
PEAK_MB = 400.0
_LONGEST_S = 3600.0


def steady_figure(home: Home, questions: list[str], *, entries: int, repetitions: int) -> Figure:
    """Memory of a server that has answered so many searches."""
    return Figure(
        name=f"steady memory, {entries:,} entries",
        unit="MB",
        measured=held_after(OURS, home, "search_journal", questions, servers=repetitions),
        floor=None,
        limit=STEADY_MB,
        rule="RSS of the server",
    )


def held_after(
    command: tuple[str, ...], home: Home, tool: str, questions: list[str], *, servers: int
) -> Spread:
    """What each of so many servers holds, in MB, once it has answered these questions."""
    held = []
    for _ in range(servers):
        with session(command, home) as server:
            server.initialize()
            server.list_tools()
            for question in questions:
                server.call(tool, query=question)
            held.append(server.rss_mb())
    return Spread.of(held)


def catch_up_figure(home: Home, *, entries: int, vectors: int) -> Figure:
    """The most memory a server takes while it files foreign entries and makes so many vectors."""
    with home.opened() as app:
        encoder = app.encoder.get()
        assert encoder is not None
        identity = encoder.identity
    with session(OURS, home) as server, home.opened(encoder="absent") as watcher:
        server.initialize()
        server.list_tools()
        deadline = time.monotonic() + _LONGEST_S
        while True:
            counts = watcher.index.counts(identity)
            if counts.docs == entries and counts.docs - counts.pending >= vectors:
                break
            if time.monotonic() > deadline:
                sys.exit(f"The server did not catch up: {counts}.")
            time.sleep(0.5)
        server.call("search_journal", query="what was filed last")
        peak = server.peak_rss_mb()
    part = "all vectors made" if vectors == entries else f"the first {vectors:,} vectors made"
    return Figure(
        name=f"peak memory, catching up {entries:,} entries",
        unit="MB",
        measured=Spread.of([peak]),
        floor=None,
        limit=PEAK_MB,
        rule="VmHWM of the server",
        note=f"all words filed, {part}.",
    )
