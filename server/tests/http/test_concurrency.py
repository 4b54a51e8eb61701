"""How many calls of a server work at once."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from commonplace.core.errors import Unavailable
from commonplace_server.http.concurrency import (
    FEWEST,
    MOST,
    QUESTIONS,
    QUESTIONS_OF_ONE,
    SLOW_S,
    ConcurrencyLimit,
)


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
    concurrency = ConcurrencyLimit(monotonic=seconds)
    with ExitStack() as calls:
        for _ in range(10):
            calls.enter_context(concurrency.working())
        assert concurrency.room() == FEWEST == 4


def test_a_slow_call_makes_room_for_another(seconds):
    """Until it ends; and never for more than a process can bear."""
    concurrency = ConcurrencyLimit(monotonic=seconds)
    with ExitStack() as calls:
        for _ in range(3):
            calls.enter_context(concurrency.working())
        seconds.now += SLOW_S
        calls.enter_context(concurrency.working())
        assert concurrency.room() == 7
        for _ in range(100):
            calls.enter_context(concurrency.working())
        seconds.now += SLOW_S
        assert concurrency.room() == MOST
    assert concurrency.room() == 4


def test_each_core_has_a_call(monkeypatch):
    """On a machine of many."""
    monkeypatch.setattr("os.cpu_count", lambda: 32)
    assert ConcurrencyLimit().room() == 32


def test_a_call_that_waits_for_its_clients_model_takes_no_ones_room(seconds):
    """As long as it waits; afterwards it works again, and is as quick as any."""
    concurrency = ConcurrencyLimit(monotonic=seconds)
    with concurrency.working() as call:
        with concurrency.asking("ann", call):
            assert concurrency.room() == FEWEST + 1
            seconds.now += 10 * SLOW_S
            assert concurrency.room() == FEWEST + 1
        assert concurrency.room() == FEWEST
    with ExitStack() as calls:
        for _ in range(MOST):
            calls.enter_context(concurrency.working())
        seconds.now += SLOW_S
        calls.enter_context(concurrency.asking("ann", calls.enter_context(concurrency.working())))
        assert concurrency.room() == MOST + 1


def test_few_questions_to_models_wait_at_a_time():
    """So many of one owner, so many of all; one that is over makes room."""
    concurrency = ConcurrencyLimit()
    with ExitStack() as calls:
        owners = [f"user{n}" for n in range(QUESTIONS // QUESTIONS_OF_ONE)]
        for owner in owners:
            with ExitStack() as of_one:
                for _ in range(QUESTIONS_OF_ONE):
                    of_one.enter_context(concurrency.asking(owner, object()))
                with pytest.raises(Unavailable, match="4 questions open already"):
                    calls.enter_context(concurrency.asking(owner, object()))
                calls.push(of_one.pop_all())
        with pytest.raises(Unavailable, match="Too many"):
            calls.enter_context(concurrency.asking("one more", object()))
    with concurrency.asking("one more", object()):
        assert concurrency.room() > 1
