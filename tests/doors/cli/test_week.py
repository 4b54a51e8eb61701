"""A week of a new user in the terminal alone: written, found, corrected, ticked, forgotten.

Every line is the real command on a terminal, whose clock is that of the day.
"""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.doors.forked import DAYS_AHEAD, ForkedCommands
from tests.doors.terminal import facts, one_terminal

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty"),
]

SECRET = "The chest lies under the third plank"


class Person:
    """Someone at a terminal, who began on the next Monday at nine."""

    def __init__(self, commands, terminal):
        now = datetime.now(UTC)
        monday = now + timedelta(days=7 - now.weekday())
        self._ahead = monday.replace(hour=9, minute=0) - now
        self._commands = commands
        self._terminal = terminal

    def types(self, *words, answer="", code=0):
        """What the terminal shows of a command, on which what it asks is answered so."""
        self._terminal(*words, out=None, typed=answer.encode(), env=self._environment())
        text = self._terminal.shown().decode().replace("\r\n", "\n")
        assert self._terminal.code == code, text
        return text

    def lets_assistant_log(self, *messages):
        """Have an assistant log something, which has no terminal."""
        for message in messages:
            code, printed = self._commands.run("log", message, env=self._environment())
            assert code == 0, printed

    def wakes_up(self):
        """It is the next morning, and some other program has written a file."""
        self._ahead += timedelta(days=1)
        at = time.time() + self._ahead.total_seconds()
        history = Path.home() / ".bash_history"
        history.touch()
        os.utime(history, (at, at))

    def _environment(self):
        return {**os.environ, "DAYS_AHEAD": str(self._ahead / timedelta(days=1))}


