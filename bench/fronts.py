"""How soon a session answers when it begins from a snapshot, and what its first calls cost then.

Never compares with another run: the bare server and ours without a snapshot take turns with it.
"""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from msgspec import Struct

from bench.figures import Figure, Spread
from bench.sessions import BARE, OURS, session

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bench.homes import Home

PLAIN = (*OURS, "--plain")
LISTED_MS = 60.0
LISTED_MB = 14.0
TOGETHER = 10
TOGETHER_MS = 600.0
IDLE_CALL_MS = 30.0
STRAIGHT_SHARE = 1.15
IDLE_SEARCH_MS = 150.0
REST_S = 10.0
PRIMED_S = 8.0
_QUICK = ("list_recent_entries", {"limit": 1})


class Begun(Struct, frozen=True):
    """The ms to the handshake, to the lists, of the first call and to its end; MB at two times."""

    initialize: float
    listed: float
    listed_mb: float
    call: float
    ended: float
    rest_mb: float


def keep_snapshot(home: Home) -> None:
    """Leave the snapshots of sessions in a home, with preloading and without."""
    for more in ({}, {"COMMONPLACE_PRELOAD": "0"}):
        before = _snapshots(home)
        with session(OURS, home, more) as first:
            first.initialize()
            first.list_tools()
            deadline = time.monotonic() + PRIMED_S  # or it was there already
            while _snapshots(home) == before and time.monotonic() < deadline:
                time.sleep(0.1)


def _snapshots(home: Home) -> int:
    return len(list((home.own / "snapshots").glob("*.json")))


def front_figures(
    home: Home, large: Home | None, *, question: str, repetitions: int
) -> Iterator[Figure]:
    """Figures of sessions that begin from a snapshot. large: where the first search is timed."""
    keep_snapshot(home)
    bare = [_begin(BARE, home, call=None) for _ in range(repetitions)]
    straight = [_begin(OURS, home) for _ in range(repetitions)]
    plain = [_begin(PLAIN, home) for _ in range(repetitions)]
    floor = Spread.of([x.listed for x in bare])
    for name, values in (
        ("spawn -> initialize, from a snapshot", [x.initialize for x in straight]),
        ("spawn -> tools/list, from a snapshot", [x.listed for x in straight]),
    ):
        yield _figure(name, "ms", values, floor, LISTED_MS)
    megabytes = Spread.of([x.listed_mb for x in bare])
    mb = [x.listed_mb for x in straight]
    yield _figure("memory after the lists, from a snapshot", "MB", mb, megabytes, LISTED_MB)
    yield _together(home, repetitions=max(2, repetitions // 3))
    ended = Spread.of([x.ended for x in plain])
    yield Figure(
        name="spawn -> first call straight away",
        unit="ms",
        measured=Spread.of([x.ended for x in straight]),
        floor=ended,
        limit=ended.median * STRAIGHT_SHARE,
        rule=f"{STRAIGHT_SHARE} x without a snapshot",
    )
    idle = [_begin(OURS, home, idle_s=1.0) for _ in range(repetitions)]
    own = Spread.of([_second_call(home) for _ in range(min(3, repetitions))])
    yield Figure(
        name="first call after 1 s of idling",
        unit="ms",
        measured=Spread.of([x.call for x in idle]),
        floor=own,
        limit=own.median + IDLE_CALL_MS,
        rule=f"its own work + {IDLE_CALL_MS:.0f}",
    )
    if large is not None:
        keep_snapshot(large)
        search = ("search_journal", {"query": question})
        found = [_begin(OURS, large, idle_s=2.0, call=search).call for _ in range(repetitions)]
        yield _figure("first search after 2 s of idling", "ms", found, None, IDLE_SEARCH_MS)
    for name, more in (("on", {}), ("off", {"COMMONPLACE_PRELOAD": "0"})):
        rest = [_begin(OURS, home, call=None, rest_s=REST_S, more=more).rest_mb for _ in range(2)]
        yield _figure(f"memory 10 s after the lists, preloading {name}", "MB", rest, None, None)


def _figure(
    name: str, unit: str, values: list[float], floor: Spread | None, limit: float | None
) -> Figure:
    rule = "" if limit is None else f"{limit:.0f} {unit}"
    return Figure(
        name=name, unit=unit, measured=Spread.of(values), floor=floor, limit=limit, rule=rule
    )


def _begin(
    command: tuple[str, ...],
    home: Home,
    *,
    idle_s: float = 0.0,
    call: tuple[str, Mapping[str, object]] | None = _QUICK,
    rest_s: float = 0.0,
    more: dict[str, str] | None = None,
) -> Begun:
    with session(command, home, more) as one:
        initialize, listed = one.initialize(), one.list_tools()
        listed_mb = one.rss_mb()
        time.sleep(idle_s + rest_s)
        began = one.ms()
        if call is not None:
            one.call(call[0], **call[1])
        ended = one.ms()
        return Begun(initialize, listed, listed_mb, ended - began, ended, one.rss_mb())


def _second_call(home: Home) -> float:
    """What the call itself costs, in a server that has answered one."""
    with session(PLAIN, home) as one:
        one.initialize()
        one.call(_QUICK[0], **_QUICK[1])
        time.sleep(2.0)
        began = one.ms()
        one.call(_QUICK[0], **_QUICK[1])
        return one.ms() - began


def _together(home: Home, *, repetitions: int) -> Figure:
    """Ten sessions spawned at once, until the last of them has listed its tools."""
    return _figure(
        f"{TOGETHER} sessions at once, all listed",
        "ms",
        [_round(home) for _ in range(repetitions)],
        None,
        TOGETHER_MS,
    )


def _round(home: Home) -> float:
    listed: list[float] = []
    began = time.perf_counter()

    def begin() -> None:
        with ExitStack() as stack:
            one = stack.enter_context(session(OURS, home))
            one.initialize()
            one.list_tools()
            listed.append((time.perf_counter() - began) * 1000)

    threads = [threading.Thread(target=begin) for _ in range(TOGETHER)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return max(listed)
