"""What a server finds of its database, and says of it."""

from __future__ import annotations

import logging

import pytest
from psycopg.conninfo import make_conninfo
from server.tests.two_homes import settings_in

from commonplace.core.clock import utc_now
from commonplace_server.wiring.servers import DatabaseLook, open_servers
from commonplace_testing import FrozenClock


@pytest.fixture
def look(database, tmp_path):
    """Looks at the database, as it is said to be, by a clock."""

    def looked(clock=utc_now, *, options="", **given):
        url = make_conninfo(database.app_url, options=options)
        settings = settings_in(tmp_path, **{"database.url": url, **given})
        with open_servers(settings) as servers:
            find = DatabaseLook(settings, servers, serves_home=False, clock=clock)
            return [find() for _ in range(2)][-1]

    return looked


STANDBY = "-c default_transaction_read_only=on"


def test_who_only_reads_is_fit_for_a_standby(look):
    """And who writes is not: of several servers another may have found the primary."""
    assert set(look().values()) == {""}
    assert look(options=STANDBY)["writes"] == "refused"
    assert look(options=STANDBY, read_only="true")["writes"] == ""


@pytest.mark.parametrize(("seconds", "said"), [(600, "ahead of"), (-600, "behind"), (5, "")])
def test_a_clock_that_is_off_is_logged_once(look, caplog, seconds, said):
    """And takes no server away: were it the database's, all would go at once."""
    clock = FrozenClock(utc_now())
    clock.advance(seconds)
    with caplog.at_level(logging.WARNING):
        assert set(look(clock).values()) == {""}
    told = [each.message for each in caplog.records if "clock" in each.message]
    assert len(told) == bool(said)
    assert all(f" s {said} that of the database" in each for each in told)
