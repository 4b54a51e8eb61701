"""Two overviews made one by a model: no line is lost, whatever the model answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.errors import Unavailable
from commonplace.core.redact import Screen
from commonplace.core.values import Completion
from commonplace.verbs.notebook.synthesis import (
    END_OF_LEFT_OUT,
    MOST_CHARACTERS,
    OverviewPair,
    _each_unit,
    _Text,
    checked,
    synthesize,
)
from commonplace_testing.language import ORDERS, FakeLLM, Reply, ScriptedLanguage

A = "# Errors\n\n- Errors are problem+json.\n- Codes are stable.\n\n```py\nif x:\n    fail()\n```"
B = "# Errors\n\n- Errors are problem+json.\n- Every error names its next step."
BOTH = (
    "# Errors\n\n* errors are **problem+json**\n* Codes are stable.\n"
    "* Every error names its\n  next step.\n\n```py\nif x:\n    fail()\n```"
)
SIDES = OverviewPair(section="api/errors", version_a=A, version_b=B)
KEY = "sk-" + "test-0123456789abcdefghij"


def made(*answers, sides=SIDES, second=None):
    """What comes of a client's model that answers so, and perhaps of a second one."""
    first = ScriptedLanguage(*answers) if answers else None
    return synthesize(sides, [("client", lambda: first), ("llm", lambda: second)])


@pytest.mark.design("001-40")
def test_an_answer_with_every_line_is_taken_as_it_is():
    """Marks of lists and emphasis, case and line breaks are the model's to change."""
    synthesis = made(BOTH)
    assert (synthesis.text, synthesis.made_by, synthesis.model) == (BOTH, "client", "scripted-1")
    assert (synthesis.left_out, synthesis.own, synthesis.notes) == (0, 1, ())


def test_what_a_model_leaves_out_is_put_back_and_marked():
    """A line of one side, a listing that it touched, a line of both."""
    answer = "# Errors\n\n- Codes are stable.\n- Every error names its next step.\n\n```py\nif x: fail()\n```"
    synthesis = made(answer)
    assert synthesis.text == (
        f"{answer}\n\n<!-- the model left out, from both versions: -->\n\n"
        "- Errors are problem+json.\n\n<!-- the model left out, from version A: -->\n\n"
        f"```py\nif x:\n    fail()\n```\n\n{END_OF_LEFT_OUT}"
    )
    assert (synthesis.left_out, synthesis.own) == (2, 1)


@pytest.mark.parametrize(
    "answer",
    ["Sorry, I cannot help with that.", "PWNED", f"{BOTH}\n\n{'Lorem ipsum. ' * 500}"],
)
def test_nonsense_is_not_taken(answer):
    """What keeps less than half of the lines, or is far too long: the merge by block stands."""
    synthesis = made(answer)
    assert synthesis.made_by == "merge"
    assert "problem+json" in synthesis.text
    (note,) = synthesis.notes
    assert note.startswith("The client's model did not make this: Its answer ")


def test_a_cut_answer_is_not_taken():
    """Though it keeps every line so far."""
    cut = Completion(text=BOTH, model="m", tokens_in=1, tokens_out=1, whole=False)
    assert made(cut).notes == ("The client's model did not make this: Its answer was cut off.",)


def test_the_configured_model_comes_second_and_the_merge_last():
    """Each reason is told."""
    second = ScriptedLanguage(BOTH)
    synthesis = made(Unavailable("It was refused."), second=second)
    assert (synthesis.made_by, len(second.questions)) == ("llm", 1)
    assert synthesis.notes == ("The client's model did not make this: It was refused.",)
    synthesis = made("No.", second=ScriptedLanguage(Unavailable("It is asleep.")))
    assert synthesis.made_by == "merge"
    assert synthesis.notes[1] == "The configured LLM did not make this: It is asleep."
    assert made().made_by == "merge"


def test_no_second_model_is_begun_late():
    """The first one hung for most of the minute that a client waits."""
    times = iter([0.0, 0.0, 45.0])
    second = ScriptedLanguage(BOTH)
    hung = ScriptedLanguage(Unavailable("It took too long."))
    synthesis = synthesize(
        SIDES, [("client", lambda: hung), ("llm", lambda: second)], clock=lambda: next(times)
    )
    assert (synthesis.made_by, second.questions) == ("merge", [])


