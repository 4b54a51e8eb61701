"""Ten sessions of one project by the real Claude Code, and what the eleventh is told of them.

Set up as `commonplace setup` leaves it; a scripted model writes down 18 facts with the tools that
are meant for them, and 4 are only said, by the user or the model. The question for everything names
none of them; of 22 narrow ones each asks for one.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import pytest
from tests.doors.npm import needs_clients
from tests.doors.real_clients import claude_session, plain_environment
from tests.doors.scripted_model import ScriptedModel, call
from tests.doors.setup.commands import setup

from commonplace.core.text import tokens_in

pytestmark = [*needs_clients, pytest.mark.world]


class Session(NamedTuple):
    """What is typed, which tools the model calls, what it answers last; words of each fact in it."""

    asked: str
    calls: tuple
    answered: str
    signs: tuple[str, ...]


def done(message, *tags):
    """A call that logs what was done."""
    return call("add_entry", message=message, tags=[*tags], asked=False)


def noted(**thoughts):
    """A call that writes into the private journal."""
    return call("process_thoughts", **thoughts)


SESSIONS = (
    Session(
        "Start-up takes four seconds. Find out why, and mend it.",
        (
            done(
                "Moved the tide tables from CSV to SQLite; start-up fell from 4 s to 0.3 s.",
                "start-up",
            ),
            noted(
                project_notes="The pressure sensor answers with garbage for two seconds after power-up: wait before the first read."
            ),
        ),
        "Start-up takes 0.3 seconds now; most of it was spent on parsing the tide tables.",
        ("tide tables from CSV to SQLite", "garbage for two seconds"),
    ),
    Session(
        "The gate opened twice at ten. And keep in mind that the staging gate has no camera.",
        (
            done(
                "Fixed the gate opening twice at the hour: the scheduler fired on both ticks.",
                "scheduler",
            ),
            noted(user_context="Prefers small commits whose body says why."),
        ),
        "The scheduler fired on both ticks of the hour; it now remembers the last one.",
        ("gate opening twice", "Prefers small commits", "staging gate has no camera"),
    ),
    Session(
        "Which zone do we keep times in? Settle it, and write it down.",
        (
            done(
                "Decided to keep all times in UTC and to convert them at the display, since the quays lie in two zones.",
                "decision",
            ),
            noted(project_notes="TODO: the backup job leaves out the calibration table."),
        ),
        "All times are kept in UTC from now on, and the display converts them.",
        ("all times in UTC", "leaves out the calibration table"),
    ),
    Session(
        "Bring 2.3 to the north gate.",
        (
            done("Deployed 2.3 to the north gate.", "release"),
            done("Raised the serial time-out of the pressure sensor to 800 ms.", "sensor"),
        ),
        "2.3 runs at the north gate. The nightly report is slow because the readings lost their index.",
        ("Deployed 2.3", "serial time-out", "readings lost their index"),
    ),
    Session(
        "Should the gates report by MQTT?",
        (
            done(
                "Decided against MQTT: there is no broker at the quay. The gates are polled by HTTP every 30 s.",
                "decision",
            ),
            noted(
                project_notes="The simulator needs port 7443; where it is taken it hangs without an error."
            ),
        ),
        "No: there is no broker at the quay, so the gates are polled.",
        ("Decided against MQTT", "needs port 7443"),
    ),
    Session(
        "CI was red again last night. What is it?",
        (
            noted(project_notes="CI fails at midnight UTC: the tide of its fixture ends there."),
            noted(user_context="Wants answers without tables."),
        ),
        "The tide of the fixture ends at midnight UTC.",
        ("fails at midnight UTC", "answers without tables"),
    ),
    Session(
        "Rename gate_margin, nobody understands it. The licence of the driver ends with 5.2, so stay below it.",
        (done("Renamed the setting gate_margin to clearance_cm.", "settings"),),
        "It is called clearance_cm now, and the old name is still read.",
        ("gate_margin to clearance_cm", "licence of the driver ends with 5.2"),
    ),
    Session(
        "Throw out the Lua hooks if nothing uses them.",
        (
            done("Removed the Lua hooks: nothing used them.", "clean-up"),
            noted(project_notes="The gate's controller takes at most 12 commands a minute."),
        ),
        "They are gone; the dashboard leaked memory because it never closed its web socket.",
        ("Removed the Lua hooks", "12 commands a minute", "never closed its web socket"),
    ),
    Session(
        "How do we number migrations?",
        (
            done(
                "Convention: a migration is numbered, and never edited once it was released.",
                "convention",
            ),
        ),
        "By numbers without a gap; a released one is never edited.",
        ("migration is numbered",),
    ),
    Session(
        "Drop /v1/levels when it can go.",
        (
            noted(project_notes="TODO: drop /v1/levels once the display reads /v2."),
            noted(user_context="Runs the tests by `just check` alone."),
        ),
        "It cannot go yet: the display still reads it.",
        ("drop /v1/levels once", "just check"),
    ),
)

SIGNS = [sign for session in SESSIONS for sign in session.signs]
MOST_TOKENS = 1_500
QUESTION = "What do we know about this project?"
NARROW = {
    "Why did start-up get faster?": "tide tables from CSV to SQLite",
    "What does the pressure sensor do after power-up?": "garbage for two seconds",
    "Why did the gate open twice at ten?": "gate opening twice",
    "How does the user like commits?": "Prefers small commits",
    "Which gate has no camera?": "staging gate has no camera",
    "Which time zone are times kept in?": "all times in UTC",
    "What does the backup job miss?": "leaves out the calibration table",
    "Which version runs at the north gate?": "Deployed 2.3",
    "What was changed about the serial connection of the sensor?": "serial time-out",
    "Why is the nightly report slow?": "readings lost their index",
    "Do the gates report by MQTT?": "Decided against MQTT",
    "Which port does the simulator use?": "needs port 7443",
    "Why does CI fail at night?": "fails at midnight UTC",
    "How should answers be formatted?": "answers without tables",
    "What is gate_margin called now?": "gate_margin to clearance_cm",
    "Which version of the driver may we use?": "licence of the driver ends with 5.2",
    "What happened to the Lua hooks?": "Removed the Lua hooks",
    "How many commands can the controller take?": "12 commands a minute",
    "Why did the dashboard leak memory?": "never closed its web socket",
    "How are migrations numbered?": "migration is numbered",
    "When can /v1/levels be dropped?": "drop /v1/levels once",
    "How are the tests run?": "just check",
}
"""Each with words of the fact that answers it."""
NARROW_TOKENS = 5_000
"""Of the answers to all of them."""


def missing(text, signs=SIGNS):
    """The facts that a text does not hold."""
    shown = " ".join(text.replace("\\n", " ").split())
    return [sign for sign in signs if sign not in shown]


def test_the_eleventh_session_knows_what_ten_wrote_and_said(monkeypatch):
    """All 22 facts stand in its brief, in one recall for everything, each in one that asks for it."""
    plain_environment(monkeypatch)
    setup("claude-code", "--allow", "all")
    for each in SESSIONS:
        with ScriptedModel(*each.calls, done=each.answered) as model:
            claude_session(model, each.asked)
        assert len(model.given) == len(each.calls)
    with ScriptedModel(*(call("recall", query=asked) for asked in (QUESTION, *NARROW))) as model:
        claude_session(model, QUESTION)
    brief = re.search(r"<commonplace-brief>.*?</commonplace-brief>", model.asked[0])[0]
    assert missing(brief) == []
    assert tokens_in(json.loads(f'"{brief}"')) <= MOST_TOKENS
    everything, *narrow = model.given
    assert missing(everything) == []
    answers = zip(NARROW.values(), narrow, strict=True)
    assert [sign for sign, given in answers if missing(given, [sign])] == []
    assert sum(map(tokens_in, narrow)) <= NARROW_TOKENS
