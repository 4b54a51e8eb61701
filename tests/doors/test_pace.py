"""How many calls of a server work at once."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from commonplace.doors.pace import AT_ONCE, MOST, SLOW_S, Pace


class Seconds:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def seconds(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    return Seconds()


def test_quick_calls_make_no_room(seconds):
    """However many there are, as many work at once."""
    pace = Pace(monotonic=seconds)
    with ExitStack() as calls:
        for _ in range(10):
            calls.enter_context(pace.working())
        assert pace.room() == AT_ONCE == 4


def test_a_slow_call_makes_room_for_another(seconds):
    """Until it ends; and never for more than a process can bear."""
    pace = Pace(monotonic=seconds)
    with ExitStack() as calls:
        for _ in range(3):
            calls.enter_context(pace.working())
        seconds.now += SLOW_S
        calls.enter_context(pace.working())
        assert pace.room() == 7
        for _ in range(100):
            calls.enter_context(pace.working())
        seconds.now += SLOW_S
        assert pace.room() == MOST
    assert pace.room() == 4


def test_each_core_has_a_call(monkeypatch):
    """On a machine of many."""
    monkeypatch.setattr("os.cpu_count", lambda: 32)
    assert Pace().room() == 32
