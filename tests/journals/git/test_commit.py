"""Commits among other processes' commits."""

from __future__ import annotations

import pytest

from commonplace.core.errors import Conflict
from commonplace.journals.git.commit import BranchMoved, retry_while_branch_moves


def test_a_branch_that_never_rests_is_given_up():
    """After many tries, with longer and longer waits; the error still knows which repository."""
    waits = []

    def attempt():
        raise BranchMoved(
            "The notebook {place} has moved on.", hint="Try again.", place="/srv/notes"
        )

    with pytest.raises(Conflict) as caught:
        retry_while_branch_moves(attempt, sleep=waits.append)
    assert type(caught.value) is Conflict
    assert caught.value.located == "The notebook /srv/notes has moved on."
    assert caught.value.hint == "Others write all the time; try later."
    assert len(waits) == 199
    assert (waits[0], waits[-1]) == (0.01, 0.2)


def test_an_attempt_that_succeeds_ends_the_tries():
    """Its answer is handed on."""
    tries = []

    def attempt():
        tries.append(1)
        if len(tries) < 3:
            raise BranchMoved("The notebook has moved on.")
        return "abc"

    assert retry_while_branch_moves(attempt, sleep=lambda _: None) == "abc"
    assert len(tries) == 3
