"""`commonplace timeline demo`: a year in a temporary home, zoomed into, and nothing left behind."""

from __future__ import annotations

import tempfile
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from tests.doors.terminal import facts, run

from commonplace.doors.demos import timeline as timeline_demo
from commonplace.doors.demos.timeline import DECISION, a_year


@pytest.fixture
def temp():
    """Where temporary homes are made."""
    return Path(tempfile.gettempdir())


@pytest.mark.parametrize(
    "entries", [60, pytest.param(10_000, id="all of them", marks=pytest.mark.long)]
)
def test_the_demo_zooms_from_the_year_to_one_entry(entries, temp, tmp_path, monkeypatch):
    """Year, month, week, day, hour, entry: the decision stands in each, and in none once deleted."""
    monkeypatch.setattr(timeline_demo, "a_year", lambda zone: list(a_year(zone))[-entries:])
    done = run("timeline", "demo")
    assert done.exit_code == 0, done.output
    steps = ["2025", "2025-10", "2025-W41", "2025-10-07", '"2025-10-07 14"', "timeline:"]
    rest = done.stdout
    for step in steps:
        _, found, rest = rest.partition(f"commonplace timeline show {step}")
        assert found, step
        shown = rest.partition("\ncommonplace timeline ")[0]
        assert DECISION in shown
    assert "summed up in timeline:rollup_hourly_20251007_14" in rest
    assert "Summaries that still mention it: none." in rest
    assert list(temp.iterdir()) == []
    assert [x for x in (tmp_path / "home").rglob("*") if x.is_file()] == []


def test_the_demo_as_data(temp, monkeypatch):
    """The same steps, for a program; here of the one hour that it zooms into."""
    monkeypatch.setattr(timeline_demo, "a_year", lambda zone: list(a_year(zone))[-3:])
    told = facts("timeline", "demo")["steps"]
    # An hour, a day, a week, a month and a year.
    assert told[0]["text"].startswith("3 raw entries of 2025 became 5 summaries")
    assert told[-1]["step"] == "That was the demo"


def test_the_demo_reads_no_settings_of_the_user(temp, monkeypatch):
    """Retention that the user set would let go of the year's entries."""
    monkeypatch.setattr(timeline_demo, "a_year", lambda zone: list(a_year(zone))[-3:])
    assert run("config", "set", "timeline.retention", "design").exit_code == 0
    assert facts("timeline", "demo")["steps"][-1]["step"] == "That was the demo"


def test_the_year_is_the_same_at_each_run():
    """Entry by entry; nothing of it is left to chance."""
    zone = ZoneInfo("Europe/Berlin")
    assert list(a_year(zone)) == list(a_year(zone))


def test_a_demo_that_is_stopped_leaves_nothing(temp, monkeypatch):
    """Whatever happens in it."""

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(timeline_demo, "a_year", stop)
    assert run("timeline", "demo").exit_code == 130
    assert list(Path(temp).iterdir()) == []
