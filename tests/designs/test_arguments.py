"""What the tools of the designs take, and what stands where nothing is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.inference.encoder.profiles import read_profile

REQUIRED = "required"


@pytest.fixture
def tool(tmp_path):
    """Any tool of a toolset, as a client is offered it."""
    app = App(read_settings(environ={}, cwd=tmp_path, home=None), user_home=None)
    yield lambda toolset, name: app.toolset(toolset).tool(name)
    app.close()


def taken(tool, *names):
    """What stands where an argument is not given: REQUIRED where it has to be."""
    schema = tool.schema
    return {
        name: REQUIRED
        if name in schema.get("required", ())
        else schema["properties"][name].get("default")
        for name in names
    }


@pytest.mark.design("000-36", "000-37", "000-38", "000-39", "000-40", "000-43", "000-44")
@pytest.mark.design("000-45", "000-46", "000-55", "000-57", "000-58", "000-59")
def test_of_the_private_journal(tool):
    """Thoughts are all optional; ten entries of thirty days, of both journals."""
    thoughts = ("feelings", "project_notes", "user_context", "technical_insights")
    written = tool("private", "process_thoughts")
    assert taken(written, *thoughts, "world_knowledge") == dict.fromkeys(
        [*thoughts, "world_knowledge"]
    )
    search = tool("private", "search_journal")
    assert taken(search, "query", "limit", "type", "sections") == {
        "query": REQUIRED,
        "limit": 10,
        "type": "both",
        "sections": None,
    }
    assert search.schema["properties"]["type"]["enum"] == ["project", "user", "both"]
    assert taken(tool("private", "read_journal_entry"), "path") == {"path": REQUIRED}
    recent = tool("private", "list_recent_entries")
    assert taken(recent, "limit", "type", "days") == {"limit": 10, "type": "both", "days": 30}


@pytest.mark.design("000-08", "000-84")
def test_each_tool_says_when_to_use_it(tool):
    """After the name of its journal; the private one presents itself as a place of one's own."""
    for name in ("process_thoughts", "search_journal", "read_journal_entry", "list_recent_entries"):
        described = tool("private", name).description
        assert described.startswith("Private journal: ")
        assert "\nUse it " in described
    assert "learn, think and feel" in tool("private", "process_thoughts").description


@pytest.mark.design("001-10", "001-11", "001-13", "001-17", "001-18", "001-20", "001-21")
@pytest.mark.design("001-22", "001-25", "001-26", "001-27")
def test_of_the_notebook(tool):
    """One level of the table of contents; ten entries from the newest; salience of a half."""
    search = tool("notebook", "journal_search")
    assert taken(search, "work_context", "content", "salience_threshold") == {
        "work_context": None,
        "content": None,
        "salience_threshold": 0.5,
    }
    assert taken(tool("notebook", "journal_read"), "id") == {"id": REQUIRED}
    assert taken(tool("notebook", "journal_toc"), "id", "depth") == {"id": None, "depth": 1}
    listed = tool("notebook", "journal_list_entries")
    assert taken(listed, "path", "start", "length") == {"path": REQUIRED, "start": 0, "length": 10}
    write = tool("notebook", "journal_write")
    assert taken(write, "path", "entry", "overview", "summary") == {
        "path": REQUIRED,
        "entry": REQUIRED,
        "overview": None,
        "summary": None,
    }


@pytest.mark.design("004-07", "004-09", "004-11", "004-12", "004-13", "004-14", "004-15")
@pytest.mark.design("004-18", "004-19", "004-21", "004-22", "004-25")
def test_of_chronicle(tool):
    """Ten entries of a list, twenty of a search, today for a story; one tool asks to be used unasked."""
    assert taken(tool("chronicle", "add_entry"), "message", "tags") == {
        "message": REQUIRED,
        "tags": None,
    }
    assert taken(tool("chronicle", "list_entries"), "limit") == {"limit": 10}
    search = tool("chronicle", "search_entries")
    optional = ("text", "tags", "since", "until")
    assert taken(search, *optional, "limit") == {**dict.fromkeys(optional), "limit": 20}
    remember = tool("chronicle", "remember_this")
    assert taken(remember, "activity", "context") == {"activity": REQUIRED, "context": None}
    assert "unasked" in remember.description
    assert taken(tool("chronicle", "what_was_i_doing"), "timeframe") == {"timeframe": "today"}
    assert taken(tool("chronicle", "find_when_i"), "what") == {"what": REQUIRED}


@pytest.mark.design("000-10", "001-60", "002-09")
def test_of_the_encoder(tmp_path):
    """Where nothing is said it is all-MiniLM-L6-v2, in 32 bits."""
    settings = read_settings(environ={}, cwd=tmp_path, home=None)
    profile = read_profile(settings.encoder.model)
    assert profile.repository.endswith("/all-MiniLM-L6-v2")
    assert profile.dimensions == 384


@pytest.mark.design("000-75", "000-76")
def test_every_journal_has_the_same_packages():
    """What keeps it, and what it does; tools stand in rooms that know no protocol."""
    package = Path(__file__).parents[2] / "src" / "commonplace"
    for journal in ("private", "notebook", "memory", "timeline", "chronicle", "transcripts"):
        assert (package / "journals" / journal / "__init__.py").is_file()
        assert (package / "verbs" / journal / "__init__.py").is_file()
    for verb in (package / "verbs").rglob("*.py"):
        assert "commonplace.doors" not in verb.read_text("utf-8"), verb


@pytest.mark.design("000-80", "000-81", "000-82", "000-83")
def test_whoever_contributes_is_asked_the_designs_questions():
    """Before the rules: what is there, one way or two, what is changed first, and a third user."""
    page = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text("utf-8")
    questions = page[page.index("## Before you build") : page.index("## The rules")]
    for asked in ("What is there already?", "**two ways**", "**first**", "**a third**"):
        assert asked in questions
