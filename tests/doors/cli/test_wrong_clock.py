"""A clock that is wrong once deletes nothing for good: what has expired by it is hidden."""

from __future__ import annotations

import contextlib
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.doors.forked import DAYS_AHEAD, ForkedCommands
from tests.doors.terminal import facts, run

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace_testing import FrozenClock

SECRET = "the blue door behind the bakery opens with four seven one one, Ann said so"
DAY_S = 86_400
WRITES = [
    ("private", "write", SECRET),
    ("log", SECRET),
    ("timeline", "add", SECRET),
    ("memory", "save", "gratitude", SECRET),
    ("notebook", "write", "door", SECRET),
]
COMMANDS = [
    ("list",),
    ("recall", "bakery"),
    ("when", "bakery"),
    ("brief",),
    ("doctor",),
    ("status",),
    ("chronicle", "list"),
    ("chronicle", "search", "bakery"),
    ("chronicle", "export"),
    ("private", "list"),
    ("private", "search", "bakery"),
    ("notebook", "log", "door"),
    ("timeline", "range", "this year"),
    ("timeline", "search", "bakery"),
    ("timeline", "context", "bakery"),
    ("timeline", "show", "today"),
    ("memory", "list", "gratitude"),
    ("memory", "search", "bakery"),
    ("rollup", "--due"),
    ("log", "a quiet harbour"),
]


@pytest.fixture(scope="module")
def run_wrong():
    """What a command prints in a process whose clock is so many days ahead."""
    commands = ForkedCommands(DAYS_AHEAD)

    def run_there(*words, days=400, code=None):
        left, printed = commands.run(*words, env={**os.environ, "DAYS_AHEAD": str(days)})
        assert left in ({0, 1, 3} if code is None else {code}), printed
        return printed

    yield run_there
    commands.close()


def holders():
    """The files below the home that hold the text, but for git's, which keeps its history."""
    files = [path for path in Path.home().rglob("*") if path.is_file() and ".git" not in path.parts]
    return [str(path) for path in files if SECRET.encode() in path.read_bytes()]


@pytest.fixture
def refs(no_weights):
    """An entry in each journal, which expires in 30 days, and a file of another program."""
    (Path.home() / ".bash_history").touch()
    found = []
    for words in WRITES:
        said = facts(*words, "--expires", "in 30 days")
        found.append(said.get("ref") or said["refs"][0])
    return found


def test_no_command_shows_what_has_expired_by_it_and_none_forgets_it(refs, run_wrong, counted):
    """Of any journal, whether the command reads or writes; by the right clock all is there."""
    for words in COMMANDS:
        assert "four seven" not in run_wrong(*words), words
    for ref in refs:
        assert "four seven" not in run_wrong("open", ref)
        assert "four seven" in run("open", ref).stdout
    assert {x["ref"] for x in facts("list")["items"]} >= set(refs)
    for journal in ("private", "chronicle", "memory", "timeline", "notebook"):
        assert "four seven" in run("recall", "bakery door", "--journal", journal).stdout, journal
    counted("commands by a clock that is wrong", len(COMMANDS) + len(refs))


def test_by_a_right_clock_it_goes_with_the_next_search_or_write(refs, run_wrong):
    """Another program's file of the day before bears the present out, whatever was seen before."""
    run_wrong("list")
    os.utime(Path.home() / ".bash_history", (time.time() + 39.5 * DAY_S,) * 2)
    run_wrong("recall", "bakery", days=40)
    assert holders() == []


def test_what_has_expired_is_named_and_can_be_forgotten_by_hand_or_kept(refs, run_wrong):
    """`doctor` says why it is there; `expire --now` says that the clock is right."""
    said = run_wrong("doctor")
    assert "expired and is hidden" in " ".join(said.split())
    assert "commonplace expire --now" in said
    noted = run_wrong("log", "a quiet harbour")
    assert "What has expired is only hidden: the clock says" in " ".join(noted.split())
    assert "Refusing to delete" in run_wrong("expire", "--now", code=2)
    kept, *gone = refs
    run_wrong("expire", kept, "--never")
    done = run_wrong("expire", "--now", "--yes")
    assert all(f"Forgot {ref}." in done for ref in gone)
    assert "four seven" in run_wrong("open", kept)
    assert [run("open", ref).exit_code for ref in gone[:3]] == [3] * 3  # git keeps the fourth


@contextlib.contextmanager
def app_at(clock):
    """The app of this home, by another clock."""
    app = App(read_settings(cwd=Path.cwd(), home=Path.home()), user_home=Path.home(), clock=clock)
    with contextlib.closing(app):
        yield app


def test_where_nothing_else_writes_it_goes_a_day_after_it_was_first_seen(refs):
    """As for a user who was away for a year, on a machine without any other program's files."""
    os.utime(Path.home() / ".bash_history")
    first = datetime.now(UTC) + timedelta(days=400)
    clock = FrozenClock(first)
    with app_at(clock) as app:
        recall = app.toolset("recall").tool("recall")
        for hours in (0, 23, 24):
            assert holders()
            clock.at = first + timedelta(hours=hours)
            assert recall.call({"query": "bakery"}).facts["count"] == 0
    assert holders() == []
