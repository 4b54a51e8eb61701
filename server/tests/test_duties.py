"""Of several duties none waits for another that fails."""

from __future__ import annotations

import pytest

from commonplace_server.duties import each_duty


def failing(error):
    def duty():
        raise error

    return duty


def do_all(*duties):
    with each_duty() as do:
        for duty in duties:
            do(duty)


def test_each_has_its_turn_and_then_the_first_error_is_raised():
    """Whatever failed before and after."""
    done = []
    first, second = failing(ValueError("first")), failing(LookupError("second"))
    with pytest.raises(ValueError, match="first"):
        do_all(first, lambda: done.append(1), second, lambda: done.append(2))
    assert done == [1, 2]


def test_an_interrupt_stays_one_whatever_failed_before():
    """It ends the rest."""
    with pytest.raises(KeyboardInterrupt):
        do_all(failing(ValueError("first")), failing(KeyboardInterrupt()))
