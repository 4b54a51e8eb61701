"""What the hooks' figures stand on: a home with entries of its project, and a turn for each pause."""

from __future__ import annotations

import sys

from bench.hooks import TURNS, make_home, run_alone, send


def test_a_session_starts_with_a_brief_and_a_pause_copies_a_turn(tmp_path):
    """So neither figure is that of a hook that finds nothing to do."""
    home = make_home(tmp_path / "home", entries=40)
    sent = send(home, 1)
    hook = [sys.executable, "-P", "-m", "commonplace", "hook"]
    for event in ("stop", "session-start"):
        assert run_alone([*hook, event], home, sent).peak_mb > 1
    (copy,) = home.own.rglob("s-1.jsonl")
    assert len(copy.read_text().splitlines()) == TURNS
