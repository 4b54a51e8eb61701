"""A memory system's memories in a timeline: kept, listed, brought in once, and a profile of them."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cases import cases

from commonplace.core.errors import Invalid
from commonplace.journals.timeline.journal import TimelineJournal
from commonplace.journals.timeline.memories import MemoryBackend
from commonplace.timeline import Timeline
from commonplace_testing import FrozenClock

NOW = datetime(2025, 3, 3, 12, tzinfo=UTC)


@pytest.fixture
def journal(tmp_path):
    numbers = itertools.count()
    made = TimelineJournal(
        tmp_path / "journal",
        owner="wren",
        zone=UTC,
        clock=FrozenClock(NOW),
        random_bytes=lambda size: next(numbers).to_bytes(size, "big"),
    )
    yield made
    made.close()


def test_nothing_is_written_where_a_late_line_cannot_be(journal, memories):
    """A time at the end of the calendar in line 601, or profiles that are too long together."""
    many = [{"content": f"fact {n}"} for n in range(600)]
    with pytest.raises(Invalid, match=r"^Line 601: .*9999"):
        memories.import_memories(lines(*many, {"content": "x", "at": "9999-01-01"}))
    profile = [{"type": "profile", "content": f"{n}" + "x" * 600_000} for n in range(2)]
    with pytest.raises(Invalid, match="content"):
        memories.import_memories(lines(*many, *profile))
    assert memories.list_memories() == []


@pytest.fixture
def memories(journal):
    return MemoryBackend(journal)


def lines(*told):
    return "\n".join(json.dumps(each) for each in told)


EXPORT = lines(
    {"id": "m1", "type": "profile", "content": "Wren is a PM", "created_at": "2025-01-02T10:00Z"},
    {
        "id": "m2",
        "type": "fact",
        "content": "Prefers brief answers",
        "at": "2025-01-05T10:00+01:00",
    },
    {"id": "m3", "type": "profile", "content": "Lives by the harbour", "at": "2025-02-01 08:00"},
    {
        "id": "m4",
        "memory_type": "preference",
        "text": "Tea over coffee",
        "confidence": 0.9,
        "metadata": {"migrated_from": "old_store", "tags": ["drinks"]},
    },
)


@pytest.mark.design("003-76")
def test_a_memory_is_kept_as_the_design_has_it(memories, journal):
    """A profile is a snapshot, all else a raw entry; both say their type."""
    fact = journal.read(memories.create_memory("Prefers brief responses"))
    profile = journal.read(memories.create_memory("Wren is a PM", type="profile"))
    assert (fact.entry_type, fact.metadata) == ("raw", {"memory_type": "fact"})
    assert (profile.entry_type, profile.metadata["memory_type"]) == ("profile_snapshot", "profile")
    assert journal.profile().content == "Wren is a PM"


def test_memories_are_listed_by_type(memories, journal):
    """Newest first, and nothing that is no memory."""
    journal.add("Fixed the gate")
    memories.create_memory("one")
    memories.create_memory("two", type="preference", metadata={"tags": ["x"]})
    assert [x["content"] for x in memories.list_memories()] == ["two", "one"]
    assert [x["metadata"]["tags"] for x in memories.list_memories(type="preference")] == [["x"]]
    assert memories.list_memories(type="profile") == []
    assert len(memories.list_memories(limit=1)) == 1


@pytest.mark.design("003-79")
def test_an_import_keeps_times_types_and_where_it_came_from(memories, journal):
    """Facts at their own time, one profile of all profile memories at the newest one's."""
    done = memories.import_memories(EXPORT)
    assert (len(done.added), done.repeated) == (3, 0)
    assert done.profile.content == "Wren is a PM\nLives by the harbour"
    assert done.profile.at == datetime(2025, 2, 1, 8, tzinfo=UTC)
    assert done.profile.metadata == {
        "memories": 2,
        "memory_type": "profile",
        "migrated_from": "memory_system",
    }
    assert journal.profile().id == done.profile.id
    fact, preference = (
        journal.read(memories.list_memories(type=kind)[0]["id"]) for kind in ("fact", "preference")
    )
    assert fact.at == datetime(2025, 1, 5, 9, tzinfo=UTC)
    assert fact.metadata["migrated_from"] == "memory_system"
    assert fact.metadata["memory_id"] == "m2"
    assert preference.at == NOW
    assert preference.metadata == {
        "confidence": 0.9,
        "memory_id": "m4",
        "memory_type": "preference",
        "migrated_from": "old_store",
        "tags": ["drinks"],
    }


