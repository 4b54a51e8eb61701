"""Chronicle's tools: what each answers in text and facts, what it refuses, and what it writes."""

from __future__ import annotations

import itertools
import os
import re
import runpy
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import strategies as st
from tests.cases import cases
from tests.sampled import sampled
from tests.verbs.chronicle_world import NOW, ChronicleWorld, messages

from commonplace.core.errors import CommonplaceError, Conflict, Invalid, Unavailable
from commonplace_testing import ReadySlot

GOLDEN = runpy.run_path(str(Path(__file__).parents[2] / "golden" / "chronicle" / "make.py"))
NOTHING = "No entries found matching criteria."
HOSTILE = [
    "don't",
    "C++",
    "v2.1.0",
    "bug-fix",
    '"',
    "NEAR(",
    "*",
    "AND",
    "a OR",
    "col:x",
    "(",
    "^x",
]


def walk(world, tool, **arguments):
    """The messages of each page, until there is no cursor."""
    pages, cursor = [], ""
    while True:
        answer = world(tool, cursor=cursor, **arguments)
        pages.append(messages(answer))
        cursor = answer.facts["cursor"]
        assert ("More with cursor" in answer.text) == bool(cursor)
        if not cursor:
            return pages


def line_of(entry):
    """The line that a text answer has for an entry of its facts."""
    return (
        f"{entry['message']} [{', '.join(entry['tags'])}] in {entry['directory']} ({entry['ref']})"
    )


# add_entry


def test_an_entry_that_nobody_asked_for_is_tagged_and_logged_once(world):
    """Said again within ten minutes it is the entry that is there; what was asked for is another."""
    first = world("add_entry", message="Fixed the login bug", asked=False).facts
    assert first["tags"] == ["bug-fix"]
    assert world("add_entry", message="fixed the login bug", asked=False).facts["repeated"] is True
    assert world("add_entry", message="Fixed the login bug").facts["tags"] == []
    tagged = world("add_entry", message="Fixed it", tags=["login"], asked=False).facts
    assert tagged["tags"] == ["login"]
    with pytest.raises(Invalid, match="message"):
        world("add_entry", message=" ", asked=False)


@pytest.mark.design("004-07", "004-08")
def test_adding_answers_ref_time_and_tags(world):
    """The text holds what the facts hold; the entry is the database's and found at once."""
    answer = world("add_entry", message="deployed v2.1.0", tags=["Release", "api"])
    facts = answer.facts
    assert answer.text == (f"Entry created: {facts['ref']} at 2026-11-21 15:19\nTags: Release, api")
    assert (facts["message"], facts["tags"]) == ("deployed v2.1.0", ["Release", "api"])
    assert (facts["at"], facts["repeated"]) == ("2026-11-21T23:19:45+00:00", False)
    assert (facts["hostname"], facts["username"]) == ("otter", "wren")
    assert messages(world("search_entries", text="v2.1.0")) == ["deployed v2.1.0"]


@pytest.mark.parametrize(
    ("at", "stored"),
    [
        ("yesterday 9am", "2026-11-20T17:00:00+00:00"),
        ("2026-11-01T01:30:00-07:00", "2026-11-01T08:30:00+00:00"),
        ("yesterday", "2026-11-20T08:00:00+00:00"),
    ],
)
def test_an_entry_may_be_of_another_time(world, at, stored):
    """A phrase or an instant; of a day its beginning."""
    assert world("add_entry", message="x", at=at).facts["at"] == stored


def test_the_same_key_twice_is_one_entry(world):
    """The second call answers the first one's entry and says so."""
    first = world("add_entry", message="x", idempotency_key="k")
    again = world("add_entry", message="y", idempotency_key="k")
    assert again.facts == {**first.facts, "repeated": True}
    assert again.text.startswith("This was already logged: chronicle:")
    assert messages(world("list_entries")) == ["x"]


