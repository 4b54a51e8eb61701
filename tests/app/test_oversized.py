"""Arguments that are far too long are refused before anything is done with them."""

from __future__ import annotations

from time import thread_time

import pytest

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.core.errors import Invalid

TEXT = "how often did I pass " + "harbour gate 4711 " * 250_000
LONGEST_S = 0.5
"""Of a processor; what is asked of such a text takes more: 0.7 to 3 s for one of that size."""

ASKED = {
    ("recall", "recall"): "query",
    ("recall", "list_by_time"): "journals",
    ("private", "search_journal"): "query",
    ("chronicle", "search_entries"): "text",
    ("chronicle", "find_when_i"): "what",
    ("timeline", "timeline_search"): "query",
    ("timeline", "timeline_context"): "query",
    ("memory", "memory_search"): "query",
    ("memory", "memory_search", "query"): "kinds",
    ("notebook", "journal_search"): "content",
    ("notebook", "journal_write", "entry"): "path",
    ("private", "process_thoughts", "feelings"): "idempotency_key",
    ("chronicle", "add_entry", "message"): "idempotency_key",
    ("notebook", "journal_write", "path", "entry"): "idempotency_key",
    ("timeline", "timeline_add", "content"): "idempotency_key",
    ("memory-write", "memory_save", "title"): "idempotency_key",
}
"""By toolset and tool, and the arguments beside it, which one is too long."""


@pytest.fixture
def app(tmp_path):
    """The journals of one user."""
    settings = read_settings(flags={"toolsets": "all"}, environ={}, cwd=tmp_path, home=None)
    made = App(settings, user_home=None)
    yield made
    made.close()


def test_what_is_too_long_is_refused_at_once(app):
    """By its number of characters; nothing is read from it."""
    app.toolset("notebook").tool("journal_write").call({"path": "quay", "entry": "It opens."})
    for (toolset, name, *others), argument in ASKED.items():
        tool = app.toolset(toolset).tool(name)
        given = {**dict.fromkeys(others, "gate"), argument: TEXT}
        if name == "memory_save":
            given["kind"] = "todo"
        with pytest.raises(Invalid):  # what is opened once is opened by then
            tool.call({**given, argument: TEXT[:20_000]})
        began = thread_time()
        with pytest.raises(Invalid):
            tool.call(given)
        assert thread_time() - began < LONGEST_S, name
