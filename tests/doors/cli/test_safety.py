"""`status` and `doctor` say how many sessions are safe; commands copy what hooks left."""

from __future__ import annotations

import re

from tests.doors.hooks.hook_process import run_hook
from tests.doors.hooks.transcripts import ids_of, kept_ids, spooled, write_transcript
from tests.doors.terminal import facts, run

SAFE = "1 session safe, 1 not yet; Claude Code deletes the oldest in 29 days."


def test_status_and_doctor_say_it(no_weights):
    """In a sentence, and as numbers for programs."""
    assert "not yet" not in run("status").output
    run_hook("stop", transcript_path=str(write_transcript("s-1", 3)))
    write_transcript("s-2", 3)
    assert SAFE in run("status").output.splitlines()
    assert re.search(rf"^Transcripts .*\n +{re.escape(SAFE)}$", run("doctor").output, re.MULTILINE)
    counts = {"safe": 1, "waiting": 1, "days_left": 29, "left_out": []}
    assert facts("status")["sessions"] == counts


def test_a_command_copies_what_hooks_left(no_weights):
    """A session whose client was killed before it paused once is found by the next search."""
    path = write_transcript("s-1", 0)
    run_hook("session-start", transcript_path=str(path))
    write_transcript("s-1", 4, text="caulk the hull")
    (first, *_) = facts("recall", "caulk the hull")["items"]
    assert first["ref"].startswith("transcripts:claude-code/s-1#")
    assert kept_ids("s-1") == ids_of("s-1", 4)
    assert spooled() == [str(path)]


def test_where_nothing_is_to_be_captured_no_command_copies(monkeypatch, no_weights):
    """Not even what was noted before it was switched off."""
    path = write_transcript("s-1", 4)
    run_hook("session-start", transcript_path=str(path))
    monkeypatch.setenv("COMMONPLACE_TRANSCRIPTS_CAPTURE", "false")
    facts("status")
    assert kept_ids("s-1") == []