def test_without_an_encoder_the_entry_is_written_and_the_answer_says_so(open_world):
    """Words find it at once; the note is in the text and the facts."""
    world = open_world(slot=ReadySlot(reason="No model is there."))
    answer = world("add_entry", message="deployed")
    note = "Not found by meaning yet: No model is there."
    assert answer.facts["notes"] == [note]
    assert answer.text.endswith(f"\n\nNote: {note}")
    found = world("search_entries", text="deployed")
    assert messages(found) == ["deployed"]
    assert found.facts["notes"] == ["Searched by words alone: No model is there."]


# list_entries


@pytest.mark.design("004-10")
def test_listing_is_newest_first_with_the_same_facts_in_both_forms(world):
    """Each line has the message, tags, folder and id of its entry."""
    world.log(("2026-11-20 09:00", "a", "x y"), ("2026-11-21 10:00", "b", "y"))
    answer = world("list_entries")
    assert messages(answer) == ["b", "a"]
    times = ["2026-11-21 10:00", "2026-11-20 09:00"]
    entries = answer.facts["entries"]
    assert answer.text.splitlines() == [
        f"- {time} {line_of(entry)}" for time, entry in zip(times, entries, strict=True)
    ]
    assert answer.facts["count"] == 2


@pytest.mark.design("004-09")
@pytest.mark.parametrize("limit", [1, 3, 7, 100])
def test_pages_of_a_list_hold_every_entry_once(world, limit):
    """Also where many share an instant; the default is ten."""
    world.log(*((f"2026-11-2{n % 2} 10:00", f"entry {n}") for n in range(23)))
    pages = walk(world, "list_entries", limit=limit)
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
    assert sorted(itertools.chain(*pages)) == sorted(f"entry {n}" for n in range(23))
    assert len(messages(world("list_entries"))) == 10


@pytest.mark.design("004-37")
def test_nothing_there_is_no_error(world):
    """An empty list and a search without a match answer one sentence, and make no file.

    To a question of when, the answer may be in another journal.
    """
    elsewhere = "Only the log was searched; recall searches all that was said and written."
    for tool, arguments, note in [
        ("list_entries", {}, ""),
        ("search_entries", {}, ""),
        ("search_entries", {"text": "quokka"}, ""),
        ("find_when_i", {"what": "quokka"}, f"\n\nNote: {elsewhere}"),
    ]:
        answer = world(tool, **arguments)
        assert answer.text == NOTHING + note
        assert (answer.facts["count"], answer.facts["entries"]) == (0, [])
    assert not world.path.exists()


# search_entries


@pytest.mark.design("004-11", "004-16")
def test_a_search_with_text_goes_by_relevance_without_by_time(world):
    """The best match comes first though it is the oldest."""
    world.log(
        ("2026-11-01 10:00", "redis redis restarted"),
        ("2026-11-20 10:00", "redis looked at while the long build of everything else went on"),
        ("2026-11-21 10:00", "lunch with Bo"),
    )
    plain = world("search_entries", text="redis restarted")
    assert not {"by", "score", "similarity", "legs"} & plain.facts["entries"][0].keys()
    best = world("search_entries", text="redis restarted", explain=True)
    assert messages(best)[0] == "redis redis restarted"
    assert best.text.splitlines()[1].startswith("  By both: ")
    scores = [entry["score"] for entry in best.facts["entries"]]
    assert scores == sorted(scores, reverse=True)
    assert messages(world("search_entries"))[0] == "lunch with Bo"


@pytest.fixture
def tagged(world):
    """Entries with tags and one without."""
    world.log(
        ("2026-11-21 10:00", "entry a", "red"),
        ("2026-11-21 10:01", "entry b", "Red BLUE"),
        ("2026-11-21 10:02", "entry c", "blue"),
        ("2026-11-21 10:03", "entry d"),
    )
    return world


