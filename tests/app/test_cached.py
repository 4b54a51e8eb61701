"""What is wired once, whichever Python it is and however many threads ask."""

from __future__ import annotations

import threading

from commonplace.app.cached import locked_cached_property


class JournalWiring:
    """Counts how often its part was made."""

    def __init__(self) -> None:
        self.wiring = threading.RLock()
        self.made = 0
        self.gate = threading.Barrier(8)

    @locked_cached_property
    def part(self) -> object:
        """The part."""
        self.made += 1
        return object()


def test_eight_threads_get_one_part():
    """It is made once, and is the instance's own attribute afterwards."""
    wired, got = JournalWiring(), []

    def ask() -> None:
        wired.gate.wait()
        got.append(wired.part)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wired.made == 1
    assert set(got) == {vars(wired)["part"]}
    assert JournalWiring.part.__doc__ == "The part."
