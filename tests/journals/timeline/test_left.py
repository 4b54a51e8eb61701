"""The law of what is left: a timeline is as one that only ever held what was not deleted."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections import Counter
from datetime import UTC, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec import Struct, field
from tests.core.zones import APIA, LORD_HOWE, LOS_ANGELES
from tests.journals.timeline.test_feed import Fed
from tests.journals.timeline.world import at

from commonplace.core.errors import NotFound
from commonplace.journals.timeline.due_periods import zone_name
from commonplace.journals.timeline.entry import LEVELS, TimelineDraft
from commonplace.journals.timeline.expiry import apply_retention
from commonplace.journals.timeline.retention import parse_retention
from commonplace_testing import FrozenClock

BEGIN = at("2025-02-01T00:00")
# Around the ends of an hour, a day, a week, a month and a change of clocks.
TIMES = [
    at(text)
    for text in (
        *("2025-01-30T09:10", "2025-01-30T09:20", "2025-01-30T10:30", "2025-01-31T23:50"),
        *("2025-02-01T00:10", "2025-02-02T23:40", "2024-12-31T22:30", "2024-11-03T09:15"),
    )
]
RETENTIONS = [
    *("off", "design", "raw=24h", "hourly=2d", "daily=1d", "raw=1d,hourly=1d,daily=1d"),
    *("design,raw=never", "weekly=1d,monthly=1d", "hourly=1d,raw=30d", "raw=1d,daily=2d"),
]
ZONES = [UTC, LOS_ANGELES, LORD_HOWE, APIA]
NAMES = ["garden", "boats"]

numbers = st.integers(0, 7)
added = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(TIMES), st.sampled_from(NAMES), st.booleans()),
    st.tuples(st.just("add"), st.sampled_from(TIMES), st.sampled_from(NAMES), st.just(False)),
    st.tuples(st.just("feed"), st.sampled_from(TIMES), st.sampled_from(NAMES)),
)
altered = st.one_of(
    st.tuples(st.just("delete"), numbers),
    st.tuples(st.just("delete"), numbers),
    st.tuples(st.just("word"), numbers),
    st.tuples(st.just("name"), numbers, st.sampled_from(NAMES)),
    st.tuples(st.just("move"), numbers, st.sampled_from(TIMES)),
)
passed = st.tuples(st.just("pass"), st.sampled_from([1, 3, 9, 40]))
zoned = st.tuples(st.just("zone"), st.sampled_from(["Asia/Tokyo", "America/Los_Angeles"]))
# Most has expired when the second half comes.
operations = st.tuples(
    st.lists(st.one_of(added, added, altered, passed), min_size=3, max_size=8),
    st.just([("pass", 9), ("pass", 9)]),
    st.lists(st.one_of(added, altered, altered, passed, zoned), min_size=2, max_size=8),
).map(lambda parts: [each for part in parts for each in part])


def sentence(number, version):
    """A sentence whose word stands in no other; and that word."""
    word = hashlib.sha256(f"{number} {version}".encode()).hexdigest()[:12].translate(LETTERS)
    return f"{word} was at the harbour", word


LETTERS = str.maketrans("0123456789", "ghijklmnop")


class Kept(Struct):
    """An entry as it is at last. words: all that it ever said."""

    number: int
    fed: bool
    at: object
    metadata: dict
    version: int = 0
    words: set = field(default_factory=set)
    gone: bool = False


class Life:
    """One home and what happens in it. held: what it only ever holds, as it is at last."""

    def __init__(self, retention, zone, held=None):
        self.folder = Path(tempfile.mkdtemp())
        self.world = Fed(self.folder, zone=zone, clock=FrozenClock(BEGIN))
        self.retention = parse_retention(retention)
        self.held = held
        self.entries = []
        self.places = []
        self.added = set()

    def run(self, operations):
        for what, *rest in operations:
            getattr(self, f"_{what}")(*rest)
        # Another zone cuts what is read, and no more.
        self._pass(40)
        for level in LEVELS:
            for when in TIMES:
                self.world.rollups.read(level, when)
        # Whatever is past its time leaves: it is archived first, and more than one level deep.
        for _ in range(4):
            self._pass(10)

    def told(self):
        found = {}
        for name, (content, metadata, *_, status) in self.world.told().items():
            facts = json.loads(metadata)
            # What an earlier zone cut stays until it is read in the one of now.
            if facts["timezone"] == zone_name(self.world.journal.zone):
                found[name.partition("@")[0]] = (status, content, facts)
        return found

    def close(self):
        self.world.close()
        shutil.rmtree(self.folder)

    def _pass(self, days):
        self.world.clock.at += timedelta(days=days)
        self.world.feeding.sync()
        apply_retention(self.world.rollups, self.retention)

    def _zone(self, name):
        self.world.journal.set_zone(name)

    def _add(self, when, name, pinned):
        self._put(Kept(len(self.entries), fed=False, at=when, metadata=named(name, pinned)))

    def _feed(self, when, name):
        self._put(Kept(len(self.entries), fed=True, at=when, metadata={"tags": [name]}))

    def _put(self, entry):
        self.entries.append(entry)
        if self.held is not None:
            entry = self.held[entry.number]
            if entry.gone:
                return
        self._write(entry)

    def _write(self, entry):
        text, word = sentence(entry.number, entry.version)
        entry.words.add(word)
        self.places.append(entry.at)
        if entry.fed:
            when = entry.at.strftime("%Y-%m-%dT%H:%M")
            stamp = f"{entry.version} {when} {entry.metadata}"
            tags = tuple(entry.metadata["tags"])
            self.world.log(f"chronicle:{entry.number}", text, when, tags=tags, stamp=stamp)
            return
        if ident(entry) in self.added:
            told = {"content": text, "at": entry.at, "metadata": entry.metadata}
            self.world.journal.update(ident(entry), **told)
            return
        self.added.add(ident(entry))
        draft = TimelineDraft(content=text, at=entry.at, metadata=entry.metadata, id=ident(entry))
        self.world.journal.add_many([draft])

    def _chosen(self, number):
        """An entry that may be altered; the home that only holds what is left alters none."""
        live = [x for x in self.entries if not x.gone]
        return live[number % len(live)] if live and self.held is None else None

    def _alter(self, entry, **changes):
        before = {name: getattr(entry, name) for name in changes}
        for name, value in changes.items():
            setattr(entry, name, value)
        try:
            self._write(entry)
        except NotFound:  # it has expired
            for name, value in before.items():
                setattr(entry, name, value)

    def _word(self, number):
        if entry := self._chosen(number):
            self._alter(entry, version=entry.version + 1)

    def _name(self, number, name):
        if entry := self._chosen(number):
            fed = {"tags": [name, "named"]}
            pinned = entry.metadata.get("pinned", False)
            self._alter(entry, metadata=fed if entry.fed else named(name, pinned, "named"))

    def _move(self, number, when):
        if entry := self._chosen(number):
            self._alter(entry, at=when)

    def _delete(self, number):
        if entry := self._chosen(number):
            entry.gone = True
            if entry.fed:
                self.world.chronicle.drop(f"chronicle:{entry.number}")
                self.world.feeding.forget([f"chronicle:{entry.number}"])
            else:
                self.world.journal.delete(ident(entry))


def ident(entry):
    return f"entry-{entry.number}"


def named(name, pinned, *tags):
    told = {"projects": [name], "tags": ["work", *tags], "action": name, "hours_worked": 2}
    return {**told, "pinned": True} if pinned else told


def has_room(places):
    """Whether every sentence has room in each summary: 4 in an hour, 7 in what is larger."""
    hours = Counter(x.replace(minute=0) for x in places)
    return len(places) <= 7 and max(hours.values(), default=0) <= 4


def figures_of(told):
    """What is counted in each summary, and of how much."""
    return {name: metadata for name, (_, _, metadata) in told.items()}


def bytes_left(folder, words):
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    # FTS keeps of a word what differs from the one before.
    return [
        (name, word) for name, body in files.items() for word in words if word[3:].encode() in body
    ]


@pytest.mark.parametrize(
    "lives",
    [5, pytest.param(40, marks=pytest.mark.long), pytest.param(150, marks=pytest.mark.whole)],
)
def test_a_timeline_is_as_if_it_only_ever_held_what_is_left(lives):
    """Whatever was added late, altered, moved, deleted and let go of, in whichever zone.

    The other home goes through the same rollups, zones and retention, and each entry that is not
    deleted is in it from its beginning as it is at last. Then the same summaries are there, and
    the figures of each are equal. Retention keeps of an expired entry the sentences that a summary
    quoted at that time, and no other: so the texts are equal too wherever each sentence had room in
    each summary, and where not, a text quotes what is left and nothing else. Of what was deleted
    no word is in any file.
    """

    @settings(
        max_examples=lives,
        suppress_health_check=[HealthCheck.too_slow],
        deadline=None,
        phases=[Phase.generate],
    )
    @given(operations, st.sampled_from(RETENTIONS), st.sampled_from(ZONES))
    def law(operations, retention, zone):
        life = Life(retention, zone)
        other = None
        try:
            life.run(operations)
            gone = {word for x in life.entries if x.gone for word in x.words}
            other = Life(retention, zone, held=life.entries)
            other.run(operations)
            ours, theirs = life.told(), other.told()
            assert figures_of(ours) == figures_of(theirs)
            if has_room(life.places):
                assert ours == theirs
            former = {word for x in life.entries for word in x.words}
            former -= {sentence(x.number, x.version)[1] for x in life.entries if not x.gone}
            texts = [row[0] for row in life.world.told().values()]
            assert not [word for text in texts for word in former if word in text]
            assert bytes_left(life.folder, gone) == []
        finally:
            life.close()
            if other is not None:
                other.close()

    law()
