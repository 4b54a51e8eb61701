"""What the hooks' figures stand on: a home with entries of its project, and a turn for each pause."""

from __future__ import annotations

import sys

from bench.hooks import TURNS, make_home, run_alone, send
from tests.patience import until


def test_a_session_starts_with_a_brief_and_a_pause_copies_a_turn(tmp_path):
    """So neither figure is that of a hook that finds nothing to do."""
    home = make_home(tmp_path / "home", entries=40)
    sent = send(home, 1)

    def peak_mb(event):
        hook = [sys.executable, "-P", "-m", "commonplace", "hook", event]
        return run_alone(hook, home, sent).peak_mb

    assert peak_mb("session-start") > 1

    def paused():
        assert peak_mb("stop") > 1
        return [*home.own.rglob("s-1.jsonl")]

    # Again where its own deadline cut it off, on a machine too busy for it.
    until(paused, "the turns of a pause to be copied")
    (copy,) = paused()
    assert len(copy.read_text().splitlines()) == TURNS