@pytest.mark.design("004-12")
@cases("text", ["", "entry"])
@cases(
    ("tags", "expected"),
    [
        (["red"], "ab"),
        (["RED", "blue"], "abc"),
        (["+red", "+blue"], "b"),
        (["-red"], "cd"),
        (["red", "-Blue"], "a"),
        (["+blue", "-red"], "c"),
        (["red", "+blue"], "b"),
        (["green"], ""),
        ("red", "ab"),
        ('["+red", "+blue"]', "b"),
        ([""], "abcd"),
    ],
)
def test_tags_choose_entries(tagged, text, tags, expected):
    """Plain ones any of, + required, - excluded, in any case, with a text and without."""
    answer = tagged("search_entries", text=text, tags=tags)
    assert sorted(messages(answer)) == [f"entry {name}" for name in expected]


@pytest.mark.parametrize("limit", [1, 4, 9, 100])
def test_pages_of_a_search_hold_every_entry_once(world, limit):
    """Also where entries have the same words, whose twins are entries of their own."""
    texts = [f"entry {n}" for n in range(9)] + ["entry one", "one entry"] * 6
    world.log(*(("2026-11-20 10:00", text) for text in texts))
    pages = walk(world, "search_entries", text="entry", limit=limit)
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
    assert sorted(itertools.chain(*pages)) == sorted(texts)


@sampled(
    5,
    15,
    texts=st.lists(
        st.lists(st.sampled_from(["red", "blue", "green", "dog", "cat"]), min_size=1, max_size=5),
        min_size=1,
        max_size=25,
    ),
    limits=st.lists(st.integers(1, 12), min_size=1, max_size=4),
)
def test_pages_of_any_lengths_hold_every_match_once(tmp_path_factory, texts, limits):
    """The limit may change from page to page."""
    world = ChronicleWorld(tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("project"))
    world.log(*(("2026-11-20 10:00", " ".join(["entry", *words])) for words in texts))
    found, cursor, turn = [], "", 0
    while cursor or not turn:
        limit = limits[turn % len(limits)]
        answer = world("search_entries", text="entry red", limit=limit, cursor=cursor)
        found += [entry["id"] for entry in answer.facts["entries"]]
        cursor, turn = answer.facts["cursor"], turn + 1
    world.close()
    assert len(found) == len(set(found)) == len(texts)


@pytest.mark.long
def test_a_search_ends_where_its_ranking_does(world):
    """Past a thousand entries the last page says so, and no cursor leads round in a circle."""
    world.log_many(*((NOW, f"entry {n:04}") for n in range(1_050)))
    pages, cursor, turns = [], "", 0
    while cursor or not turns:
        answer = world("search_entries", text="entry", limit=100, cursor=cursor)
        pages += messages(answer)
        cursor, turns = answer.facts["cursor"], turns + 1
        assert turns <= 11
    assert len(pages) == len(set(pages)) >= 1_000
    assert "narrow by time or tags" in answer.facts["notes"][0]


# remember_this


@pytest.mark.design("004-18", "004-19", "004-20")
def test_remembering_adds_the_context_and_suggests_tags(world):
    """The message is `activity (context)`; the tags come from its words."""
    facts = world(
        "remember_this", activity="deployed v2.1.0", context="the login bug was fixed"
    ).facts
    assert facts["message"] == "deployed v2.1.0 (the login bug was fixed)"
    assert facts["tags"] == ["deployment", "bug-fix"]
    assert world("remember_this", activity="watered the garden").facts["tags"] == ["work"]


def test_suggested_tags_use_the_owners_own_and_the_project(open_world, tmp_path):
    """Tags of entries about the same thing, and the folder's name where it is a tag already."""
    world = open_world()
    assert "project" not in world("remember_this", activity="deployed nothing yet").facts["tags"]
    for words in ("sourdough", "sourdough again"):
        world("add_entry", message=f"baked {words} bread", tags=["Kitchen", "Project"])
    tags = world("remember_this", activity="baked sourdough bread once more").facts["tags"]
    assert tags == ["Kitchen", "Project"]
    unlike = world("remember_this", activity="repainted every wall white").facts["tags"]
    assert unlike == ["work", "Project"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"activity": "Deployed v2"}, {"activity": "  deployed V2 "}),
        ({"activity": "a", "context": "why"}, {"activity": "a", "context": "Why"}),
        ({"activity": "a", "context": "why"}, {"activity": "a"}),
        ({"activity": "a"}, {"activity": "a", "context": "why"}),
        ({"activity": "a\0b", "context": "\ud800"}, {"activity": "a\0b", "context": "\ud800"}),
    ],
)
def test_told_again_within_ten_minutes_is_the_entry_that_exists(world, first, second):
    """In any case, and where one of the two names no context; then it is another time."""
    entry = world("remember_this", **first).facts
    world.clock.advance(600)
    again = world("remember_this", **second)
    assert again.facts == {**entry, "repeated": True}
    assert again.text.startswith(f"This was already logged: {entry['ref']} at ")
    world.clock.advance(1)
    assert world("remember_this", **second).facts["repeated"] is False


