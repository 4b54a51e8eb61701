"""One database, two programs: chronicle reads what we write, we read what any version wrote."""

from __future__ import annotations

import itertools
import json
import runpy
import sqlite3
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import strategies as st
from tests.cases import cases
from tests.sampled import sampled

from commonplace.core.errors import Conflict, Invalid, NotFound
from commonplace.core.values import Interval
from commonplace.journals.chronicle.journal import Author, ChronicleJournal, author_here
from commonplace.journals.chronicle.places import ChroniclePlace

GOLDEN = runpy.run_path(str(Path(__file__).parents[2] / "golden" / "chronicle" / "make.py"))
make, rows = GOLDEN["make"], GOLDEN["rows"]
NOW = datetime(2026, 11, 21, 23, 19, 45, 15_000, tzinfo=UTC)
AUTHOR = Author(hostname="otter", username="wren", directory="/srv/garden")

MESSAGES = {
    "A": ["decided to use WAL", "fixed auth bug-fix in login", "deployed version 2.1.0"],
    "B": ["quokka here", "decided to use WAL", "brand new zebra"],
    "D1": ["no tags", "shipped it", "far away"],
    "D2": ["without an instant", "shipped it", "a nanosecond before"],
    "A then D2": ["decided to use WAL", "fixed auth bug-fix in login", "deployed version 2.1.0"],
    "B then D2": ["quokka here", "decided to use WAL", "brand new zebra"],
    "A migrated to B": ["gamma three", "beta two", "alpha one"],
    "A then D": ["old"],
    "B then D": ["old"],
}

CURRENT = ["D1", "D2"]
OLD = [x for x in MESSAGES if x not in CURRENT]

_OPENED: list[ChronicleJournal] = []


@pytest.fixture(autouse=True)
def _closed():
    """Every chronicle of a test is closed after it."""
    yield
    while _OPENED:
        _OPENED.pop().close()


@pytest.fixture
def path(tmp_path) -> Path:
    """Where the database is, or is to be."""
    return tmp_path / "data" / "chronicle.db"


def opened(path: Path, **settings) -> ChronicleJournal:
    """A chronicle over a database, in Chicago."""
    settings = {"owner": "me", "author": AUTHOR, "clock": lambda: NOW, **settings}
    _OPENED.append(
        ChronicleJournal(
            ChroniclePlace(path=path, form="database"), zone=ZoneInfo("America/Chicago"), **settings
        )
    )
    return _OPENED[-1]


def messages(chronicle: ChronicleJournal, **asked) -> list[str]:
    """The messages of a page."""
    return [x.message for x in chronicle.list_events(**asked).events]


@pytest.mark.parametrize("generation", OLD)
def test_an_older_generation_is_read_once_it_is_upgraded(generation, path):
    """By the instant, whatever its spelling."""
    chronicle = opened(make(generation, path))
    chronicle.upgrade()
    assert messages(chronicle) == MESSAGES[generation]


@pytest.mark.parametrize("generation", CURRENT)
def test_what_is_current_is_read_newest_first(generation, path):
    """By the instant, whatever its spelling; tags come along; the file keeps every byte."""
    make(generation, path)
    before = path.read_bytes()
    chronicle = opened(path)
    assert messages(chronicle) == MESSAGES[generation]
    for event in chronicle.list_events().events:
        assert chronicle.read_event(event.ref) == event
    chronicle.close()
    assert path.read_bytes() == before


def test_an_entry_is_read_with_all_its_parts(path):
    """The instant columns are exact; what is finer than a microsecond is kept beside the time."""
    event = opened(make("D2", path)).read_event("chronicle:edaca8e0-6ef6-41c6-8c6b-00e7ababb62a")
    assert (event.at, event.nanos) == (datetime(2026, 9, 1, 14, 30, 0, 123_456, tzinfo=UTC), 789)
    assert event.tags == ("work", "go")
    assert (event.hostname, event.username, event.directory) == ("otter", "wren", "/srv/garden")


