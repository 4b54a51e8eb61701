"""Waiting until all is found: what is waited for, and how it ends."""

from __future__ import annotations

import pytest

from commonplace.core.errors import Unavailable
from commonplace.core.values import Put
from commonplace.until_found import wait_until_found
from commonplace_testing import HashingEncoder, ReadySlot, a_doc, encode_all
from commonplace_testing.in_memory import MemoryIndex


class Filing:
    """Says what is behind, and does nothing by itself."""

    def __init__(self, *behind):
        self.behind = behind

    def refresh(self, wait_s):
        return self.behind

    def settle(self, identity, wait_s):
        return ()


class Seconds:
    """A clock that goes on with each pause, at which something may be done."""

    def __init__(self, after=lambda: None):
        self.now = 0.0
        self.pauses = 0
        self.after = after

    def pause(self, wait_s):
        self.now += wait_s
        self.pauses += 1
        self.after()

    def wait(self, filing, index, slot, timeout_s):
        wait_until_found(
            filing, index, slot, timeout_s, monotonic=lambda: self.now, pause=self.pause
        )


@pytest.fixture
def index():
    """With one entry that has no vector."""
    made = MemoryIndex().of_owner("ann")
    made.apply([Put(a_doc("n:1", "harbour"))])
    return made


def test_it_returns_once_the_last_vector_is_there(index):
    """Whoever made it, another process too."""
    encoder = HashingEncoder()
    seconds = Seconds(after=lambda: encode_all(index, encoder))
    seconds.wait(Filing(), index, ReadySlot(encoder), 60.0)
    assert seconds.pauses == 1


def test_it_says_how_much_waits_after_its_time(index):
    """And what can be done."""
    seconds = Seconds()
    with pytest.raises(Unavailable) as error:
        seconds.wait(Filing(), index, ReadySlot(HashingEncoder()), 5.0)
    assert error.value.message == (
        "Not all is found by meaning after 5 s: 1 entry waits for its vector."
    )
    assert error.value.hint == "Wait longer; words find what is filed."
    assert seconds.now == pytest.approx(5.0)


def test_it_says_what_is_not_filed_after_its_time(index):
    """A journal that is behind is named in the filing's words."""
    encoder = HashingEncoder()
    encode_all(index, encoder)
    with pytest.raises(Unavailable, match="after 0 s: The notebook is locked"):
        Seconds().wait(Filing("The notebook is locked."), index, ReadySlot(encoder), 0)
