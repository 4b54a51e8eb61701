"""Summaries without a model: what they keep, that they invent nothing, and how they are laid out."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.cases import cases

from commonplace.core.clock import period, period_key
from commonplace.core.rollups import Figures, Item, Material, Measure, Point, without_labels
from commonplace.inference.language.extract import Extractive
from commonplace.journals.timeline.figures import merged

START = datetime(2025, 2, 4, 10, 0, tzinfo=UTC)
TEXTS = (
    "Created the work_log table with columns for date, task and duration.",
    "Decided to use SQLite for the work_log. It needs no server.",
    "Lunch.",
    "Tested the work_log table with sample Q4 data, and the table held.",
    "The printer jammed. Nobody knows why.",
)


def material(*texts, level="hour", figures=None, points=False):
    items = []
    for number, text in enumerate(texts):
        at = START + timedelta(minutes=10 * number)
        kept = (Point(ref=f"e:{number}", at=at, text=text, weight=0.5),) if points else ()
        items.append(Item(ref=f"e:{number}", at=at, text=text, points=kept))
    figures = figures or Figures(
        entries=len(items),
        hours=1,
        first=items[0].at,
        last=items[-1].at,
        projects={"sales": 3, "garden": 1},
        tools={"editor": 1},
    )
    return Material(
        owner="me",
        level=level,
        key=period_key(START, level, UTC),
        period=period(START, level, UTC),
        zone=UTC,
        items=tuple(items),
        figures=figures,
    )


@pytest.mark.design("003-34")
def test_an_hour_is_laid_out_as_the_design_s_example():
    """Its span in brackets, what was counted, then sentences in the order of time."""
    text = Extractive().summarise(material(*TEXTS)).text
    first, *rest = text.splitlines()
    assert first == "[10:00-11:00] 5 entries; projects: sales, garden; tools: editor."
    assert rest[0] == TEXTS[0]
    assert "Decided to use SQLite for the work_log." in rest
    assert rest[-1] in {"The printer jammed.", "Nobody knows why."}


@pytest.mark.design("003-38")
def test_a_day_has_headings_bullets_and_numbers_from_rows():
    """Projects with their counts; decisions apart from the rest."""
    text = Extractive().summarise(material(*TEXTS, level="day")).text
    assert text.startswith("**4 February 2025**\n\n5 entries in 1 hour, 10:00 to 10:40.\n")
    assert "**Projects**: sales (3), garden (1)" in text
    decisions = text.partition("**Decisions**:\n")[2].partition("\n\n")[0]
    assert decisions == "• [10:10] Decided to use SQLite for the work_log."
    assert "• [10:00] Created the work_log table" in text.partition("**Highlights**:")[2]


@cases("level", ["hour", "day"])
def test_what_was_said_again_is_told_once(level):
    """A decision, a first sentence and a last one that recur stand where they were said first."""
    said = ("Watered the beans.", "Decided to plant peas.", "Mended the gate before noon.")
    text = Extractive().summarise(material(*said, *said, "WATERED the beans.", level=level)).text
    assert [text.casefold().count(x.casefold()) for x in said] == [1, 1, 1]
    places = [text.index(x) for x in said if x.startswith(("Watered", "Mended"))]
    assert places == sorted(places)


def test_no_section_stands_empty():
    """What was not there is not told of."""
    text = (
        Extractive()
        .summarise(material("Quiet.", level="day", figures=Figures(entries=1, hours=1)))
        .text
    )
    assert "Projects" not in text
    assert "Decisions" not in text


@settings(max_examples=30)
@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=8), st.integers(0, 99))
def test_the_order_of_items_makes_no_difference(texts, seed):
    """The same material gives the same text, byte for byte."""
    plain = material(*texts)
    items = list(plain.items)
    random.Random(seed).shuffle(items)
    shuffled = replace(plain, items=tuple(items))
    assert Extractive().summarise(shuffled) == Extractive().summarise(plain)


@settings(max_examples=30)
@given(st.lists(st.text(max_size=200), min_size=1, max_size=6), st.sampled_from(["hour", "month"]))
def test_every_sentence_stands_in_an_entry_and_none_is_lost_at_the_ends(texts, level):
    """Whatever somebody wrote, nothing is made up and nothing fails."""
    found = Extractive().summarise(material(*texts, level=level))
    whole = [" ".join(text.split()) for text in texts]
    for point in found.points:
        kept = point.text.removesuffix("...").removesuffix("…").strip()
        assert any(kept in text for text in whole), point.text
    assert found.text


def test_larger_periods_quote_what_smaller_ones_kept():
    """A month tells of single entries, by the refs they have."""
    days = material(*TEXTS, level="month", points=True)
    found = Extractive().summarise(days)
    assert {x.ref for x in found.points} <= {f"e:{n}" for n in range(5)}
    assert "• [2025-02-04] Created the work_log table" in found.text


def test_a_long_period_keeps_few_sentences_spread_over_it():
    """The first and the last always; the best of each part before the second best of any."""
    items = tuple(
        Item(
            ref=f"d:{day}",
            at=START + timedelta(days=day),
            text="",
            points=tuple(
                Point(
                    ref=f"e:{day}:{n}",
                    at=START + timedelta(days=day, hours=n),
                    text=f"day {day} thing {n}",
                    weight=1.0 if day == 3 else 0.1,
                )
                for n in range(1, 9)
            ),
        )
        for day in range(20)
    )
    found = Extractive().summarise(replace(material("x", level="month"), items=items))
    assert 12 <= len(found.points) <= 14
    assert (found.points[0].ref, found.points[-1].ref) == ("e:0:1", "e:19:8")
    assert len({x.ref.split(":")[1] for x in found.points}) >= 12


def test_what_is_said_again_and_again_is_told_once():
    """At its ends too; case and a full stop make no other sentence of it."""
    repeated = material("Stand-up.", "Fixed the import", "fixed the import.", "Stand-up.")
    found = Extractive().summarise(replace(repeated, level="day"))
    assert [x.text for x in found.points] == ["Stand-up.", "Fixed the import"]
    assert found.text.count("Stand-up.") == 1


def test_decisions_of_a_year_are_not_those_of_its_first_days():
    """Equal ones are told once, others from all over it: twelve at the most."""
    months = tuple(
        Item(
            ref=f"m:{month}",
            at=START + timedelta(days=30 * month),
            text="",
            points=tuple(
                Point(
                    ref=f"e:{month}:{n}",
                    at=START + timedelta(days=30 * month + n),
                    text=text,
                    weight=0.5,
                    decision=True,
                )
                for n, text in enumerate(("Chose tea", f"Chose {month}", f"Plan {month}"), 1)
            ),
        )
        for month in range(11)
    )
    found = Extractive().summarise(replace(material("x", level="year"), items=months))
    assert [x.text for x in found.points].count("Chose tea") == 1
    assert {x.ref.split(":")[1] for x in found.points if x.decision} >= {str(n) for n in range(11)}


def test_a_file_of_another_journal_is_quoted_without_its_frontmatter():
    """Nor are its headings sentences; a file that holds nothing else is told by them."""
    head = '---\ntitle: "12:09 PM"\ntimestamp: 1\n---\n\n'
    found = material(f"{head}## Project Notes\n\nThe flaky test was a race.", f"{head}## Quiet")
    items = tuple(replace(item, journal="private") for item in found.items)
    told = Extractive().summarise(replace(found, items=items))
    assert [x.text for x in told.points] == ["The flaky test was a race.", "Quiet"]
    own = material("---\nmine: 1\n---\n\n# All of it")
    assert "mine: 1" in Extractive().summarise(own).text


def test_the_sentences_of_an_entry_stay_in_its_order():
    """They bear one time, and no alphabet sorts them."""
    told = "Step 2 of the plan is done. Step 10 of the plan is next. Step 1 was long ago."
    found = Extractive().summarise(material(told))
    assert " ".join(x.text for x in found.points) == told


def test_a_very_long_entry_is_read_from_its_beginning():
    """A pasted book costs no more than a page, and one sentence of it is no longer than a line."""
    found = Extractive().summarise(material("word " * 400_000))
    assert max(len(x.text) for x in found.points) <= 230
    assert len(found.text) < 2_000


def test_figures_merge_in_any_order():
    """Counts add up, the first is the earliest, the last the latest."""
    one = Figures(entries=2, hours=1, first=START, last=START, projects={"a": 1, "b": 1})
    two = Figures(
        entries=1, hours=1, first=START - timedelta(days=1), last=START, projects={"b": 2}
    )
    both = merged([one, two])
    assert both == merged([two, one])
    assert (both.entries, both.hours, both.first) == (3, 2, START - timedelta(days=1))
    assert both.projects == {"a": 1, "b": 3}
    assert merged([]) == Figures()


@cases(
    "text",
    [
        "We decided to wait.",
        "Agreed on the blue one.",
        "They chose Berlin.",
        "Going with plan B.",
        "We will use uv from now on.",
    ],
)
def test_a_decision_is_known_by_its_words(text):
    """In the forms people write it in."""
    (point,) = Extractive().summarise(material(text)).points
    assert point.decision
    assert re.search("decid|agreed|chose|going|will", text.lower())


def test_a_summary_without_its_labels_is_what_was_written():
    """Of every level: names that were counted, and sentences that were quoted, but no word of ours."""
    figures = Figures(
        entries=1200,
        hours=3,
        first=START,
        last=START + timedelta(days=2),
        projects={"sales": 3},
        tags={"schema": 2},
        actions={"plan": 1},
        tools={"editor": 1},
    )
    texts = TEXTS[1], "Projects: none of ours."
    hour = Extractive().summarise(material(*texts, figures=figures)).text
    assert without_labels(hour).split("\n") == [
        "[10:00-11:00] sales, editor.",
        "Decided to use SQLite for the work_log.",
        "It needs no server.",
        "Projects: none of ours.",
    ]
    day = Extractive().summarise(material(*texts, level="day", figures=figures)).text
    assert without_labels(day).split("\n") == [
        "**4 February 2025**",
        "sales (3)",
        "schema (2)",
        "plan (1)",
        "editor (1)",
        "• [10:00] Decided to use SQLite for the work_log.",
        "• [10:00] It needs no server.",
        "• [10:10] Projects: none of ours.",
    ]


def test_figures_blockers_and_milestones_lose_their_labels_alone():
    """What entries named as such is found; "blockers" does not find every summary."""
    mean = Measure(count=1, total=7.0, least=7.0, most=7.0)
    figures = Figures(
        entries=1,
        first=START,
        last=START,
        measures={"productivity_score": mean},
        blockers={"No disk": START},
        milestones={"First sale": START},
    )
    said = ["• [10:00] First sale.", "• [10:00] No disk."]
    hour = without_labels(Extractive().summarise(material("Sold it.", figures=figures)).text)
    assert hour.split("\n") == ["[10:00-11:00]", "Sold it.", *said]
    whole = material("Sold it.", level="day", figures=figures)
    day = without_labels(Extractive().summarise(whole).text).split("\n")
    assert sorted(day) == sorted(["**4 February 2025**", *said, "• [10:00] Sold it."])


def test_the_labels_of_a_model_s_summary_go_too():
    """What a model wrote under its headings stays, also where it looks like a label of ours."""
    text = "**Week of 3 February 2025**\n\n**Key Wins**:\n• 3 entries in 2 hours: fast.\nShipped."
    assert without_labels(text).split("\n") == [
        "**Week of 3 February 2025**",
        "• 3 entries in 2 hours: fast.",
        "Shipped.",
    ]
    assert without_labels("[10:00-11:00] 3 entries were lost.") == (
        "[10:00-11:00] 3 entries were lost."
    )
