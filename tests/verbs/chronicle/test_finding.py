"""When was it last, when first, how often: what counts as the same thing, and how it is told."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import partial

import pytest
from tests.cases import cases
from tests.verbs.chronicle_world import NOW, messages

from commonplace_testing import HashingEncoder, ReadySlot

NOTHING = "No entries found matching criteria."


@pytest.fixture
def deploys(world):
    """Three deployments among other things."""
    world.log(
        ("2026-09-01 10:00", "deployed the api"),
        ("2026-10-15 10:00", "deployed the api"),
        ("2026-11-14 15:19", "deployed the api"),
        ("2026-11-20 10:00", "lunch with Bo"),
        ("2026-11-21 10:00", "watered every plant"),
    )
    return world


def test_when_did_i_is_answered_with_how_long_ago_and_the_exact_time(deploys):
    """Best matches first; twins of one text are all there."""
    answer = deploys("find_when_i", what="when did I have lunch with Bo?")
    assert answer.text.splitlines()[0].startswith(
        "- 2026-11-20 10:00 (1 day ago) lunch with Bo in "
    )
    assert answer.facts["about"] == "have lunch with Bo"
    twins = messages(deploys("find_when_i", what="deployed the api"))
    assert twins[:3] == ["deployed the api"] * 3


@pytest.mark.design("004-26")
@cases(
    ("what", "times"),
    [
        ("when did I last deploy the api", ["2026-11-14", "2026-10-15", "2026-09-01"]),
        ("the last time I deployed the api", ["2026-11-14", "2026-10-15", "2026-09-01"]),
        ("the first time I deployed the api", ["2026-09-01", "2026-10-15", "2026-11-14"]),
    ],
)
def test_last_and_first_go_by_time(deploys, what, times):
    """What is not about the same thing is left out."""
    entries = deploys("find_when_i", what=what).facts["entries"]
    assert [entry["at"][:10] for entry in entries] == times


@pytest.mark.design("004-26")
@pytest.mark.parametrize("is_tree", [False, True], ids=["database", "tree"])
def test_tags_count_as_words_do(open_world, tmp_path, is_tree):
    """Newest first, whether a word stands in the message or among the tags, in any form, or in both."""
    tree = tmp_path / "tree"
    tree.mkdir()
    world = open_world(path=tree if is_tree else None)
    for at, message, tags in (
        ("2026-09-01 10:00", "the release of 2.0 went out", []),
        ("2026-10-01 10:00", "shipped 2.1", ["Releases", "web"]),
        ("2026-10-02 10:00", "lunch with Bo", ["web"]),
        ("2026-11-01 10:00", "shipped 2.2", ["web", "caf\u00e9"]),
    ):
        world("add_entry", message=message, tags=tags, at=at)
    for what, said in (
        ("last release", ["shipped 2.1", "the release of 2.0 went out"]),
        ("first release", ["the release of 2.0 went out", "shipped 2.1"]),
        ("when did I last ship web", ["shipped 2.2", "shipped 2.1"]),
        ("last cafe", ["shipped 2.2"]),
    ):
        assert messages(world("find_when_i", what=what)) == said, what
    former = world("list_entries").facts["entries"][0]["ref"]
    world("add_entry", message="shipped 2.3", supersedes=former)
    assert world("find_when_i", what="last supersedes").facts["matching"] == 0


def test_entries_of_one_second_stand_as_they_were_written_in_every_answer(world):
    """The last written first in lists and of the last, last of the first and in the story of a day."""
    said = [f"lit lamp {number}" for number in (3, 1, 4, 2)]
    for text in said:
        world("add_entry", message=text, at="2026-11-20 09:30")
    for tool, given in (
        ("list_entries", {}),
        ("search_entries", {"since": "yesterday"}),
        ("find_when_i", {"what": "last lamp"}),
        ("find_when_i", {"what": "how many lamps"}),
    ):
        assert messages(world(tool, **given)) == said[::-1], tool
    assert messages(world("find_when_i", what="first lamp")) == said
    told = world("what_was_i_doing", timeframe="yesterday").text
    assert [line.partition(" lit ")[2] for line in told.splitlines() if " lit " in line] == [
        each.partition(" ")[2] for each in said
    ]


def test_the_last_of_many_is_first_however_it_is_asked(world, subtests):
    """Of 24 deployments, the oldest in the very words, today's stands above all."""
    for days in range(1, 25):
        text = "deploy the api, the last deploy" if days > 12 else "deploy the api"
        world.chronicle.add_event(text, at=NOW - timedelta(days=days))
    today = (
        "Deployed v2.31 of the api, after a long morning of failing tests and a fix of the cache"
    )
    world.chronicle.add_event(today, at=NOW - timedelta(hours=2))
    world.filing.catch_up()
    for what in (
        "last deploy",
        "the latest deploy",
        "when was my last deploy?",
        "when did I last deploy",
        "when did I deploy most recently",
        "when was the api last deployed",
    ):
        with subtests.test(what=what):
            answer = world("find_when_i", what=what)
            assert messages(answer)[:2] == [today, "deploy the api"]
            assert "(2 hours ago)" in answer.text.splitlines()[0]