def test_ten_minutes_are_ten(world):
    """Nine and a half minutes apart across the windows of the key is still one entry."""
    world.clock.advance(595 - world.clock.seconds() % 600)
    first = world("remember_this", activity="deployed").facts["id"]
    world.clock.advance(timedelta(minutes=9.5).total_seconds())
    assert world("remember_this", activity="deployed").facts["id"] == first


def test_another_context_is_another_activity(world):
    """Two fixes on one morning are two."""
    world("remember_this", activity="fixed it", context="the login")
    assert world("remember_this", activity="fixed it", context="the api").facts["repeated"] is False


def test_what_is_planned_for_later_is_not_what_was_just_done(world):
    """An entry of another time with the same words does not count."""
    for at in ("2026-11-22 10:00", "2026-11-21 10:00"):
        world.log((at, "went running"))
    assert world("remember_this", activity="went running").facts["repeated"] is False


def test_told_by_two_at_once_is_one_entry(open_world):
    """Eight callers on connections of their own, one entry, one that made it."""
    worlds = [open_world(patience_s=30.0) for _ in range(8)]
    worlds[0].chronicle.add_event("before")
    start, answers = threading.Barrier(8), []

    def tell(world):
        start.wait()
        answers.append(world("remember_this", activity="deployed").facts)

    tellers = [threading.Thread(target=tell, args=(each,)) for each in worlds]
    for each in tellers:
        each.start()
    for each in tellers:
        each.join()
    assert len({facts["id"] for facts in answers}) == 1
    assert [facts["repeated"] for facts in answers].count(False) == 1
    assert messages(worlds[0]("list_entries")) == ["deployed", "before"]


_TELL = r"""
import sys
from pathlib import Path
from commonplace_testing import ReadySlot
from tests.verbs.chronicle_world import ChronicleWorld

class Held(ReadySlot):
    def get(self, timeout_s=0.0):
        # In one piece: background work gets it too, in a thread of its own.
        sys.stdout.write("looked\n")
        sys.stdout.flush()
        sys.stdin.readline()

home, project, context = sys.argv[1:]
world = ChronicleWorld(Path(home), Path(project), slot=Held(), patience_s=30)
done = world("remember_this", activity="deployed", context=context)
sys.stdout.write(f"repeated={done.facts['repeated']}\n")
world.close()
"""


@pytest.mark.design("004-39")
@pytest.mark.parametrize(
    "contexts", [("", ""), ("", "why"), pytest.param(("why", ""), marks=pytest.mark.long)]
)
def test_told_by_two_processes_at_once_is_one_entry(world, tmp_path, contexts):
    """Both have looked before either writes: the write itself decides, whatever the context."""
    world.chronicle.add_event("before")
    places = [str(tmp_path / "home"), str(tmp_path / "project")]
    tellers = [
        subprocess.Popen(
            [sys.executable, "-c", _TELL, *places, context],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            text=True,
        )
        for context in contexts
    ]
    assert [each.stdout.readline() for each in tellers] == ["looked\n"] * 2
    said = [each.communicate()[0].split() for each in tellers]
    repeated = [word for words in said for word in words if word != "looked"]
    assert sorted(repeated) == ["repeated=False", "repeated=True"]
    assert len(messages(world("list_entries"))) == 2


# what_was_i_doing