@pytest.mark.design("003-80")
def test_an_import_may_be_repeated(memories, journal):
    """What is there stays one; what was added to the file comes; a newer profile stands."""
    memories.import_memories(EXPORT)
    journal.add("Wren leads the team", entry_type="profile_snapshot")
    again = memories.import_memories(EXPORT)
    assert (len(again.added), again.repeated) == (0, 3)
    more = memories.import_memories(EXPORT + "\n\n" + lines({"content": "Has a heron"}))
    assert [x.content for x in more.added] == ["Has a heron"]
    assert journal.profile().content == "Wren leads the team"
    assert len(memories.list_memories(limit=100)) == 4


def test_memories_without_an_id_are_told_apart_by_what_they_say(memories):
    """The same type, time and words are one memory."""
    text = lines({"content": "a"}, {"content": "b"}, {"content": "a", "type": "goal"})
    assert len(memories.import_memories(text).added) == 3
    assert memories.import_memories(text).repeated == 3


def test_several_threads_are_not_thrown_together(memories):
    """Whose they are is asked; one of them is taken."""
    text = lines(
        {"thread_id": "http_ann", "content": "Ann's"}, {"user_id": "http_bob", "content": "Bob's"}
    )
    with pytest.raises(Invalid, match="2 threads: 'http_ann', 'http_bob'"):
        memories.import_memories(text)
    done = memories.import_memories(text, thread="http_bob")
    assert [x.content for x in done.added] == ["Bob's"]
    assert memories.import_memories(text, thread="nobody").added == ()


@cases(
    ("line", "says"),
    [
        ("{", "Line 2 is not JSON"),
        ("[1]", "Line 2: Expected a JSON object, got a list"),
        ('{"type": "fact"}', "Line 2: Invalid content"),
        ('{"content": "x", "created_at": "someday"}', "Line 2: Invalid time: 'someday'"),
        ('{"content": "x", "created_at": "0001-01-01T00:00+14:00"}', "Line 2: Invalid time"),
        ('{"content": "x", "type": "' + "t" * 101 + '"}', "Line 2: Invalid type"),
        ('{"content": "x", "metadata": {"a": NaN}}', "Line 2: Invalid metadata"),
        ("[" * 100_000, "Line 2 is not JSON"),
    ],
)
def test_a_line_that_cannot_be_meant_stops_all(memories, line, says):
    """Before anything is written; the line is named."""
    with pytest.raises(Invalid) as caught:
        memories.import_memories('{"content": "fine"}\n' + line)
    assert str(caught.value).startswith(says)
    assert memories.list_memories() == []


def test_bad_arguments_are_refused(memories):
    """As everywhere."""
    for call in (
        lambda: memories.create_memory(" "),
        lambda: memories.create_memory("x", type=" "),
        lambda: memories.list_memories(limit=0),
    ):
        with pytest.raises(Invalid):
            call()


@given(text=st.text() | st.binary().map(lambda x: x.decode("utf-8", "surrogateescape")))
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_read_or_refused(memories, text):
    """No file ends in anything but memories or an error of ours."""
    try:
        memories.import_memories(text)
    except Invalid as exc:
        assert len(str(exc)) < 300  # noqa: PT017  either outcome is right


@pytest.mark.design("003-75", "003-81")
def test_a_program_keeps_memories_in_a_timeline(tmp_path, no_weights):
    """Through the library: found at once."""
    with Timeline("wren", home=tmp_path / "data", timezone="UTC") as timeline:
        timeline.memories().create_memory("Keeps a heron")
        assert timeline.search("heron").hits[0].text == "Keeps a heron"
        with timeline.beside("ann") as other:
            assert other.memories().list_memories() == []