@pytest.mark.design("004-05")
def test_a_new_entry_is_as_chronicle_writes_one(path):
    """Id, local time with its zone, both instant columns, tags as Go's JSON; modes for one only."""
    chronicle = opened(path)
    added = chronicle.add_event("shipped <it> & more", tags=["a<b", "Größe"])
    bare = chronicle.add_event("no tags", at=NOW.replace(microsecond=0))
    assert rows(
        path,
        "SELECT id, timestamp, timestamp_unix_seconds, timestamp_nanosecond, message, hostname,"
        " username, working_directory, tags FROM entries",
    ) == [
        (
            added.event.id,
            "2026-11-21 17:19:45.015 -0600 CST",
            1_795_303_185,
            15_000_000,
            "shipped <it> & more",
            "otter",
            "wren",
            "/srv/garden",
            '["a\\u003cb","Größe"]',
        ),
        (
            bare.event.id,
            "2026-11-21 17:19:45 -0600 CST",
            1_795_303_185,
            0,
            "no tags",
            "otter",
            "wren",
            "/srv/garden",
            "null",
        ),
    ]
    assert uuid.UUID(added.event.id).version == 4
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]


def test_a_new_database_has_the_layout_of_the_newest_chronicle(path, tmp_path):
    """The same columns, indexes and triggers as the golden one, their texts but for spaces."""

    def objects(file):
        found = rows(file, "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
        return {(kind, name, " ".join(sql.split())) for kind, name, sql in found}

    opened(path).add_event("first")
    golden = objects(make("D2", tmp_path / "golden.db"))
    assert {(k, n, s.replace("( ", "(").replace(" )", ")")) for k, n, s in objects(path)} == {
        (k, n, s.replace("( ", "(").replace(" )", ")")) for k, n, s in golden
    }


@pytest.mark.parametrize("generation", ["D1", "D2"])
def test_what_we_do_in_place_chronicle_lists_and_finds(generation, path):
    """Its own order, its own word index and its integrity hold after add, edit and delete."""
    chronicle = opened(make(generation, path))
    known = MESSAGES[generation]
    added = chronicle.add_event("quokka deployed", tags=["release"]).event
    edited = chronicle.edit_event(
        chronicle.list_events().events[1].ref, message="wombat", tags=["x"]
    )
    gone = chronicle.delete_event(chronicle.list_events().events[2].ref)
    assert (edited.message, gone.message) == ("wombat", known[1])
    listed = dict(GOLDEN["list_as_chronicle"](path))
    assert listed.keys() == {"quokka deployed", "wombat", known[2]}
    assert (listed["quokka deployed"], listed["wombat"]) == ('["release"]', '["x"]')
    find = GOLDEN["search_as_chronicle"]
    assert find(path, "quokka") == find(path, "release") == ["quokka deployed"]
    assert find(path, "wombat") == ["wombat"]
    assert find(path, '"no tags" OR "without an instant"') == find(path, "shipped") == []
    GOLDEN["check_words"](path)
    assert chronicle.read_event(added.ref) == added
    chronicle.repair()
    assert chronicle.problems() == []


@pytest.mark.parametrize("has_words", [True, False], ids=["by words", "by a pass"])
def test_the_successors_of_many_are_found_at_once(has_words, path):
    """Of each entry that was replaced; also where the word index cannot be relied on."""
    chronicle = opened(make("D2", path))
    olds = [chronicle.add_event(f"port {number}").event for number in range(3)]
    news = [chronicle.supersede_event(old.ref, f"{old.message}!").event for old in olds[:2]]
    if not has_words:
        with sqlite3.connect(path) as conn:
            conn.execute("DROP TRIGGER entries_au")
        conn.close()
        chronicle = opened(path)
    found = chronicle.find_successors([*olds, *news])
    assert found == {olds[0].id: news[0], olds[1].id: news[1]}


def test_the_first_write_makes_a_d1_whole(path):
    """Columns, index and the narrower trigger, and every instant that a text names."""
    chronicle = opened(make("D1", path))
    assert [x.repairable for x in chronicle.problems()] == [True]
    chronicle.add_event("first of ours")
    assert rows(
        path, "SELECT message, timestamp_unix_seconds, timestamp_nanosecond FROM entries"
    ) == [
        ("shipped it", 1_769_959_800, 123_456_789),
        ("no tags", 1_769_960_400, 500_000_000),
        ("far away", 1_769_954_400, 0),
        ("first of ours", 1_795_303_185, 15_000_000),
    ]
    trigger = rows(path, "SELECT sql FROM sqlite_schema WHERE name = 'entries_au'")[0][0]
    assert "AFTER UPDATE OF message, tags" in trigger
    assert messages(chronicle) == ["first of ours", "no tags", "shipped it", "far away"]
    GOLDEN["check_words"](path)
    assert chronicle.problems() == []


@pytest.mark.parametrize("generation", OLD)
def test_an_older_generation_is_only_upgraded(generation, path):
    """Each other verb names the upgrade, and the file keeps every byte."""
    chronicle = opened(make(generation, path))
    before = path.read_bytes()
    for verb in (
        lambda: chronicle.add_event("x"),
        lambda: chronicle.edit_event("1", message="x"),
        lambda: chronicle.delete_event("1"),
        lambda: chronicle.read_event("1"),
        chronicle.list_events,
        chronicle.list_tags,
    ):
        with pytest.raises(Conflict, match="commonplace chronicle upgrade") as caught:
            verb()
        assert str(path) in caught.value.located
    chronicle.close()
    assert path.read_bytes() == before


@pytest.mark.parametrize("generation", MESSAGES)
def test_pages_follow_one_another(generation, path):
    """One entry a page, by cursor, is the whole list in its order."""
    chronicle = opened(make(generation, path))
    if generation in OLD:
        chronicle.upgrade()
    seen, cursor = [], ""
    for _ in range(9):
        page = chronicle.list_events(limit=1, cursor=cursor)
        seen += [x.message for x in page.events]
        cursor = page.cursor
        if not cursor:
            break
    assert seen == MESSAGES[generation]


def test_a_list_is_bound_by_its_interval(path):
    """Half-open, to the microsecond, in each layout that orders times by their text or number."""
    start = datetime(2026, 2, 1, 14, tzinfo=UTC)
    exact = datetime(2026, 2, 1, 15, 30, 0, 123_456, tzinfo=UTC)
    for written in (False, True):
        chronicle = opened(make("D1", path) if not written else path)
        if written:
            chronicle.add_event("later")
        assert messages(chronicle, within=Interval(start=start, end=exact)) == ["far away"]
        assert messages(chronicle, within=Interval(start=exact, end=start + timedelta(days=9))) == [
            "no tags",
            "shipped it",
        ]
        assert messages(chronicle, within=Interval(end=start)) == []


@pytest.mark.design("004-49")
def test_many_entries_in_odd_order_are_listed_in_order(path):
    """Offsets, spellings and ties mixed: by instant, the later written of equals first."""
    make("D1", path)
    spellings = ["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S +0000 UTC"]
    at = datetime(2026, 2, 3, tzinfo=UTC)
    values = []
    for number in range(300):
        moment = at + timedelta(minutes=(number * 37) % 100 * 20)
        if number % 4 == 3:
            text = moment.astimezone(ZoneInfo("Pacific/Auckland")).strftime(
                "%Y-%m-%d %H:%M:%S.%f %z NZDT"
            )
        else:
            text = moment.strftime(spellings[number % 4])
        values.append((moment, number, text))
    conn = sqlite3.connect(path)
    conn.executemany(
        "INSERT INTO entries (id, timestamp, message) VALUES (?, ?, ?)",
        [(f"id-{n}", text, f"m{n}") for _, n, text in values],
    )
    conn.commit()
    conn.close()
    expected = [f"m{n}" for _, n, _ in sorted(values, reverse=True)]
    chronicle = opened(path)
    assert messages(chronicle, limit=300) == expected
    chronicle.add_event("newest")
    assert messages(chronicle, limit=301) == ["newest", *expected]


@pytest.mark.parametrize(
    ("generation", "expected"),
    [
        ("A", [("deployment", 1), ("golang", 1), ("work", 1)]),
        ("B", [("Work", 2)]),
        ("D1", [("go", 1), ("work", 1)]),
    ],
)
def test_tags_of_each_generation_are_counted(generation, expected, path):
    """Also those that had a table of their own, orphans left out."""
    chronicle = opened(make(generation, path))
    chronicle.upgrade()
    assert [(x.tag, x.count) for x in chronicle.list_tags()] == expected


def test_the_same_key_is_one_entry(path):
    """The first call's; another owner's key is another entry; a plain call is always one more."""
    chronicle = opened(path)
    first = chronicle.add_event("once", idempotency_key="k")
    again = chronicle.add_event("once more", idempotency_key="k")
    assert (first.repeated, again.repeated) == (False, True)
    assert again.event == first.event
    other = opened(path, owner="you").add_event("once", idempotency_key="k")
    assert not other.repeated
    assert not chronicle.add_event("once").repeated
    assert len(chronicle.list_events().events) == 3
    assert uuid.UUID(first.event.id)


def test_an_edit_changes_what_it_names_and_nothing_else(path):
    """The time's text and columns stay unless a time is given; the stamp tells a newer version."""
    chronicle = opened(make("D2", path))
    ref = "chronicle:edaca8e0-6ef6-41c6-8c6b-00e7ababb62a"
    old = chronicle.read_event(ref)
    time = "SELECT timestamp, timestamp_unix_seconds, timestamp_nanosecond FROM entries"
    before = rows(path, time)
    new = chronicle.edit_event(ref, message="sent it", expected=old.stamp)
    assert rows(path, time) == before
    assert (new.at, new.nanos, new.tags) == (old.at, old.nanos, old.tags)
    assert new.stamp != old.stamp
    with pytest.raises(Conflict, match="has changed since"):
        chronicle.delete_event(ref, expected=old.stamp)
    moved = chronicle.edit_event(ref, at=NOW)
    assert rows(path, time)[0] == ("2026-11-21 17:19:45.015 -0600 CST", 1_795_303_185, 15_000_000)
    assert (moved.at, moved.nanos) == (NOW, 0)
    with pytest.raises(Invalid, match="Nothing to change"):
        chronicle.edit_event(ref)
    with pytest.raises(NotFound):
        chronicle.edit_event("chronicle:nobody", message="x")


def test_who_logs_is_unknown_where_nobody_can_tell(path):
    """The fallbacks of chronicle itself."""
    assert author_here({}, hostname="", directory=None) == Author()
    here = author_here({"USER": "wren"}, hostname="otter", directory=Path("/srv/garden"))
    assert here == AUTHOR
    opened(path, author=Author()).add_event("x")
    found = rows(path, "SELECT hostname, username, working_directory FROM entries")
    assert found == [("unknown", "unknown", "unknown")]


HOSTILE = [
    *("don't", "C++", "v2.1.0", "bug-fix", '"', "NEAR(", "*", "AND", "'); DROP TABLE entries; --"),
    *(
        "a\0b",
        "\ud800 alone",
        "\u202e",
        "🦦" * 50,
        "%s {} \\u0000",
        "line\r\nline\n\ttab",
        "---\n---",
    ),
    "x" * 100_000,
]


@pytest.mark.parametrize("message", HOSTILE)
def test_hostile_messages_stay_what_they_are(message, path):
    """Chronicle's index stays right; NUL and lone surrogates become U+FFFD."""
    chronicle = opened(path)
    added = chronicle.add_event(message, tags=[message[:90]]).event
    assert added == chronicle.read_event(added.id)
    expected = message.replace("\0", "\ufffd").replace("\ud800", "\ufffd").strip()
    assert added.message == chronicle.read_event(added.id).message == expected
    GOLDEN["check_words"](path)
    assert messages(chronicle, tags=[f"+{added.tags[0]}"] if added.tags else []) == [expected]
    chronicle.edit_event(added.id, message=f"{message} edited")
    chronicle.delete_event(added.id)
    GOLDEN["check_words"](path)
    assert rows(path, "SELECT count(*) FROM entries") == [(0,)]


@cases(
    ("arguments", "named"),
    [
        ({"message": " \n "}, "message"),
        ({"message": "é" * (5 * 1024 * 1024 + 1)}, "message"),
        ({"message": "x", "tags": [f"t{n}" for n in range(101)]}, "tags"),
        ({"message": "x", "tags": ["t" * 101]}, "tags"),
        ({"message": "x", "at": datetime(2026, 1, 1)}, "at"),  # noqa: DTZ001  the refused one
    ],
)
def test_what_cannot_be_logged_is_named(arguments, named, path):
    """`Invalid {field}: …`, and no database is made for it."""
    with pytest.raises(Invalid, match=f"Invalid {named}: "):
        opened(path).add_event(**arguments)
    assert not path.exists()


def test_rows_that_are_no_entries_are_passed_over(path):
    """Broken times, texts that are no UTF-8, tags that are no list: lists and reads go on."""
    make("D2", path)
    conn = sqlite3.connect(path)
    insert = "INSERT INTO entries (id, timestamp, message, tags) VALUES (?, ?, ?, ?)"
    conn.execute(insert, ("t", "yesterday", "no time", None))
    conn.execute(insert, ("", "2026-01-01 00:00:00", "of nobody", None))
    conn.execute(insert, ("j", "2026-01-02 00:00:00", "no list", '{"a": 1}'))
    conn.execute(insert, ("n", "2026-01-03 00:00:00", 5, '[1, null, "ok"]'))
    conn.execute(
        "INSERT INTO entries (id, timestamp, message) VALUES"
        " ('u', '2026-01-04 00:00:00', CAST(x'63616666e9' AS TEXT))"
    )
    conn.execute("UPDATE entries SET timestamp_unix_seconds = 'x' WHERE id = 'j'")
    conn.commit()
    conn.close()
    chronicle = opened(path)
    assert messages(chronicle) == [*MESSAGES["D2"], "caff\ufffd", "5", "no list"]
    assert chronicle.read_event("n").tags == ("ok",)
    told = [x.what for x in chronicle.problems()]
    assert sum("cannot be read" in x for x in told) == 2
    assert not any("yesterday" in x or "of nobody" in x for x in told)
    chronicle.add_event("still written")
    assert rows(path, "SELECT count(*) FROM entries WHERE message = 'no time'") == [(1,)]


def test_one_entry_is_told_as_one(path):
    """The golden database has one without an instant."""
    chronicle = opened(make("D2", path))
    assert [x.what[:11] for x in chronicle.problems()] == ["1 entry of "]
    assert chronicle.repair()[0].startswith("Gave 1 entry of ")


def test_what_an_older_chronicle_left_is_mended(path):
    """A lost trigger, missing instants, a stale word index; a second repair finds nothing."""
    make("D2", path)
    rows(path, "DROP TRIGGER entries_ai")
    rows(
        path,
        "INSERT INTO entries (id, timestamp, message) VALUES ('w', '2026-01-01 00:00:00', 'wombat')",
    )
    chronicle = opened(path)
    assert all(x.repairable for x in chronicle.problems())
    assert len(chronicle.repair()) == 1
    assert chronicle.problems() == chronicle.repair() == []
    assert GOLDEN["search_as_chronicle"](path, "wombat") == ["wombat"]
    rows(path, "INSERT INTO entries_fts(rowid, message, tags) VALUES (99, 'ghost', '')")
    assert ["word index" in x.what for x in chronicle.problems()] == [True]
    assert ["word index" in x for x in chronicle.repair()] == [True]
    assert chronicle.problems() == []


def test_an_empty_file_is_a_new_database(path):
    """As one that was made and never written."""
    path.parent.mkdir()
    path.touch()
    chronicle = opened(path)
    assert messages(chronicle) == []
    chronicle.add_event("first")
    assert messages(chronicle) == ["first"]


def test_cursors_and_limits_from_a_model_are_parsed(path):
    """What is no cursor is refused, never run."""
    chronicle = opened(make("D2", path))
    for cursor in ("x", "....", "é", "MQ", "LTk5OS4=1", "9" * 400):
        with pytest.raises(Invalid, match="Invalid cursor"):
            chronicle.list_events(cursor=cursor)
    for limit in (0, -1, 10_001):
        with pytest.raises(Invalid, match="Invalid limit"):
            chronicle.list_events(limit=limit)


def test_entries_of_one_folder_are_listed_alone(path):
    """Just that folder, not those below it."""
    chronicle = opened(make("A", path))
    chronicle.upgrade()
    assert messages(chronicle, directory="/srv/pond") == ["decided to use WAL"]
    assert messages(chronicle, directory="/srv") == []


_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60)


@sampled(
    12,
    40,
    written=st.lists(
        st.tuples(
            _TEXT.filter(str.strip), st.lists(_TEXT.filter(lambda x: len(x) <= 50), max_size=4)
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_messages_and_tags_come_back_as_they_went(written, tmp_path):
    """But for the blanks around them; and chronicle's index is right after it all."""
    path = tmp_path / f"{uuid.uuid4()}.db"
    minutes = itertools.count()
    chronicle = opened(path, clock=lambda: NOW + timedelta(minutes=next(minutes)))
    made = [chronicle.add_event(message, tags=tags).event for message, tags in written]
    listed = chronicle.list_events(limit=10).events
    assert [x.message for x in reversed(listed)] == [message.strip() for message, _ in written]
    assert list(reversed(listed)) == made
    assert [json.loads(x[0]) or [] for x in rows(path, "SELECT tags FROM entries")] == [
        list(x.tags) for x in made
    ]
    GOLDEN["check_words"](path)
    chronicle.close()
