"""What the figures of many clients stand on: a server, clients that ask it, and what they saw."""

from __future__ import annotations

from bench.https import Sizes, http_figures


def test_clients_of_two_users_are_answered_without_a_fault(tmp_path):
    """Every figure is there; no error, and nothing of another."""
    sizes = Sizes(owners=2, records=5, clients=4, seconds=0.5, warm_s=0.5)
    figures = {x.name: x.measured.median for x in http_figures(sizes, tmp_path)}
    assert figures["HTTP: answers"] > 0
    assert figures["HTTP: p50 of an answer"] <= figures["HTTP: p99 of an answer"]
    assert figures["HTTP: errors"] == 0
    assert figures["HTTP: rows of others"] == 0
    assert figures["HTTP: exit of the server"] == 0
