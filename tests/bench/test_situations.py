"""The bench of situations: each is claimed by one tool, and a model's choices are counted."""

from __future__ import annotations

import pytest
from bench.answers import ANSWERS, answer_figures, list_figures
from bench.homes import Home
from bench.situations import NO_TOOL, SITUATIONS, claims_of, situation_figure

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.core.text import tokens_in
from commonplace.verbs.selection import merge_toolsets
from commonplace_testing.language import ScriptedLanguage


@pytest.fixture
def app(tmp_path):
    with Home(tmp_path).make().opened(encoder="absent") as opened:
        yield opened


def listed(app):
    return {tool.name: tool for each in app.toolsets() for tool in each.tools if tool.listed}


def test_each_tool_is_expected_in_some_situation(app):
    """Thirty situations; every tool that is listed is the one to call in one of them."""
    assert {each.expected for each in SITUATIONS} - {NO_TOOL} == {*listed(app)}
    assert len({each.moment for each in SITUATIONS}) == 30


@pytest.mark.parametrize("toolsets", ["default", "all"])
def test_no_two_tools_claim_one_situation(tmp_path, toolsets):
    """The words that claim it stand in the description of the expected tool, and of no other."""
    environ = {"COMMONPLACE_HOME": str(tmp_path), "COMMONPLACE_TOOLSETS": toolsets}
    app = App(read_settings(environ=environ, cwd=tmp_path, home=None), user_home=None)
    offered = merge_toolsets(app.toolsets()).tools
    claims = {tool.name: claims_of(tool) for tool in offered if tool.listed}
    for each in SITUATIONS:
        if each.expected != NO_TOOL:
            assert [x for x, said in claims.items() if each.claim in said] == [each.expected], each


def test_what_a_description_leaves_to_another_tool_is_no_claim(app):
    """Else the tool that is named in it would seem to be named by two."""
    tool = listed(app)["find_when_i"]
    assert "use recall" in tool.description
    assert "recall" not in claims_of(tool)


def test_a_models_choices_are_counted(app):
    """It always says add_entry: right in the eight situations that ask for it, wrong in 22."""
    model = ScriptedLanguage("That is `add_entry`")
    figure = situation_figure(app.toolsets(), model)
    assert figure.measured.median == 8 / 30
    assert figure.note.count("add_entry, not") == 22
    assert merge_toolsets(app.toolsets()).instructions in model.questions[0].instructions
    assert "list_by_time" in model.questions[0].instructions
    assert "remember_this" not in model.questions[0].instructions


def test_lists_and_typical_answers_keep_to_their_cost(app, tmp_path):
    """What a model pays at each start, and for each of ten answers, in tokens."""
    figures = [*list_figures(tmp_path / "lists"), *answer_figures(tmp_path / "answers")]
    said = next(x for x in figures if x.name == "instructions, default").measured.median
    assert said == tokens_in(merge_toolsets(app.toolsets()).instructions)
    assert len(figures) == 4 + len(ANSWERS) == 14
    assert [figure.name for figure in figures if not figure.ok] == []