@pytest.mark.design("004-24")
def test_a_story_has_its_days_projects_ranges_and_counts(world):
    """The entries themselves are in the text and in the facts."""
    world.log(
        ("2026-11-20 18:00", "closed the shop"),
        ("2026-11-21 09:00", "opened the shop", "retail"),
        ("2026-11-21 11:30", "sold a chair"),
    )
    answer = world("what_was_i_doing", timeframe="past 2 days")
    assert answer.text.splitlines() == [
        "Time: 2026-11-19 15:19:45 to 2026-11-21 15:19:45 (UTC-08:00)",
        "",
        "Saturday 2026-11-21 (2 entries, 09:00 to 11:30)",
        "  project (2 entries, 09:00 to 11:30)",
        "    09:00 opened the shop [retail]",
        "    11:30 sold a chair",
        "",
        "Friday 2026-11-20 (1 entry, 18:00)",
        "  project (1 entry, 18:00)",
        "    18:00 closed the shop",
    ]
    assert messages(answer) == ["sold a chair", "opened the shop", "closed the shop"]
    assert (answer.facts["count"], answer.facts["notes"]) == (3, [])
    assert messages(world("what_was_i_doing")) == ["sold a chair", "opened the shop"]


def test_an_empty_story_says_when_the_last_entry_was(world):
    """With how long ago it was; and that there is none where there is none."""
    never = world("what_was_i_doing")
    assert never.facts["notes"] == ["Nothing was ever logged here."]
    world.log(("2026-11-18 15:00", "x"))
    empty = world("what_was_i_doing")
    assert empty.facts["notes"] == ["The last entry is of 2026-11-18 15:00, 3 days ago."]
    assert NOTHING in empty.text
    assert empty.text.endswith("Note: The last entry is of 2026-11-18 15:00, 3 days ago.")


def test_a_long_story_says_that_it_is_not_whole(world):
    """500 entries are shown, and both forms say that there are more."""
    world.log_many(*((NOW, f"entry {n}") for n in range(501)))
    answer = world("what_was_i_doing")
    assert answer.facts["count"] == 500
    assert answer.facts["notes"] == ["Only the newest 500 entries are shown."]
    assert answer.text.endswith("Note: Only the newest 500 entries are shown.")


# What is refused, and how


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_searched_and_logged_as_they_are(world, text):
    """No text is an error of the word index, in no tool; the entry comes back letter by letter."""
    world("add_entry", message=f"tried {text} today", tags=[text])
    world("remember_this", activity=f"noted {text} here", context=text)
    for answer in (
        world("search_entries", text=text),
        world("search_entries", text=f"tried {text} today"),
        world("find_when_i", what=f"when did I last try {text}"),
    ):
        assert answer.facts["count"] == len(messages(answer))
    assert messages(world("search_entries", text=f"tried {text} today"))[0] == f"tried {text} today"
    if re.search(r"\w", text):
        assert f"tried {text} today" in messages(world("search_entries", text=text))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("add_entry", {"message": "x"}),
        ("remember_this", {"activity": "x"}),
        ("list_entries", {}),
        ("search_entries", {"text": "x"}),
        ("search_entries", {"tags": ["x"]}),
        ("what_was_i_doing", {}),
        ("find_when_i", {"what": "x"}),
        ("find_when_i", {"what": "how often did I x"}),
    ],
)
def test_trouble_with_the_database_is_called_after_no_argument(world, tool, arguments):
    """It names the file and what to check."""
    world.path.parent.mkdir(exist_ok=True)
    world.path.write_text("Dear diary")
    with pytest.raises(Invalid) as caught:
        world(tool, **arguments)
    assert caught.value.located == f"The file {world.path} is not a SQLite database."
    assert "CHRONICLE_DB_PATH" in caught.value.hint


