"""How entries are told: how long ago in words, one line, and a story by day and topic."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from tests.cases import cases

from commonplace.journals.chronicle.journal import Event
from commonplace.verbs.chronicle.story import event_facts, event_line, story, topic_of

LOS_ANGELES = ZoneInfo("America/Los_Angeles")
NOW = datetime.fromisoformat("2026-11-21 15:19:45-08:00")


def an_event(at, message="x", *, directory="", tags=()):
    return Event(
        id="1f2e", at=datetime.fromisoformat(at), message=message, directory=directory, tags=tags
    )


def test_an_entry_is_one_line():
    """Time on the owner's clock, message, tags, folder, ref; how long ago where it is asked."""
    event = an_event(
        "2026-11-21 22:00+00:00", "deployed", directory="/srv/garden", tags=("release", "api")
    )
    line = "2026-11-21 14:00 deployed [release, api] in /srv/garden (chronicle:1f2e)"
    assert event_line(event, LOS_ANGELES) == f"- {line}"
    told = event_line(event, LOS_ANGELES, now=NOW)
    assert told == f"- {line.replace('14:00', '14:00 (1 hour ago)')}"


def test_lines_of_a_message_stay_inside_their_entry():
    """A message of several lines cannot pass for another entry."""
    line = event_line(an_event("2026-11-21 22:00+00:00", "a\n- 2026 b"), LOS_ANGELES)
    assert line == "- 2026-11-21 14:00 a\n    - 2026 b (chronicle:1f2e)"


@cases(
    ("directory", "tags", "topic"),
    [
        ("/srv/garden", ("x",), "garden"),
        ("/srv/garden/", (), "garden"),
        ("unknown", ("release", "api"), "release"),
        ("", (), "other"),
        ("/", ("x",), "x"),
    ],
)
def test_the_topic_is_the_folder_else_the_first_tag(directory, tags, topic):
    """A folder nobody knows, and the root, are no project."""
    assert topic_of(an_event("2026-11-21 22:00+00:00", directory=directory, tags=tags)) == topic


def test_a_story_goes_by_day_then_by_project():
    """The newest day first, in it the earliest first; each part with its range and count."""
    events = [
        an_event("2026-11-21 10:00-08:00", "c", directory="/srv/garden", tags=("t",)),
        an_event("2026-11-21 09:30-08:00", "b", tags=("home",)),
        an_event("2026-11-21 09:00-08:00", "a", directory="/srv/garden"),
        an_event("2026-11-20 23:59-08:00", "before", directory="/srv/garden"),
    ]
    assert story(events, LOS_ANGELES) == [
        "Saturday 2026-11-21 (3 entries, 09:00 to 10:00)",
        "  garden (2 entries, 09:00 to 10:00)",
        "    09:00 a",
        "    10:00 c [t]",
        "  home (1 entry, 09:30)",
        "    09:30 b [home]",
        "",
        "Friday 2026-11-20 (1 entry, 23:59)",
        "  garden (1 entry, 23:59)",
        "    23:59 before",
    ]


def test_a_repeated_hour_is_told_in_its_order():
    """When the clocks fell back, 01:50 came before the second 01:10."""
    events = [an_event("2026-11-01 01:10-08:00", "b"), an_event("2026-11-01 01:50-07:00", "a")]
    assert story(events, LOS_ANGELES)[0] == "Sunday 2026-11-01 (2 entries, 01:50 to 01:10)"
    assert [line.split()[-1] for line in story(events, LOS_ANGELES)[2:]] == ["a", "b"]


def test_the_facts_of_an_entry_are_plain():
    """Times as ISO texts in UTC, tags as a list."""
    facts = event_facts(an_event("2026-11-21 22:00+00:00", "deployed", tags=("api",)))
    assert facts == {
        "id": "1f2e",
        "ref": "chronicle:1f2e",
        "at": "2026-11-21T22:00:00+00:00",
        "message": "deployed",
        "tags": ["api"],
        "directory": "",
        "hostname": "",
        "username": "",
    }
