"""Which tools a model is shown: few by default, the designs' own, or each of all once."""

from __future__ import annotations

import json
import re

import pytest
from tests.verbs.recall_world import RecallWorld, ask

from commonplace.journals.table import JOURNALS
from commonplace.verbs.selection import merge_toolsets


@pytest.fixture
def opened(tmp_path):
    """What is offered where these toolsets are asked for."""
    world = RecallWorld(tmp_path)

    def merged(toolsets, *, read_only="0"):
        app = world.open(COMMONPLACE_TOOLSETS=toolsets, COMMONPLACE_READ_ONLY=read_only)
        return merge_toolsets(app.toolsets())

    yield merged
    world.close()


def listed(offered):
    return [tool.name for tool in offered.tools if tool.listed]


def tokens(offered):
    """What a list costs a model, counted as bytes / 4."""
    shown = [
        {"name": x.name, "title": x.title, "description": x.description, "inputSchema": x.schema}
        for x in offered.tools
        if x.listed
    ]
    return len(json.dumps(shown, separators=(",", ":")).encode()) / 4


def test_few_are_listed_by_default_and_the_designs_names_can_be_called(tmp_path):
    """What has another name among the few is not listed, and answers all the same."""
    world = RecallWorld(tmp_path)
    app = world.open()
    (offered,) = app.toolsets()
    assert len(listed(offered)) <= 8
    assert {"recall", "list_by_time", "open_ref", "process_thoughts", "add_entry"} <= {
        *listed(offered)
    }
    names = {tool.name for tool in offered.tools}
    for row in JOURNALS[:2]:
        assert {*row.original_tools} <= names
    ask(app, "remember_this", activity="fixed the login bug")
    assert "fixed the login bug" in ask(app, "list_entries").text
    world.close()


def test_classic_lists_what_the_originals_offer(opened):
    """Exactly, under their names: private-journal-mcp's, chronicle's, and those of the designs."""
    offered = opened("classic")
    assert listed(offered) == [
        "process_thoughts",
        "search_journal",
        "read_journal_entry",
        "list_recent_entries",
        "read_recent_entries",
        "add_entry",
        "list_entries",
        "search_entries",
        "remember_this",
        "what_was_i_doing",
        "find_when_i",
        "journal_read",
        "journal_write",
        "journal_list_entries",
        "journal_toc",
        "journal_search",
        "journal_synthesize_conflict",
        "memory_search",
    ]
    assert len(offered.resources) == 4
    assert len(offered.prompts) == 3


def test_all_lists_everything_once_without_near_twins(opened):
    """A tool that a listed one does the work of is left out, and can be called."""
    offered = opened("all")
    names = listed(offered)
    assert len(names) == len({*names})
    assert {"journal_search", "journal_read", "timeline_add", "memory_save"} <= {*names}
    tools = {tool.name: tool for tool in offered.tools}
    left_out = {name: tool.twin_of for name, tool in tools.items() if not tool.listed}
    assert left_out == {
        "search_journal": "recall",
        "read_journal_entry": "open_ref",
        "list_recent_entries": "list_by_time",
        "read_recent_entries": "list_by_time",
        "list_entries": "list_by_time",
        "remember_this": "add_entry",
        "what_was_i_doing": "list_by_time",
    }
    assert {*left_out.values()} <= {*names}


def test_a_journals_toolset_lists_all_its_tools(opened):
    """As ever: nothing of it has a twin where the default tools are not offered."""
    assert len(listed(opened("private"))) == 5
    assert len(listed(opened("chronicle"))) == 6
    assert listed(opened("private,recall"))[:5] == listed(opened("private"))


def test_one_tool_says_that_a_session_begins_with_it(opened):
    """Among all there are, so that no two claim it."""
    for toolsets in ("default", "all", "classic,default"):
        first = [
            tool.name
            for tool in opened(toolsets).tools
            if "start of a session" in tool.description
            or "start of a conversation" in tool.description
        ]
        assert first == ["recall"]


@pytest.mark.parametrize(("toolsets", "most"), [("default", 1500), ("all", 5750)])
def test_a_list_keeps_to_its_cost(opened, toolsets, most):
    """Every session pays for it."""
    assert tokens(opened(toolsets)) <= most


@pytest.mark.parametrize("toolsets", ["default", "classic", "all", "default,memory"])
def test_the_guide_names_only_what_is_listed(opened, toolsets):
    """The instructions send a model to no tool that it does not see."""
    offered = opened(toolsets)
    unlisted = [tool.name for tool in offered.tools if not tool.listed]
    assert unlisted
    assert not [name for name in unlisted if name in offered.instructions]


def test_the_guide_of_few_tools_names_most_of_them(opened):
    """What a model begins with, opens, corrects and writes."""
    offered = opened("default")
    for name in ("recall", "open_ref", "amend", "process_thoughts", "add_entry"):
        assert name in offered.instructions


@pytest.mark.parametrize("toolsets", ["default", "classic", "all", "memory-write", "timeline"])
def test_a_server_that_only_reads_says_nothing_of_writing(opened, toolsets):
    """Its instructions name no tool that writes, and none that it lacks."""
    whole, shown = opened(toolsets), opened(toolsets, read_only="1")
    gone = {tool.name for tool in whole.tools} - {tool.name for tool in shown.tools}
    assert gone
    assert [name for name in gone if name in whole.instructions]
    assert not [name for name in gone if name in shown.instructions]
    verbs = r"\b(write|record|keep|correct|delete|log (it|with))\b"
    assert re.search(verbs, shown.instructions.lower()) is None