@pytest.mark.design("004-36")
@cases(
    ("tool", "arguments", "sentence"),
    [
        ("add_entry", {"message": " "}, "Invalid message: it is empty. Say what was done."),
        ("remember_this", {"activity": ""}, "Invalid activity: it is empty. Say what was done."),
        ("find_when_i", {"what": "?"}, "Invalid what: it is empty."),
        ("list_entries", {"limit": 0}, "Invalid limit: 0. Use 1 to 100."),
        ("search_entries", {"limit": 101}, "Invalid limit: 101. Use 1 to 100."),
        ("search_entries", {"tags": ["+"]}, "Invalid tags: '+' names no tag. Write it as +work."),
        ("search_entries", {"text": "a", "cursor": "x" * 41}, f"Invalid cursor: '{'x' * 40}...'."),
        ("list_entries", {"cursor": "x!"}, "Invalid cursor: 'x!'. Use the one"),
        ("search_entries", {"text": "a", "cursor": "r0.0"}, "Invalid cursor: 'r0.0'. Use the one"),
        ("search_entries", {"text": "a", "cursor": "\ud800"}, "Invalid cursor: '\\ud800'. Use"),
        ("search_entries", {"text": "a", "cursor": "r\u0661.1"}, "Invalid cursor: "),
        ("search_entries", {"cursor": "r20.20"}, "Invalid cursor: 'r20.20'. Use the one"),
        (
            "search_entries",
            {"text": "x" * 10_001},
            "Invalid text: it has 10,001 characters. Use at most 10,000",
        ),
        (
            "find_when_i",
            {"what": "x" * 10_001},
            "Invalid what: it has 10,001 characters. Use at most 10,000",
        ),
        (
            "search_entries",
            {"since": "someday"},
            "Invalid since: unknown time phrase: 'someday'. Use one such as yesterday",
        ),
        ("search_entries", {"until": "since monday"}, "Invalid until: no end in 'since monday'."),
        (
            "search_entries",
            {"since": "today", "until": "yesterday"},
            "Invalid since: no time lies within since 'today' and until 'yesterday'. Put since",
        ),
        (
            "what_was_i_doing",
            {"timeframe": "whenever"},
            "Invalid timeframe: unknown time phrase: 'whenever'. Use one such as",
        ),
        ("what_was_i_doing", {"timeframe": ""}, "Invalid timeframe: unknown time phrase: ''."),
        (
            "add_entry",
            {"message": "x", "at": "some time"},
            "Invalid at: unknown time phrase: 'some time'. Use a past time",
        ),
        ("add_entry", {"message": "x", "at": "before monday"}, "Invalid at: no beginning in"),
        ("add_entry", {"massage": "x"}, "Unknown argument of add_entry: 'massage'. Did you mean"),
    ],
)
def test_an_error_names_the_argument_and_the_next_step(world, tool, arguments, sentence):
    """`Invalid {field}: {reason}`, then what to do; and nothing is written."""
    with pytest.raises(Invalid) as caught:
        world(tool, **arguments)
    assert str(caught.value).startswith(sentence)
    assert caught.value.hint
    assert not world.path.exists()