@cases(
    ("what", "head", "count"),
    [
        ("how many times did I deploy the api", "3 entries match.", 3),
        ("how many times did I deploy the api in october", "1 entry matches.", 1),
        ("how often have I deployed the api since october", "2 entries match.", 2),
        ("how many times did I fly to the moon", "0 entries match.", 0),
    ],
)
def test_how_many_times_is_counted(deploys, what, head, count):
    """The text begins with the count, the facts hold it."""
    answer = deploys("find_when_i", what=what)
    assert (answer.text.splitlines()[0], answer.facts["matching"]) == (head, count)


def test_neighbours_are_not_counted(open_world):
    """An entry counts that bears every word, in whatever form; half of them is another thing."""
    world = open_world(slot=ReadySlot(reason="No model is there."))
    world.log(
        ("2026-11-01 10:00", "deployed the api"),
        ("2026-11-02 10:00", "Deploying v2.1.0 of the API, at last"),
        ("2026-11-03 10:00", "deployed the web app"),
        ("2026-11-04 10:00", "fixed the api"),
        ("2026-11-05 10:00", "deployed v2.0.1"),
    )
    count = world("find_when_i", what="how many times did I deploy the api")
    assert count.text.splitlines()[0] == "2 entries match."
    assert messages(count) == ["Deploying v2.1.0 of the API, at last", "deployed the api"]
    assert world("find_when_i", what="how many deploys of v2.1.0").facts["matching"] == 1
    assert messages(world("find_when_i", what="when did I last deploy")) == [
        "deployed v2.0.1",
        "deployed the web app",
        "Deploying v2.1.0 of the API, at last",
        "deployed the api",
    ]


def test_what_is_near_in_meaning_counts_and_is_told_apart(world):
    """A cosine of 0.5 or more, whatever else was found; the sure ones are listed first."""
    world.log(
        ("2026-11-01 10:00", "watered garden"),
        ("2026-11-02 10:00", "watered balcony"),
        ("2026-11-03 10:00", "painted the fence in the cold wind"),
    )
    plain = world("find_when_i", what="how often have I watered garden")
    assert not {"by", "score", "similarity", "legs"} & plain.facts["entries"][0].keys()
    count = world("find_when_i", what="how often have I watered garden", explain=True)
    assert count.text.splitlines()[0] == "2 entries match, 1 of them by meaning alone."
    assert (count.facts["matching"], count.facts["by_meaning_alone"]) == (2, 1)
    assert messages(count) == ["watered garden", "watered balcony"]
    assert [entry["by"] for entry in count.facts["entries"]] == ["both", "meaning"]
    last = world("find_when_i", what="the last time I watered garden")
    assert messages(last) == ["watered balcony", "watered garden"]
    (note,) = last.facts["notes"]
    assert note.startswith("The last that bears every word is of 2026-11-01 10:00; what stands")