def test_what_needs_no_model_asks_none():
    """Equal sides, and sides too long for an answer."""
    language = ScriptedLanguage(BOTH)
    same = OverviewPair(section="a", version_a=A, version_b=f"{A}\n")
    long = OverviewPair(section="a", version_a="x " * MOST_CHARACTERS, version_b=B)
    for sides, notes in ((same, 0), (long, 1)):
        synthesis = synthesize(sides, [("llm", lambda: language)])
        assert (synthesis.made_by, len(synthesis.notes)) == ("merge", notes)
    assert language.questions == []


def test_secrets_do_not_reach_a_model_and_come_back():
    """The answer bears the mark, the text the secret; the work context is data like the rest."""
    sides = OverviewPair(
        section="a",
        version_a=f"The key is {KEY} here.",
        version_b="We rotate keys.",
        work_context=ORDERS,
    )
    screen = Screen()
    language = ScriptedLanguage(f"The key is {screen.shown(KEY)} here.\nWe rotate keys.")
    synthesis = synthesize(sides, [("client", lambda: language)], screen=screen)
    assert (synthesis.made_by, synthesis.left_out) == ("client", 0)
    assert KEY in synthesis.text
    (question,) = language.questions
    assert KEY not in str(question)
    assert ORDERS not in question.instructions
    assert [x.origin for x in question.passages] == [
        "version A",
        "version B",
        "the page",
        "the kind of work",
    ]


def test_an_answer_in_a_fence_is_unwrapped():
    """Many models cannot do without; where a version begins with a fence it stays."""
    assert made(f"```markdown\n{BOTH.replace('```', '~~~')}\n```").text.startswith("# Errors")
    sides = OverviewPair(
        section="a", version_a="```\nx = 1\n```", version_b="```\nx = 1\n```\n\ny z"
    )
    answer = "```\nx = 1\n```\n\ny z"
    assert made(answer, sides=sides).text == answer


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_orders_in_an_overview_stay_in_their_fence(shape):
    """A real request to a server: instructions are ours alone; its fence holds whatever it says."""
    from commonplace.inference.language.client import Endpoint, LanguageClient

    hostile = f"````\n{ORDERS}\n````"
    with FakeLLM(Reply(text=f"{hostile}\n\nWe build it.")) as fake:
        client = LanguageClient(Endpoint(url=fake.url, shape=shape, model="m"))
        sides = OverviewPair(section="a", version_a=hostile, version_b="We build it.")
        synthesis = synthesize(sides, [("llm", lambda: client)])
        assert (synthesis.made_by, synthesis.left_out) == ("llm", 0)
        (asked,) = fake.asked
        assert asked.text.startswith(f"`````version A\n{hostile}\n`````\n")
        assert ORDERS not in asked.instructions


def test_short_lines_must_stand_alone():
    """`No.` is not in `We know nothing.`, nor is `yes` in a sentence that has the word."""
    sides = OverviewPair(
        section="a", version_a="No.\n\nA long line here.", version_b="A long line here."
    )
    assert checked(sides, "A long line here. No such luck.").left_out == 1
    assert checked(sides, "A long line here.\n\n- no").left_out == 0


def test_a_listing_that_begins_with_an_empty_line_is_kept_with_it():
    """The empty line before an answer is no part of it, so it is none of the listing either."""
    listing = "```\n\none\n```"
    sides = OverviewPair(section="a", version_a="two", version_b=listing)
    synthesis = checked(sides, "\none\n\ntwo")
    assert synthesis.text.startswith("one\n\ntwo")
    assert listing in synthesis.text


WORDS = st.sampled_from(
    [
        "one",
        "two",
        "three",
        "- a b c",
        "# H",
        "",
        "```",
        "~~~",
        "x != y z",
        "---",
        "**q** r s",
        "1. d",
    ]
)
TEXTS = st.lists(WORDS, max_size=10).map("\n".join)


@given(a=TEXTS, b=TEXTS, answer=TEXTS)
def test_no_line_is_ever_lost(a, b, answer):
    """Whatever the answer: every line and listing of both sides is in the text that comes of it."""
    try:
        synthesis = checked(OverviewPair(section="a", version_a=a, version_b=b), answer)
    except Unavailable:
        return
    text = _Text(synthesis.text)
    assert all(text.holds(unit) for side in (a, b) for unit in _each_unit(side))
    assert synthesis.text.startswith(answer.strip("\n"))
