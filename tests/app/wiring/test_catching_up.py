"""What a server does for the timeline at its start: once, behind everything else."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from tests.patience import PATIENCE_S, until

from commonplace.app import App
from commonplace.app.wiring.catching_up import LEASE
from commonplace.config.settings import read_settings
from commonplace_testing import FrozenClock

START = datetime(2026, 10, 5, 9, tzinfo=UTC)


@pytest.fixture
def opened(tmp_path, no_weights, monkeypatch):
    """Makes apps over the test's home, each as a server of its own would, a month later."""
    monkeypatch.setenv("COMMONPLACE_TIMEZONE", "UTC")
    made = []

    def open_app(**environ):
        for name, value in environ.items():
            monkeypatch.setenv(f"COMMONPLACE_{name.upper()}", value)
        settings = read_settings(cwd=tmp_path / "project", home=tmp_path / "home")
        clock = FrozenClock(START + timedelta(days=30))
        made.append(App(settings, user_home=tmp_path / "home", clock=clock))
        return made[-1]

    yield open_app
    for each in made:
        each.close()


def record(app, days=3):
    """An entry on each of some days, of which nothing is rolled up."""
    for day in range(days):
        app.timeline.journal.add(f"Mended gate {day}", at=START + timedelta(days=day))


def started(app):
    """An app whose start is over, whatever it did."""
    app.timeline.begin_rolling_up()
    app.timeline.catching_up._start.join(PATIENCE_S)
    return app


def kinds(app):
    """How many entries of each type are there, by type and status."""
    return {(kind, status): count for kind, status, count, *_ in app.timeline.journal.count_types()}


def log_of(app):
    lines = (app.timeline.journal.database.folder / "rollups.log").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_what_is_due_is_rolled_up_and_filed(opened):
    """Hours, days, the week and the month; a search of the index alone finds them."""
    app = opened()
    record(app)
    assert kinds(started(app)) == {
        ("raw", "active"): 3,
        ("hourly_rollup", "active"): 3,
        ("daily_rollup", "active"): 31,  # 28 in which nothing happened
        ("weekly_rollup", "active"): 1,
        ("monthly_rollup", "active"): 1,
    }
    month = "timeline:rollup_monthly_202610"
    until(lambda: app.index.known().stamps(month), "the month to be filed")


def test_two_servers_that_start_at_once_make_each_summary_once(opened):
    """One has the lease; what the other would make is not even begun."""
    first, second = opened(), opened()
    record(first, days=20)
    for each in (first, second):
        each.timeline.begin_rolling_up()
    for each in (first, second):
        each.timeline.catching_up._start.join(PATIENCE_S)
    log = log_of(first)
    assert {x["outcome"] for x in log} == {"stored"}
    assert len(log) == len({(x["level"], x["period"]) for x in log}) == 20 + 20 + 3 + 1


def test_while_another_server_rolls_up_nothing_is_begun(opened):
    """It is done by the next start, and the lease is given back after that."""
    app = opened()
    record(app)
    app.index.take_lease(LEASE, "another server", 60)
    assert kinds(started(app)) == {("raw", "active"): 3}
    app.index.drop_lease(LEASE, "another server")
    assert ("monthly_rollup", "active") in kinds(started(opened()))
    assert app.index.take_lease(LEASE, "a third", 60)


def test_retention_is_applied_where_it_is_switched_on(opened):
    """And nowhere else; as `rollup --due` does it, a week before anything is deleted."""
    app = opened()
    record(app)
    assert ("raw", "active") in kinds(started(app))
    assert kinds(started(opened(timeline_retention="raw=7d")))["raw", "archived"] == 3


def test_a_server_that_may_only_read_writes_nothing(opened):
    """What is due is computed for each answer, as before."""
    record(opened())
    assert kinds(started(opened(read_only="1"))) == {("raw", "active"): 3}


def test_without_a_timeline_nothing_is_opened(opened, tmp_path):
    """No module, no file."""
    app = opened()
    app.timeline.begin_rolling_up()
    assert "catching_up" not in vars(app.timeline)
    assert not list(tmp_path.rglob("journal.db"))
