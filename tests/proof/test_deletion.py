"""What was deleted is in no byte of a home: no file, log, index or word index bears a word of it."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.memory import Memory
from commonplace_testing import FrozenClock, HashingEncoder, ReadySlot

NOW = datetime(2025, 2, 1, tzinfo=UTC)
RETENTIONS = ("design", "raw=never,hourly=2d", "raw=24h,daily=2d")
ENTRIES = [24, pytest.param(150, marks=pytest.mark.whole)]


class Home:
    """A home whose processes come and go; every entry bears a word that no other one bears."""

    def __init__(self, home, **settings):
        self.home = Path(home)
        self.clock = FrozenClock(NOW)
        environ = {"COMMONPLACE_TIMEZONE": "UTC", **settings}
        self.settings = read_settings(cwd=home, home=home, environ=environ)
        self.random = random.Random(16)
        self.texts = {}
        self.open()

    def open(self):
        slot = ReadySlot(HashingEncoder())
        self.app = App(self.settings, user_home=self.home, clock=self.clock, encoder=slot)
        self.memory = Memory("me", settings=self.settings, clock=self.clock, encoder=slot)
        self.timeline = self.app.timeline_commands()

    def close(self):
        self.app.close()
        self.memory.close()

    def again(self):
        self.close()
        self.open()

    def sentence(self):
        """A text of a sentence or two, and the word that is its own."""
        word = "".join(self.random.choices("bcdfghjklmnpqrstvwxz", k=12))
        rest = " and the harbour was quiet" * self.random.randint(0, 12)
        return f"Met {word} at the gate{rest}.", word

    def search(self):
        self.app.timeline.service().find("harbour")
        self.app.filing.refresh(5.0)
        self.memory.search("harbour")

    def left(self, words):
        """(file, word) of each word that is still there; a word index keeps but ends of words."""
        files = [path for path in self.home.rglob("*") if path.is_file()]
        bodies = {path.name: path.read_bytes() for path in files}
        return [(n, x) for n, body in bodies.items() for x in words if x[3:11].encode() in body]


def add_timeline(home, text, number):
    when = NOW - timedelta(minutes=37 * number)
    return home.app.timeline.service().add(text, at=when, metadata={"tags": ["gate"]}).entry.id


def add_chronicle(home, text, number):
    return home.app.chronicle.service().add_entry(message=text, tags=["gate"]).facts["id"]


def add_private(home, text, number):
    return home.app.private.service().process_thoughts(feelings=text).facts["refs"][0]


def add_memory(home, text, number):
    return home.memory.save_todo(text)


JOURNALS = {
    "timeline": (add_timeline, lambda home, x: home.app.timeline.amender().delete_entry(x)),
    "chronicle": (add_chronicle, lambda home, x: home.app.chronicle.amender().delete_entry(ref=x)),
    "private": (add_private, lambda home, x: home.app.private.amender().delete_read(x)),
    "memory": (add_memory, lambda home, x: home.memory.delete(x)),
}


def fill(home, journal, count):
    """So many entries; their words by their refs."""
    add, _ = JOURNALS[journal]
    words = {}
    for number in range(count):
        text, word = home.sentence()
        words[add(home, text, number)] = word
        if number % 20 == 0:
            home.search()
    home.search()
    return words


def delete_most(home, journal, words):
    """Delete them in any order, but one in six; what is kept."""
    _, delete = JOURNALS[journal]
    refs = sorted(words)
    home.random.shuffle(refs)
    kept = refs[: len(refs) // 6]
    for ref in refs[len(kept) :]:
        delete(home, ref)
    return {words[x] for x in kept}


@pytest.mark.parametrize("journal", JOURNALS)
@pytest.mark.parametrize("count", ENTRIES)
def test_what_is_deleted_leaves_every_byte(tmp_path, counted, journal, count):
    """Of many entries most are deleted, one by one: at once, and after a search in another process."""
    home = Home(tmp_path / "home")
    words = fill(home, journal, count)
    assert {x for _, x in home.left(words.values())} == set(words.values())
    kept = delete_most(home, journal, words)
    gone = set(words.values()) - kept
    assert home.left(gone) == []
    home.again()
    home.search()
    assert home.left(gone) == []
    assert {x for _, x in home.left(kept)} == kept
    home.close()
    assert home.left(gone) == []
    counted("an entry deleted, and every byte of the home searched for it", len(gone))


@pytest.mark.parametrize(
    ("retention", "count"),
    [
        ("design", 8),
        *(pytest.param(each, 8, marks=pytest.mark.long) for each in RETENTIONS[1:]),
        *(pytest.param(each, 40, marks=pytest.mark.whole) for each in RETENTIONS),
    ],
)
def test_what_is_deleted_leaves_what_retention_kept(tmp_path, counted, retention, count):
    """Entries of the timeline, expired or not, and of journals that feed it: none is quoted."""
    home = Home(
        tmp_path / "home",
        COMMONPLACE_TIMELINE_RETENTION=retention,
        COMMONPLACE_TIMELINE_FEED="chronicle,private",
    )
    words = {name: fill(home, name, count) for name in ("timeline", "chronicle", "private")}
    for _ in range(4):
        home.clock.at += timedelta(days=12)
        home.timeline.roll_up()
    week = home.app.timeline.service().rollup("weekly", NOW)
    assert week.metadata["entries"] > count
    gone = set()
    for name, refs in words.items():
        gone |= set(refs.values()) - delete_most(home, name, refs)
    assert home.left(gone) == []
    home.again()
    home.timeline.roll_up()
    home.search()
    assert home.left(gone) == []
    home.close()
    counted("an entry deleted, and every byte of the home searched for it", len(gone))