_HOLD = """
import sqlite3, sys
conn = sqlite3.connect(sys.argv[1], isolation_level=None)
conn.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_database_that_another_process_locks_is_named(world):
    """Writing tells the path and what to check; reading goes on."""
    world.log(("2026-11-21 10:00", "before"))
    command = [sys.executable, "-c", _HOLD, str(world.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        for tool, arguments in [
            ("add_entry", {"message": "x"}),
            ("remember_this", {"activity": "x"}),
        ]:
            with pytest.raises(Unavailable) as caught:
                world(tool, **arguments)
            assert str(world.path) in caught.value.located
            assert "locked" in caught.value.message
            assert caught.value.hint
        assert messages(world("list_entries")) == ["before"]
        assert messages(world("search_entries", text="before")) == ["before"]
    assert world("add_entry", message="after").facts["repeated"] is False


@pytest.mark.design("004-35")
@pytest.mark.parametrize(
    "content", [b"no database at all, but text", b"SQLite format 3\0" + b"x" * 999]
)
def test_a_foreign_file_is_named_and_left_alone(world, content):
    """Every tool and page tells the path and what to check; the file keeps its bytes."""
    world.path.write_bytes(content)
    for call in (
        lambda: world("add_entry", message="x"),
        lambda: world("remember_this", activity="x"),
        lambda: world("list_entries"),
        lambda: world("what_was_i_doing"),
        lambda: world.page("recent-activity"),
        lambda: world.page("tags"),
    ):
        with pytest.raises(CommonplaceError) as caught:
            call()
        assert str(world.path) in caught.value.located
        assert "CHRONICLE_DB_PATH" in caught.value.hint
    assert world.path.read_bytes() == content


@pytest.mark.parametrize("generation", ["A", "B"])
def test_an_older_generation_has_its_upgrade_named(open_world, tmp_path, generation):
    """Nothing is read, found or written before; then all of it is."""
    world = open_world(path=GOLDEN["make"](generation, tmp_path / "old" / "chronicle.db"))
    for tool, asked in (
        ("list_entries", {}),
        ("search_entries", {"text": "WAL"}),
        ("find_when_i", {"what": "when did I last decide WAL"}),
        ("add_entry", {"message": "x"}),
    ):
        with pytest.raises(Conflict, match="commonplace chronicle upgrade"):
            world(tool, **asked)
    world.chronicle.upgrade()
    assert "decided to use WAL" in messages(world("search_entries", text="WAL"))
    assert "decided to use WAL" in messages(world("find_when_i", what="when did I decide WAL"))


def test_what_others_changed_and_deleted_is_answered_as_it_is(world):
    """Edits and deletions by another program show in the next search."""
    world("add_entry", message="deployed the api")
    gone = world("add_entry", message="deployed the web").facts["id"]
    rows = GOLDEN["rows"]
    rows(world.path, "DELETE FROM entries WHERE id = ?", gone)
    rows(world.path, "UPDATE entries SET message = 'deployed the database'")
    assert messages(world("search_entries", text="deployed")) == ["deployed the database"]


# Project logs


@pytest.mark.parametrize("tool", ["add_entry", "remember_this"])
def test_project_logs_are_written_by_the_tools(world, tool):
    """What `.chronicle` asks for, once an entry; nothing in the answer."""
    (world.project / ".chronicle").write_text('local_logging = true\nlog_dir = "notes/logs"\n')
    world.trust()
    said = "message" if tool == "add_entry" else "activity"
    answer = world(tool, **{said: "deployed"})
    assert answer.facts["notes"] == []
    log = (world.project / "notes" / "logs" / "2026-11-21.log").read_text()
    assert log.startswith("## 15:19:45 - deployed\n")
    if tool == "remember_this":
        world(tool, activity="deployed")
    assert log == (world.project / "notes" / "logs" / "2026-11-21.log").read_text()


@pytest.mark.design("004-43")
def test_a_project_log_is_asked_about_once_and_written_once_allowed(world):
    """The first answer names the log and the command; then nothing is said, and nothing written."""
    (world.project / ".chronicle").write_text("local_logging = true\n")
    (note,) = world("add_entry", message="one").facts["notes"]
    assert note.startswith(f"This repository asks for a project log at {world.project / 'logs'};")
    assert "`commonplace trust`" in note
    assert world("add_entry", message="two").facts["notes"] == []
    assert not (world.project / "logs").exists()
    world.trust()
    assert world("add_entry", message="three").facts["notes"] == []
    log = (world.project / "logs" / "2026-11-21.log").read_text()
    assert ("three" in log, "one" in log) == (True, False)


def test_a_log_that_would_lead_out_is_one_warning_line(world, tmp_path):
    """The entry is there, the log is not, and the answer says so."""
    (world.project / ".chronicle").write_text('local_logging = true\nlog_dir = "../elsewhere"\n')
    answer = world("add_entry", message="deployed")
    (note,) = answer.facts["notes"]
    assert note.startswith("No project log was written: log_dir in ")
    assert answer.text.count("\nNote: ") == 1
    assert not (tmp_path / "elsewhere").exists()
    assert messages(world("list_entries")) == ["deployed"]
