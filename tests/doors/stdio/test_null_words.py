"""Clients that send the word null where they mean null: every tool, over the real wire."""

from __future__ import annotations

import pytest
from tests.doors.raw_server import RawServer


@pytest.fixture(scope="module")
def server(shared_world):
    """One server of every tool, which the tests of this module ask."""
    with RawServer("--toolsets", "all", cwd=shared_world.project, env=shared_world.env) as running:
        running.handshake()
        yield running


def test_the_word_null_is_an_optional_argument_that_is_absent(server):
    """In a text, a list, a list as JSON text, a number and a choice: nothing is kept of it."""
    nothing = ["supersedes", "idempotency_key", "at", "expires"]
    given = {"message": "Painted the gate", "tags": ["null"], **dict.fromkeys(nothing, "null")}
    kept = server.call("add_entry", given)["structuredContent"]
    assert (kept["message"], kept["tags"]) == ("Painted the gate", [])
    thought = server.call("process_thoughts", {"feelings": "Glad.", "reflections": "null"})
    path = thought["structuredContent"]["paths"][0]
    assert "null" not in server.text("read_journal_entry", {"path": path})
    for name, asked in (
        ("recall", {"query": "gate", "when": "null", "kinds": ["null"], "journals": '["null"]'}),
        ("search_entries", {"text": "gate", "tags": "null", "limit": "null", "explain": "null"}),
        ("search_journal", {"query": "glad", "type": "null", "sections": ["null"]}),
    ):
        found = server.call(name, asked)
        assert (found["isError"], len(found["structuredContent"][_LISTED[name]])) == (False, 1)


_LISTED = {"recall": "results", "search_entries": "entries", "search_journal": "results"}


def test_the_word_null_stays_where_a_text_is_required_or_has_more_in_it(server):
    """What somebody logs or tags is not taken away, and a required number is still named."""
    kept = server.call("add_entry", {"message": "null", "tags": ["null", "sql"]})
    facts = kept["structuredContent"]
    assert (facts["message"], facts["tags"]) == ("null", ["null", "sql"])
    kept = server.call("add_entry", {"message": "null", "tags": ["Null island"]})
    assert kept["structuredContent"]["tags"] == ["Null island"]