@pytest.fixture
def person(words_only, monkeypatch):
    """A new user, in a repository, at a terminal of eighty columns without colours."""
    for name, value in {"COLUMNS": "80", "LINES": "60", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TERM", "xterm-256color")
    subprocess.run(["git", "init", "-q"], check=True)
    with closing(ForkedCommands(DAYS_AHEAD)) as commands, one_terminal(commands) as terminal:
        yield Person(commands, terminal)


def part(shown, name):
    """The lines of Today below a heading that begins so."""
    _, _, rest = shown.partition(f"\n{name}")
    return rest.partition("\n\n")[0].splitlines()[1:]


def numbers_of(shown):
    """The first line of each entry of a list, by its number."""
    lines = [line.split(None, 1) for line in shown.splitlines() if line[:3].strip().isdigit()]
    return {int(number): text for number, text in lines}


def number_of(shown, words):
    """Under which number a list shows some words."""
    (found,) = (number for number, text in numbers_of(shown).items() if words in text)
    return str(found)


def monday(person):
    """An empty home says how to begin; a line, a convention, a to-do, all in few words."""
    shown = person.types()
    assert 'commonplace log "what you just did"' in shown
    assert "Host harborlight on Fly.io" in person.types("log", "Host harborlight on Fly.io")
    assert "Sessions of project are told" in person.types("remember", "we deploy on Fridays")
    person.types("note", "Deployed the harbour page", "-t", "deploy")
    assert person.types("todo", "paint", "the", "pier") == "To do: paint the pier\n"
    shown = person.types()
    assert [x.split("memory")[1].strip() for x in part(shown, "Open")] == ["paint the pier"]
    assert len(part(shown, "Last in project")) == 3
    assert "new thing" not in shown
    person.lets_assistant_log("Drew the berhts", "Tested the pier", "The api listens on port 8000")


def tuesday(person):
    """What an assistant wrote meanwhile is seen, opened, corrected, taken back, and corrected."""
    shown = person.types()
    assert "commonplace today --seen" in shown
    new = [line for line in part(shown, "Last in project") if "[new]" in line]
    assert [line.split("[new] ")[1] for line in new] == [
        "The api listens on port 8000",
        "Tested the pier",
        "Drew the berhts",
    ]
    assert "[new]" not in person.types("today", "--seen")
    shown = person.types("list", "yesterday")
    assert len(numbers_of(shown)) == 7
    wrong = number_of(shown, "Drew the berhts")
    assert "Drew the berhts" in person.types("open", wrong)
    assert "Drew the berths" in person.types("edit", wrong, "Drew the berths")
    person.types("undo", answer="y\n")
    assert "Drew the berhts" in person.types("show", wrong)
    person.types("edit", wrong, "Drew the berths")
    person.types("log", "monday 9am:", "Swept the quay")


def wednesday(person):
    """What is to be done is ticked, opened again by an undo, and done."""
    assert person.types("todo").endswith("paint the pier\n")
    assert person.types("todo", "--ref", "1", "--done") == "Done: paint the pier\n"
    shown = person.types("today")
    assert part(shown, "Open") == []
    assert any("paint the pier #done" in line for line in shown.splitlines())
    person.types("undo", answer="y\n")
    assert part(person.types("today"), "Open")
    person.types("todo", "--ref", "1", "--done")


def thursday(person):
    """Found by words, by a question of when, and by a day."""
    found = numbers_of(person.types("recall", "who drew the berths"))
    assert "Drew the berths" in found[1]
    assert "Deployed the harbour page" in person.types("when", "did", "I", "last", "deploy")
    assert "Swept the quay" in person.types("list", "monday", "-j", "chronicle")
    refused = person.types("list", "5", code=2)
    assert "commonplace list -n 5" in refused
    assert len(numbers_of(person.types("list", "-n", "5"))) == 5


def friday(person):
    """What holds now takes the place of what held; a thought goes by itself tomorrow."""
    shown = person.types("recall", "which port does the api listen on")
    former = number_of(shown, "port 8000")
    person.types("log", "The api listens on port 9000", "--supersedes", former)
    found = numbers_of(person.types("recall", "which port does the api listen on"))
    assert "port 9000" in found[1]
    person.types("note", "the gate code is 4711 today")
    shown = " ".join(person.types("expire", "-1", "tomorrow").split())
    assert shown.startswith("the gate code is 4711 today ")
    assert shown.endswith(" expires in 14 hours, tomorrow 00:00.")


def saturday(person):
    """What has expired is gone; what should not be here is deleted, or forgotten with a proof."""
    assert "gate code" not in person.types("list", "-n", "50")
    person.types("note", "a line too many")
    person.types("rm", "-1", answer="y\n")
    assert "a line too many" not in person.types("list", "-n", "50")
    person.types("note", SECRET)
    shown = person.types("forget", "--query", "third plank", "--when", "today", answer="y\n")
    assert "Nothing of the text is left." in shown


def sunday(person):
    """The week is there, but for what was forgotten."""
    shown = person.types()
    assert part(shown, "Open") == []
    assert "plank" not in shown
    (replaced,) = (line for line in shown.splitlines() if "[replaced 2" in line)
    assert "The api listens on" in replaced
    week = facts("list", "-n", "50")["items"]
    assert {each["text"] for each in week} == {
        "Host harborlight on Fly.io",
        "Convention: we deploy on Fridays",
        "Deployed the harbour page",
        "Drew the berths",
        "Tested the pier",
        "The api listens on port 8000",
        "The api listens on port 9000",
        "Swept the quay",
        "paint the pier",
    }
    files = [path for path in Path.home().rglob("*") if path.is_file()]
    assert [x for x in files if b"third plank" in x.read_bytes()] == []
    assert [x for x in files if b"gate code" in x.read_bytes()] == []


def test_a_week_in_the_terminal_alone(person):
    """Seven days: written, found, corrected, ticked, replaced, forgotten; and nothing is lost."""
    for day in (monday, tuesday, wednesday, thursday, friday, saturday, sunday):
        day(person)
        person.wakes_up()
