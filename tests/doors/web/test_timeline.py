"""The page of the timeline: who the owner is, and how much was recorded over time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.doors.web.web_world import WebWorld, words_of
from tests.patience import PATIENCE_S


def page(world, **query):
    answer = world.browser().get("/timeline", params=query)
    assert answer.status_code == 200, answer.text
    return answer


def test_without_a_timeline(world):
    """How one is begun; nothing is made by looking."""
    assert "What you and your assistants note as it happens will stand here" in words_of(
        page(world)
    )
    assert not world.app.timeline.journal.exists


def test_trends_as_charts_and_as_a_table(world):
    """Three entries in two hours of two days, each day a bar that leads to the calendar."""
    for at in ("2026-10-06 10:10", "2026-10-06 10:20", "2026-10-08 11:00"):
        world.call("timeline", "timeline_add", content="tests <b>run</b>", at=at)
    page(world)
    world.app.timeline.catching_up.begin(wait_s=PATIENCE_S)
    answer = page(world)
    assert "3 entries in 2 hours" in words_of(answer)
    assert "<title>2026-10-06: 2</title>" in answer.text
    assert "<title>2026-10-07: 0</title>" in answer.text
    assert 'href="/calendar/2026-10-08"' in answer.text
    assert "2 entries in 1 hour" in words_of(page(world, when="2026-10-06", period="hour"))


def test_what_is_not_summed_up_yet_is_not_counted_and_named(world, monkeypatch):
    """Where pages may only read: neither is anything computed for it."""
    for at in ("2026-10-06 10:10", "2026-10-08 11:00"):
        world.call("timeline", "timeline_add", content="tests", at=at)
        world.app.timeline.rollups.catch_up(most=9 if "06" in at else 0)
    world.close()
    monkeypatch.setenv("COMMONPLACE_READ_ONLY", "true")
    reader = WebWorld()
    words = words_of(page(reader, period="day"))
    reader.close()
    assert (
        "1 entry in 1 hour, by day. 1 day is not counted here yet: commonplace rollup does it."
        in words
    )
    assert "2026-10-08 not counted yet" in words


def test_the_profile_and_those_before_it(world):
    """The newest one whole, with the way to the former."""
    world.call("timeline", "timeline_profile", text="A baker <script>x</script> of bread.")
    assert "&lt;script&gt;x&lt;/script&gt; of bread." in page(world).text
    world.call("timeline", "timeline_profile", text="A baker of cakes.")
    words = words_of(page(world))
    assert "A baker of cakes." in words
    assert "1 earlier profile" in words
    assert "<script>x" not in page(world).text


def test_numbers_that_entries_carry(world):
    """The mean of each period that has one."""
    for day, hour, score in ((6, 10, 4), (6, 11, 8), (7, 10, 9)):
        at = datetime(2026, 10, day, hour, tzinfo=UTC)
        numbers = {"productivity_score": score}
        world.app.timeline.service().add("worked", at=at, metadata=numbers)
    world.app.timeline_commands().roll_up()
    text = page(world, period="day").text
    assert "Productivity score, mean" in text
    assert "<title>2026-10-06: 6</title>" in text


def test_a_week_beside_the_last_and_the_mean(world):
    """With an arrow, and the course of the projects, escaped."""
    for at in ("2026-10-06 10:10", "2026-10-13 10:20", "2026-10-13 11:00"):
        metadata = {"projects": ["a <b>b</b>"]}
        world.call("timeline", "timeline_add", content="tests", at=at, metadata=metadata)
    world.app.timeline_commands().roll_up()
    answer = page(world, when="2026-W42", period="week")
    words = words_of(answer)
    assert "2026-W42 beside 2026-W41, and the mean of the one before" in words
    assert "entries 2 1 1 ↑" in words
    assert "Steady: a <b>b</b>" in words
    assert "<b>b</b>" not in answer.text


def test_figures_and_what_entries_named(world):
    """The figures in a line, milestones and blockers in lists; in the calendar with its summary."""
    at = datetime(2026, 10, 6, 10, tzinfo=UTC)
    metadata = {"hours_worked": 6.5, "milestones": ["go <b>live</b>"], "blockers": ["no key"]}
    world.app.timeline.service().add("worked", at=at, metadata=metadata)
    world.app.timeline_commands().roll_up()
    words = words_of(page(world))
    assert "Figures: 6.5 hours worked." in words
    assert "Milestones go <b>live</b> 6 October 2026 Blockers no key 6 October 2026" in words
    period = words_of(world.browser().get("/calendar/2026-10"))
    assert "Figures: 6.5 hours worked" in period
    assert "Blockers 6 Oct no key." in period


@pytest.mark.parametrize("query", [{"when": "no time"}, {"period": "eon"}, {"when": "x" * 3000}])
def test_a_query_that_cannot_be_read_is_explained(world, query):
    """None of it is an error of ours."""
    world.call("timeline", "timeline_add", content="tests")
    assert world.browser().get("/timeline", params=query).status_code == 400
