"""What is safe, what is not yet, and how long that may wait."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from tests.cases import cases
from tests.doors.hooks.transcripts import our_folder, write_transcript

from commonplace.journals.transcripts.clients.parsing import Kept
from commonplace.journals.transcripts.copying import copy_new
from commonplace.journals.transcripts.store import TranscriptStore
from commonplace.verbs.transcripts.safety import read_safety

DAY_S = 86_400


@pytest.fixture
def store():
    found = TranscriptStore(str(our_folder()))
    yield found
    found.close()


def sentence(store, *, now=None, subagents=False):
    found = read_safety(
        store, home=str(Path.home()), environ={}, now=now or time.time(), subagents=subagents
    )
    return found.sentence


def copy(store, path):
    copy_new(store, "claude-code", str(path), kept=Kept())


def aged(path, days):
    """The original, changed so many days ago."""
    at = time.time() - days * DAY_S - 60
    os.utime(path, (at, at))


def test_nothing_is_said_of_no_sessions(store):
    """Nor is anything made."""
    assert sentence(store) == ""
    assert not our_folder().exists()


def test_what_is_copied_is_safe_also_when_its_original_is_gone(store):
    """It is ours from then on."""
    copy(store, write_transcript("s-1", 2))
    other = write_transcript("s-2", 2)
    copy(store, other)
    other.unlink()
    assert sentence(store) == "2 sessions safe."


def test_what_is_not_copied_waits_until_claude_code_deletes_it(store):
    """30 days after the oldest one's last change; a session that goes on is not safe yet."""
    for name, days in {"s-1": 0, "s-2": 26, "s-3": 3, "s-4": 29}.items():
        path = write_transcript(name, 2)
        if name in {"s-1", "s-4"}:
            copy(store, path)
        aged(path, days)
    assert (
        sentence(store) == "2 sessions safe, 2 not yet; Claude Code deletes the oldest in 3 days."
    )
    write_transcript("s-1", 1, first=2)
    assert sentence(store).startswith("1 session safe, 3 not yet; ")


@cases(
    ("settings", "when"),
    [
        ({"cleanupPeriodDays": 99}, "in 87 days"),
        ({"cleanupPeriodDays": 12}, "at any time now"),
        ({"cleanupPeriodDays": 12.5}, "in 1 day"),
        ({"cleanupPeriodDays": 3}, "at any time now"),
        ({"cleanupPeriodDays": "ten"}, "in 18 days"),
        ({"cleanupPeriodDays": -1}, "in 18 days"),
        ({}, "in 18 days"),
        ([], "in 18 days"),
    ],
)
def test_claude_code_s_own_settings_say_how_long(store, settings, when):
    """What it does not understand there does not count."""
    path = write_transcript("s-1", 2)
    aged(path, 11)
    (Path.home() / ".claude" / "settings.json").write_text(json.dumps(settings))
    assert sentence(store) == f"0 sessions safe, 1 not yet; Claude Code deletes the oldest {when}."


def test_a_client_that_deletes_nothing_is_not_said_to(store):
    """Codex keeps its rollouts."""
    folder = Path.home() / ".codex" / "sessions" / "2026" / "11" / "22"
    folder.mkdir(parents=True)
    name = "rollout-2026-11-22T10-00-00-0193a5b0-0000-7000-8000-000000000001.jsonl"
    (folder / name).write_text('{"type": "session_meta"}\n')
    assert sentence(store) == "0 sessions safe, 1 not yet."


def test_sub_agents_count_where_they_are_kept(store):
    """Else they would never be safe."""
    path = write_transcript("s-1", 2)
    copy(store, path)
    agents = path.parent / "s-1" / "subagents"
    agents.mkdir(parents=True)
    (agents / "agent-1.jsonl").write_text(path.read_text())
    assert sentence(store) == "1 session safe."
    assert sentence(store, subagents=True).startswith("0 sessions safe, 1 not yet; ")


@pytest.mark.parametrize("end", ["\n\n", '{"type": "us', "\n  "], ids=["blank", "torn", "spaces"])
def test_what_nobody_can_copy_of_an_end_keeps_no_session_from_being_safe(end, store):
    """A client that was killed leaves a torn line, on which no import ever gets further."""
    path = write_transcript("s-1", 3)
    with path.open("a") as file:
        file.write(end)
    assert sentence(store).startswith("0 sessions safe, 1 not yet")
    copy(store, path)
    assert sentence(store) == "1 session safe."
    with path.open("a") as file:
        file.write("\n")
    write_transcript("s-1", 1, first=3)
    assert sentence(store).startswith("0 sessions safe, 1 not yet")
    copy(store, path)
    assert sentence(store) == "1 session safe."
    assert [x.messages for x in store.sessions()] == [4]


def test_a_last_line_without_its_break_is_kept(store):
    """It is whole once its object is closed; what follows is kept once."""
    path = write_transcript("s-1", 3)
    path.write_text(path.read_text().rstrip("\n"))
    copy(store, path)
    assert (sentence(store), [x.messages for x in store.sessions()]) == ("1 session safe.", [3])
    with path.open("a") as file:
        file.write("\n")
    write_transcript("s-1", 1, first=3)
    copy(store, path)
    assert [x.messages for x in store.sessions()] == [4]


def test_a_folder_that_is_not_utf_8_is_counted(store):
    """Its name is bytes that no text has."""
    path = write_transcript("s-1", 3)
    folder = os.fsencode(path.parent) + b"-\xff"
    os.rename(path.parent, folder)
    assert sentence(store).startswith("0 sessions safe, 1 not yet")
    copy(store, os.fsdecode(folder + b"/" + os.fsencode(path.name)))
    assert sentence(store) == "1 session safe."