def test_more_than_a_search_ranks_are_counted(open_world):
    """Every one of 1,200; the last and the first are those of all, not of the best thousand."""
    world = open_world()
    world.log_many(
        *((NOW - timedelta(hours=1_200 - n), f"deployed build {n}") for n in range(1_200))
    )
    count = world("find_when_i", what="how many times did I deploy")
    assert count.text.splitlines()[0] == "1,200 entries match."
    assert count.facts["matching"] == 1_200
    last = world("find_when_i", what="when did I last deploy")
    assert messages(last)[:2] == ["deployed build 1199", "deployed build 1198"]
    first = world("find_when_i", what="the first time I deployed")
    assert messages(first)[:2] == ["deployed build 0", "deployed build 1"]


def test_pages_end_where_the_ranking_does(world):
    """Past a thousand entries the last page says so; every entry that is ranked is on one page."""
    world.log_many(*((NOW, f"entry {n:04}") for n in range(1_050)))
    find_page = partial(world.service.searches.find_page, "entry", tags=(), within=None, first=100)
    pages = [find_page(start=start, length=length) for start, length in ((0, 100), (100, 1_000))]
    assert [more for _, more in pages] == [True, False]
    refs = [hit.doc.ref for found, _ in pages for hit in found.hits]
    assert len(refs) == len(set(refs)) >= 1_000
    assert pages[0][0].notes == ()
    assert "narrow by time or tags" in pages[1][0].notes[0]


def test_a_bound_that_was_reached_is_said(world):
    """More near ones than a search ranks: the count is a least one, and an order is not sure."""
    world.log_many(*((NOW - timedelta(hours=400 - n), f"watered plant{n}") for n in range(400)))
    count = world("find_when_i", what="how often have I watered shrubs")
    assert re.match(r"At least \d+ entries match, by meaning alone\.", count.text)
    encoder = HashingEncoder()
    asked = encoder.encode_query("watered shrubs")
    texts = [f"watered plant{n}" for n in range(400)]
    near = [text for text in texts if float(encoder.encode_query(text) @ asked) >= 0.5]
    last = messages(world("find_when_i", what="the last time I watered shrubs"))
    assert last == near[:-11:-1]
    first = messages(world("find_when_i", what="the first time I watered shrubs"))
    assert first == near[:10]


def test_nothing_that_is_surely_it_is_said(world):
    """What is shown then is only the best there is."""
    world.log(("2026-11-01 10:00", "watered the garden before the long and quiet evening"))
    for what in ("when did I last water the roof", "how many times did I water the roof"):
        answer = world("find_when_i", what=what)
        assert len(messages(answer)) == 1
        assert answer.facts["notes"] == [
            "No entry has every word or is near in meaning: these are the best there are."
        ]


@pytest.mark.design("004-26")
def test_time_words_in_the_question_narrow_it(deploys):
    """The interval they were read as is shown."""
    answer = deploys("find_when_i", what="when did I deploy the api in october")
    assert answer.text.startswith("Time: 2026-10-01 00:00 to 2026-11-01 00:00 (UTC-07:00)\n")
    assert [entry["at"][:10] for entry in answer.facts["entries"]] == ["2026-10-15"]


def test_nothing_in_that_time_is_said(deploys):
    """The matches of other times are shown instead, if there are any."""
    answer = deploys("find_when_i", what="when did I deploy the api in august")
    assert answer.facts["notes"] == [
        "Nothing in that time; the best matches of other times are shown."
    ]
    assert answer.facts["matching"] == 0
    assert messages(answer)[:3] == ["deployed the api"] * 3
    nothing = deploys("find_when_i", what="quokka zeppelin in august")
    assert nothing.facts["notes"] == ["Nothing in that time."]
    assert NOTHING in nothing.text
