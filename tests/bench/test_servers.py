"""What the figures of servers on one database stand on: all are there, and name their limits."""

from __future__ import annotations

import pytest
from bench.servers import Sizes, server_figures


@pytest.mark.long
def test_calls_of_two_servers_are_measured_beside_a_bare_one(scratch):
    """Real servers and a real database; what comes out is a figure each."""
    told = {x.name: x for x in server_figures(Sizes(owners=3, records=4, calls=8), scratch)}
    limited = {name for name, figure in told.items() if figure.limit is not None}
    assert {"a call with two servers", "a recall at a server with Postgres"} <= limited
    assert told["the first recall of a user not seen before"].measured.median > 0
