"""Servers and workers of one database tell each other the settings on which depends what is stored."""

from __future__ import annotations

from contextlib import closing

import pytest
from server.tests.two_homes import settings_in

from commonplace.app.process import ProcessContext
from commonplace.core.clock import utc_now
from commonplace.core.values import Problem
from commonplace_server.wiring.memories import find_problems, open_worker
from commonplace_server.wiring.servers import DatabaseLook, announce_settings, open_servers


@pytest.fixture
def start(tmp_path, database, slot):
    """Have a server, or a worker, of a home of its own begin with settings, which are given back."""

    def begin(name, *, works=False, **given):
        urls = {"database.url": database.app_url, "database.worker_url": database.worker_url}
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        settings = settings_in(folder, **urls, **given)
        if works:
            with closing(ProcessContext(settings, encoder=slot)) as shared, open_worker(shared):
                return settings
        with open_servers(settings) as servers:
            announce_settings(settings, servers)
        return settings

    return begin


def told(settings):
    """What doctor and `/readyz` say of settings that are other elsewhere."""
    with open_servers(settings) as servers:
        said = DatabaseLook(settings, servers, serves_home=False, clock=utc_now)()["settings"]
    problems = [x for x in find_problems(settings) if isinstance(x, Problem)]
    return said, [f"{x.what} {x.hint}" for x in problems]


def test_who_differs_from_who_began_last_is_told(start, tmp_path, caplog):
    """By both values and where the other is, in the log, by doctor and by `/readyz`."""
    one = start("one", timezone="UTC", **{"timeline.feed": "private,chronicle"})
    assert told(one) == ("", [])
    two = start("two", timezone="Asia/Tokyo", **{"timeline.feed": "chronicle,private"})
    said = f'The setting timezone is "Asia/Tokyo" here, and "UTC" in {tmp_path}/one on '
    assert said in caplog.text
    assert "Give all servers and workers of the database the same" in caplog.text
    assert told(two) == ("", [])
    ready, (problem,) = told(one)
    assert ready == "timezone other than elsewhere"
    assert f'timezone is "UTC" here, and "Asia/Tokyo" in {tmp_path}/two on ' in problem
    start("one", timezone="Asia/Tokyo", **{"timeline.feed": "private,chronicle"})
    caplog.clear()
    start("two", timezone="Asia/Tokyo", **{"timeline.feed": "private,chronicle"})
    assert caplog.text == ""


def test_a_worker_says_what_it_rolls_up_by(start, caplog):
    """What only servers do is no matter of it."""
    one = start("one", **{"timeline.retention": "design", "serve.most_entries": "5"})
    start("works", works=True)
    assert caplog.text == ""
    start("works", works=True, **{"timeline.grace_minutes": "5"})
    assert "timeline.grace_minutes is 5.0 here, and 0.0 in " in caplog.text
    assert told(one)[0] == "timeline.grace_minutes other than elsewhere"
