"""What a session over stdio costs: its opening, its first calls, and its memory.

Never compares with another run: a bare server of the SDK takes turns with ours.
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

LISTED_MS = 80.0
LISTED_MB = 14.0
FIRST_CALL_MS = 450.0
TOGETHER = 10
TOGETHER_MS = 600.0
IDLE_CALL_MS = 30.0
IDLE_SEARCH_MS = 150.0
REST_S = 10.0
_ALONE = {"COMMONPLACE_PRELOAD": "0"}
_QUICK = ("list_recent_entries", {"limit": 1})
_FIRST = (
    ("add_entry", {"message": "measured a first call"}),
    ("recall", {"query": "measured first call"}),
)


class Begun(Struct, frozen=True):
    """Processor ms to the lists and the end; ms of the call; MB after the lists and at the end."""

    listed_cpu: float
    listed_mb: float
    ended_cpu: float
    call: float
    rest_mb: float


def opening_figures(
    home: Home, large: Home | None, *, question: str, repetitions: int
) -> Iterator[Figure]:
    """Figures of sessions. large: where the first search is timed."""
    bare = [_begin(BARE, home, call=None) for _ in range(repetitions)]
    ours = [_begin(OURS, home, call=None, more=_ALONE) for _ in range(repetitions)]
    floor = Spread.of([x.listed_cpu for x in bare])
    listed = [x.listed_cpu for x in ours]
    yield _figure("spawn -> tools/list, processor", "ms", listed, floor, LISTED_MS)
    megabytes = Spread.of([x.listed_mb for x in bare])
    mb = [x.listed_mb for x in ours]
    yield _figure("memory after the lists", "MB", mb, megabytes, LISTED_MB)
    for call in _FIRST:
        called = [_begin(OURS, home, call=call, more=_ALONE) for _ in range(repetitions)]
        name = f"spawn -> first call ({call[0]}), processor"
        yield _figure(name, "ms", [x.ended_cpu for x in called], floor, FIRST_CALL_MS)
    yield _together(home, repetitions=max(2, repetitions // 3))
    idle = [_begin(OURS, home, idle_s=2.0) for _ in range(repetitions)]
    own = Spread.of([_second_call(home) for _ in range(min(3, repetitions))])
    yield Figure(
        name="first call after 2 s of idling",
        unit="ms",
        measured=Spread.of([x.call for x in idle]),
        floor=own,
        limit=own.median + IDLE_CALL_MS,
        rule=f"its own work + {IDLE_CALL_MS:.0f}",
    )
    if large is not None:
        search = ("search_journal", {"query": question})
        found = [_begin(OURS, large, idle_s=2.0, call=search).call for _ in range(repetitions)]
        yield _figure("first search after 2 s of idling", "ms", found, None, IDLE_SEARCH_MS)
    for name, more in (("on", {}), ("off", _ALONE)):
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
        one.initialize()
        one.list_tools()
        listed_cpu, listed_mb = one.cpu_ms(), one.rss_mb()
        time.sleep(idle_s + rest_s)
        began = one.ms()
        if call is not None:
            one.call(call[0], **call[1])
        ended, ended_cpu = one.ms(), one.cpu_ms()
        return Begun(listed_cpu, listed_mb, ended_cpu, ended - began, one.rss_mb())


def _second_call(home: Home) -> float:
    """What the call itself costs, in a server that has answered one."""
    with session(OURS, home) as one:
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
