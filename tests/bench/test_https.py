"""What the figures of many clients stand on: a server, clients that ask it, and what they saw."""

from __future__ import annotations

import pytest
from bench.https import Sizes, http_figures, http_postgres_figures

SIZES = Sizes(owners=2, records=5, clients=4, seconds=0.5, warm_s=0.5)


def check(figures, name):
    """Every figure is there; no error, and nothing of another."""
    told = {x.name: x.measured.median for x in figures}
    assert told[f"{name}: answers"] > 0
    assert told[f"{name}: p50 of an answer"] <= told[f"{name}: p99 of an answer"]
    assert told[f"{name}: errors"] == 0
    assert told[f"{name}: rows of others"] == 0
    assert told[f"{name}: exit of the server"] == 0


def test_clients_of_two_users_are_answered_without_a_fault(tmp_path):
    """Their memories are files."""
    check(http_figures(SIZES, tmp_path), "HTTP")


@pytest.mark.long
def test_a_database_keeps_the_memories(scratch):
    """A real one, filled by the product."""
    check(http_postgres_figures(SIZES, scratch), "HTTP, Postgres")
