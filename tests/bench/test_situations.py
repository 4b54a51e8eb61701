"""The bench of situations: every expected tool is offered, and a model's choices are counted."""

from __future__ import annotations

from bench.homes import Home
from bench.situations import NO_TOOL, SITUATIONS, situation_figure

from commonplace.testing_language import ScriptedLanguage


def offered(app):
    return {tool.name for toolset in app.toolsets() for tool in toolset.tools}


def test_what_is_expected_is_offered(tmp_path):
    """Thirty situations; each tool of chronicle is expected in one, and none that is not there."""
    expected = set().union(*(each.expected for each in SITUATIONS))
    with Home(tmp_path).make().opened(encoder="absent") as app:
        assert expected - {NO_TOOL} <= offered(app)
        chronicle = next(x for x in app.toolsets() if x.name == "chronicle")
        assert {tool.name for tool in chronicle.tools} <= expected
    assert len({each.told for each in SITUATIONS}) == 30


def test_a_models_choices_are_counted(tmp_path):
    """It always says add_entry: right in the nine situations that ask for it, wrong in 21."""
    with Home(tmp_path).make().opened(encoder="absent") as app:
        model = ScriptedLanguage("That is `add_entry`")
        figure = situation_figure(app.toolsets(), model)
    assert figure.measured.median == 9 / 30
    assert figure.note.count("add_entry, not") == 21
    assert "remember_this" in model.questions[0].instructions
