"""Servers and workers of one database tell each other the settings on which depends what is stored."""

from __future__ import annotations

from contextlib import ExitStack, closing

import pytest
from server.tests.two_homes import ask, settings_in
from tests.patience import until

from commonplace.app import App
from commonplace.app.process import ProcessContext
from commonplace.core.clock import utc_now
from commonplace.core.values import Problem
from commonplace_server.wiring.memories import find_problems, open_worker
from commonplace_server.wiring.servers import DatabaseLook, open_servers

ENDED = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


class Server:
    """What a server with these settings finds of its database, and what doctor says there."""

    def __init__(self, settings, servers):
        self._settings = settings
        self.look = DatabaseLook(settings, servers, serves_home=False, clock=utc_now)
        self.look()

    def told(self):
        """What `/readyz` and doctor say of settings that are other elsewhere."""
        problems = [x for x in find_problems(self._settings) if isinstance(x, Problem)]
        return self.look()["settings"], [f"{x.what} {x.hint}" for x in problems]


@pytest.fixture
def start(tmp_path, database, slot):
    """Have a server, or a worker, of a home of its own begin with settings."""
    with ExitStack() as held:

        def begin(name, *, works=False, **given):
            urls = {"database.url": database.app_url, "database.worker_url": database.worker_url}
            folder = tmp_path / name
            folder.mkdir(exist_ok=True)
            settings = settings_in(folder, **urls, **given)
            if not works:
                return Server(settings, held.enter_context(open_servers(settings)))
            with closing(ProcessContext(settings, encoder=slot)) as shared, open_worker(shared):
                return None

        yield begin


def test_who_differs_from_who_began_last_is_told(start, tmp_path, caplog):
    """By both values and where the other is, in the log, by doctor and by `/readyz`."""
    one = start("one", timezone="UTC", **{"timeline.feed": "private,chronicle"})
    assert one.told() == ("", [])
    two = start("two", timezone="Asia/Tokyo", **{"timeline.feed": "chronicle,private"})
    said = f'The setting timezone is "Asia/Tokyo" here, and "UTC" in {tmp_path}/one on '
    assert said in caplog.text
    assert "Give all servers and workers of the database the same" in caplog.text
    assert two.told() == ("", [])
    ready, (problem,) = one.told()
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
    assert one.told()[0] == "timeline.grace_minutes other than elsewhere"


def test_a_machine_with_a_worker_alone_is_told_of_the_database(start, tmp_path, database):
    """What answers, what waits, and which settings are other elsewhere."""
    start("one", timezone="UTC")
    given = {"database.worker_url": database.worker_url, "timezone": "Asia/Tokyo"}
    with closing(App(settings_in(tmp_path, **given), user_home=None)) as app:
        _, answers, other, waiting = app.memory.problems()
    assert answers.endswith("answers.")
    assert 'timezone is "Asia/Tokyo" here, and "UTC" in ' in other.what
    assert waiting == "0 records wait for the worker."


def test_who_only_reads_announces_nothing(start):
    """Nothing is stored by its settings; it is told where it answers otherwise than others."""
    one = start("one", timezone="UTC", **{"timeline.retention": "design"})
    reads = start("reads", read_only="true", timezone="Asia/Tokyo")
    ready, (problem,) = reads.told()
    assert ready == "timezone other than elsewhere"
    assert problem.startswith("The setting timezone is ")
    assert one.told() == ("", [])


def test_who_began_at_a_standby_announces_once_it_is_promoted(start, admin):
    """Until then nothing can be written there; who has other settings learns of it by itself."""
    one = start("one", timezone="UTC")
    changed = f"ALTER DATABASE {admin.info.dbname}"
    admin.execute(f"{changed} SET default_transaction_read_only = on")
    two = start("two", timezone="Asia/Tokyo")
    assert two.look()["writes"] == "refused"
    assert one.told()[0] == ""
    admin.execute(f"{changed} RESET default_transaction_read_only")
    admin.execute(ENDED)  # what is connected to a standby that is promoted is connected anew
    until(lambda: two.look().get("writes") == "", "the primary to be found")
    until(lambda: one.look().get("settings"), "the other settings to be found")
    assert one.told()[0] == "timezone other than elsewhere"


def test_who_keeps_another_number_than_is_counted_is_named(servers, database, tmp_path):
    """By doctor, where the worker's address is; so an administrator knows to count again."""
    for owner in ("ann", "bob"):
        ask(servers("one", owner), "memory_save", kind="todo", title="Feed the quokka.")
    settings = settings_in(tmp_path, **{"database.worker_url": database.worker_url})
    assert not [x for x in find_problems(settings) if isinstance(x, Problem)]
    database.run("UPDATE cp_kept SET bytes = bytes + 1 WHERE user_id = 'bob'")
    (problem,) = (x for x in find_problems(settings) if isinstance(x, Problem))
    assert "Of 2 users that were looked at 1 keep another number" in problem.what
    assert problem.what.endswith(": 'bob'.")
