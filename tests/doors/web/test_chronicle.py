"""The pages of the log: by time and tag, when something was, and how it went over time."""

from __future__ import annotations

import html
import re

import pytest
from tests.doors.web.web_world import words_of

HOSTILE = '<script>alert(1)</script> & "x"'


@pytest.fixture
def runs(world):
    """Four runs with their lengths, and something else."""
    for at, said in (
        ("2026-11-01 07:00", "ran 5 km"),
        ("2026-11-03 07:00", "ran 6.5 km in 40 minutes"),
        ("2026-11-05 07:00", "ran 8 km"),
        ("2026-11-06 09:00", "deployed the api"),
    ):
        tags = ["sport"] if "ran" in said else ["release", "api"]
        world.call("chronicle", "add_entry", message=said, at=at, tags=tags)
    world.app.filing.catch_up()
    return world


def page(world, path="/chronicle", **query):
    answer = world.browser().get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer


def test_the_log_by_time_with_its_tags(runs):
    """The newest entry first; each tag with how many entries bear it."""
    words = words_of(page(runs))
    assert words.index("deployed the api") < words.index("ran 8 km") < words.index("ran 5 km")
    assert "sport 3" in words
    assert "release 1" in words


def test_one_tag_or_one_time_alone(runs):
    """The others are left out, and the time is shown as it was read."""
    assert "deployed" not in words_of(page(runs, tag="sport"))
    words = words_of(page(runs, when="2026-11-03"))
    assert "ran 6.5 km" in words
    assert "ran 5 km" not in words
    assert "Nothing matches" in words_of(page(runs, when="2020"))


def test_an_empty_log_says_how_to_begin(world):
    """And charts nothing."""
    assert "What was done will stand here" in words_of(page(world))
    assert "0 entries have all" in words_of(page(world, "/chronicle/figure", q="ran"))
    assert page(world, "/chronicle/figure").status_code == 200


def test_older_entries_are_a_page_further(world):
    """Every entry is on just one page."""
    for n in range(51):
        world.call("chronicle", "add_entry", message=f"entry {n:02}", at=f"2026-10-01 10:{n:02}")
    first = page(world)
    assert "entry 50" in words_of(first)
    assert "entry 00" not in words_of(first)
    older = html.unescape(re.search(r'rel="next" href="([^"]+)"', first.text)[1])
    second = world.browser().get(older)
    assert "entry 00" in words_of(second)
    assert "entry 01" not in words_of(second)
    assert 'rel="next"' not in second.text


def test_when_did_i(runs):
    """The last time, and how long ago it was; of a count the number."""
    words = words_of(page(runs, q="when did I last run?"))
    assert words.index("about 3 weeks ago") < words.index("ran 8 km")
    assert "3 entries match" in words_of(page(runs, q="how many times did I run?"))


def test_a_figure_over_time(runs):
    """Each day's runs as bars, each length as a point, and the same figures in words."""
    answer = page(runs, "/chronicle/figure", q="ran")
    words = words_of(answer)
    assert "3 entries have all of these words" in words
    assert "3 numbers, from 5 to 8, median 6.5" in words
    assert "<title>2026-11-03: 1</title>" in answer.text
    assert "<title>2026-11-04: 0</title>" in answer.text
    assert "<title>2026-11-03: 6.5 km</title>" in answer.text
    minutes = words_of(page(runs, "/chronicle/figure", q="ran", unit="minutes"))
    assert "1 number: 40." in minutes
    assert "2 entries have all of these words, after" in words_of(
        page(runs, "/chronicle/figure", q="ran", when="since 3 November 2026")
    )


def test_what_was_logged_is_only_shown(world):
    """Markup in a message or a tag stays text on each of the pages."""
    world.call("chronicle", "add_entry", message=f"ran 3 km {HOSTILE}", tags=["<b>tag"])
    world.app.filing.catch_up()
    for path, query in (
        ("/chronicle", {}),
        ("/chronicle", {"q": "ran"}),
        ("/chronicle", {"tag": "<b>tag"}),
        ("/chronicle/figure", {"q": f"ran {HOSTILE}", "unit": HOSTILE}),
    ):
        text = page(world, path, **query).text
        assert "<script>alert" not in text
        assert "<b>tag" not in text


@pytest.mark.parametrize(
    "query",
    [{"after": "zzz"}, {"when": "no time at all"}, {"tag": "-"}, {"q": "?"}, {"tag": "x" * 5000}],
)
def test_a_query_that_cannot_be_read_is_explained(browser, query):
    """None of it is an error of ours."""
    assert browser.get("/chronicle", params=query).status_code in {200, 400}
