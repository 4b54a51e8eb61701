"""Open pages are told when something was written, by whatever process."""

from __future__ import annotations

import math

import anyio

from commonplace.doors.web.application import OneApp
from commonplace.doors.web.updates import PING_EVERY, LiveMarks

NEW, NOTHING = b"event: new\ndata: \n\n", b": open\n\n"


def follow(world, count, between, *, end=math.inf, before_again=None):
    """The first events of a page; `between` is called with the number of each second before it.

    No page is open any more from the second `end` on. before_again: called between the events of a
    page and those of the next one, which are returned then.
    """
    seconds = [0.0]

    async def sleep(length):
        seconds[0] += length
        between(int(seconds[0]))

    async def is_open():
        return seconds[0] < end

    async def listen(marks):
        found = []
        async for event in marks.events("me", is_open=is_open):
            found.append(event)
            if len(found) == count:
                break
        return found

    async def run():
        marks = LiveMarks(OneApp(world.app), monotonic=lambda: seconds[0], sleep=sleep)
        found = await listen(marks)
        if before_again is None:
            return found
        before_again()
        seconds[0] += 60
        return await listen(marks)

    return anyio.run(run)


def test_what_was_written_before_a_page_listens_is_told(world):
    """After it was made, or while its connection was lost; where nothing was, nothing is told."""

    def write():
        world.call("chronicle", "add_entry", message="deployed meanwhile")

    assert follow(world, 1, str) == [NEW]  # the first of a server: whatever may have been
    assert follow(world, 1, str, before_again=str) == [NOTHING]
    assert follow(world, 1, str, before_again=write) == [NEW]


def test_what_was_written_is_told_within_a_second(world):
    """Once for each second in which something was written."""

    def write(second):
        if second in {2, 3}:
            world.call("chronicle", "add_entry", message=f"deployed {second}")

    assert follow(world, 3, write)[1:] == [NEW] * 2


def test_where_nothing_is_written_little_is_sent(world):
    """A line that says nothing, so that a browser which is gone is noticed."""
    seconds = []
    assert follow(world, 2, seconds.append)[1] == NOTHING
    assert seconds[-1] == PING_EVERY


def test_events_end_with_the_right_to_read(world):
    """As when a token is revoked, or the server stops: nothing more is sent."""

    def write(second):
        world.call("chronicle", "add_entry", message=f"deployed {second}")

    assert follow(world, 9, write, end=3) == [NEW] * 3


def test_nobody_else_listens(world):
    """Without the link nothing is told."""
    assert world.stranger().get("/live").status_code == 401
