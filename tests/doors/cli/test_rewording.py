"""`commonplace rollup --due` with a language model: put into words, or told why not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.doors.terminal import facts, run

from commonplace_testing.language import FakeLLM, busy, summarising


@pytest.fixture
def fake(words_only, monkeypatch):
    """A model that is set, and one entry of a year that is over."""
    monkeypatch.setenv("COMMONPLACE_LLM_MODEL", "small")
    facts("timeline", "add", "Created the work_log table", "--at", "2020-10-07 14:05")
    with FakeLLM(summarising("Created the work_log table")) as server:
        monkeypatch.setenv("COMMONPLACE_LLM_URL", server.url)
        yield server


def test_what_is_due_is_put_into_words(fake):
    """Hour, day, week, month and year; found by its new words, and done once."""
    done = run("rollup", "--due")
    assert "A model put 5 periods into words." in done.stdout
    shown = run("timeline", "show", "2020-10-07", "--depth", "0").stdout
    assert "**7 October 2020**\n\n**Accomplishments**:\n• Created the work_log table" in shown
    again = facts("rollup", "--due")
    assert (again["model"]["done"], len(fake.asked)) == (0, 5)
    hour = facts("timeline", "show", "2020-10-07 14")
    log = Path.home() / ".local/share/commonplace/users/me/journal/rollups.log"
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert {x["model"] for x in told} == {"", "fake-1"}
    assert "[14:00-15:00] Created the work_log table." in hour["text"]


def test_a_model_that_fails_is_a_note(fake, monkeypatch):
    """The command ends well: the extractive summary stands."""
    monkeypatch.setenv("COMMONPLACE_LLM_TIMEOUT_S", "60")
    fake.say(busy(after="100"))
    done = facts("rollup", "--due")
    assert done["model"]["done"] == 0
    assert "429" in done["notes"][0]
    monkeypatch.setenv("COMMONPLACE_LLM_KEY_VARIABLE", "NO_SUCH_KEY")
    assert "NO_SUCH_KEY" in facts("rollup", "--due")["notes"][0]
    assert "1 entry" in facts("timeline", "show", "2020-10-07 14")["text"]


def test_a_cap_is_a_note(fake, monkeypatch):
    """With what was spent, and what would be needed."""
    monkeypatch.setenv("COMMONPLACE_LLM_TOKENS_PER_DAY", "10")
    assert "Today's tokens are spent: 0 of 10" in facts("rollup", "--due")["notes"][0]
    assert fake.asked == []
