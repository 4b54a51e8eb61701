"""Tools: schemas derived from signatures, raw arguments checked, errors that name what fits."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from tests.cases import cases

from commonplace.core.errors import Invalid, NotFound
from commonplace.core.ports import Language  # noqa: TC001  a tool's hints are read when it is called
from commonplace.core.values import Answer
from commonplace.verbs.toolset import Arg, Effects, Tool, Toolset
from commonplace_testing.language import ScriptedLanguage


def echo(
    *,
    text: Annotated[str, Arg("What to say.")],
    limit: Annotated[int, Arg("How often.", 1, 100)] = 10,
    kind: Annotated[Literal["project", "user", "both"], Arg("Which.")] = "both",
    names: Annotated[list[str], Arg("Which ones.")] = [],  # noqa: B006  never changed
    floor: Annotated[float, Arg("Least.", -1, 1)] = 0.1,
) -> Answer:
    """Say it again.

    Use it never.
    """
    return Answer(text=text, facts={"limit": limit, "kind": kind, "names": names, "floor": floor})


TOOL = Tool(run=echo, title="Echo")


def test_the_schema_is_derived_from_the_signature():
    """Types, ranges, defaults, choices and texts stand in the schema; nothing else is required."""
    properties = TOOL.schema["properties"]
    assert TOOL.schema["required"] == ["text"]
    assert properties["text"] == {"type": "string", "description": "What to say."}
    assert properties["limit"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 100,
        "default": 10,
        "description": "How often.",
    }
    assert properties["kind"]["enum"] == ["project", "user", "both"]
    assert properties["names"]["items"] == {"type": "string"}


def test_a_sampler_is_handed_in_and_is_no_argument():
    """It stands in no schema, and nobody can pass one as an argument."""

    def ask(*, text: Annotated[str, Arg("What.")], sampler: Language | None = None) -> Answer:
        """Ask."""
        return Answer(text=f"{text} {sampler.name if sampler else 'nobody'}")

    tool = Tool(run=ask, title="Ask")
    assert (tool.samples, TOOL.samples) == (True, False)
    assert list(tool.schema["properties"]) == ["text"]
    assert tool.call({"text": "a"}).text == "a nobody"
    language = ScriptedLanguage()
    assert tool.call({"text": "a"}, sampler=language).text == "a scripted-1 in memory"
    assert TOOL.call({"text": "a"}, sampler=language).text == "a"
    with pytest.raises(Invalid, match="Unknown argument of ask: 'sampler'"):
        tool.call({"text": "a", "sampler": "x"})


@pytest.mark.design("000-75")
def test_the_docstring_is_the_description():
    """What a model reads is the function's own docstring, unindented."""
    assert TOOL.description == "Say it again.\n\nUse it never."


def test_defaults_stand_where_nothing_is_given():
    """Absent and null arguments take the signature's defaults."""
    facts = {"limit": 10, "kind": "both", "names": [], "floor": 0.1}
    assert TOOL.call({"text": "a", "limit": None}).facts == facts


@cases(
    ("arguments", "sentence"),
    [
        ({"text": "a", "limit": 0}, "Invalid limit: 0. Use 1 to 100."),
        ({"text": "a", "limit": 101}, "Invalid limit: 101. Use 1 to 100."),
        ({"text": "a", "limit": "many"}, "Invalid limit: 'many'. Use 1 to 100."),
        ({"text": "a", "limit": 1.5}, "Invalid limit: 1.5. Use 1 to 100."),
        ({"text": "a", "limit": True}, "Invalid limit: True. Use 1 to 100."),
        ({"text": "a", "kind": "x"}, "Invalid kind: 'x'. Use project, user or both."),
        ({"text": "a", "kind": "\ud800"}, "Invalid kind: '\\ud800'. Use project, user or both."),
        ({"text": 42}, "Invalid text: 42. Use text."),
        ({"text": ["a"]}, "Invalid text: ['a']. Use text."),
        ({}, "Missing argument of echo: text. Give text."),
        ({"text": "a", "names": [1]}, "Invalid names: 1. Use a list of texts."),
        ({"text": "a", "floor": float("nan")}, "Invalid floor: nan. Use -1 to 1."),
        (
            {"text": "a", "limits": 3},
            "Unknown argument of echo: 'limits'. Did you mean limit? Use text, limit, kind, names or floor.",
        ),
    ],
)
def test_an_error_names_the_argument_the_value_and_what_fits(arguments, sentence):
    """Each wrong argument gets one sentence that a model can act on."""
    with pytest.raises(Invalid) as caught:
        TOOL.call(arguments)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("names", "size"),
    [(["kestrel"] * 2501, "2,501 texts of 20,008"), (["x" * 20_000], "1 text of 20,001")],
)
def test_a_list_that_nobody_can_mean_is_refused(names, size):
    """Whether its texts are many or long; one that is shorter by a text is taken."""
    with pytest.raises(Invalid, match=f"^Invalid names: {size} characters with the separators\\. "):
        TOOL.call({"text": "a", "names": names})
    assert TOOL.call({"text": "a", "names": names[1:]}).facts["names"] == names[1:]


def test_no_tool_works_on_a_long_argument_that_it_only_reads_by(app):
    """Each list of each tool is bound, and each text of a tool that writes nothing."""
    long, taken, lists = "kestrel " * 2501, set(), set()
    for tool in (each for toolset in app.toolsets() for each in toolset.tools):
        needed = dict.fromkeys(tool.schema.get("required", ()), "kestrel")
        for name, schema in tool.schema["properties"].items():
            kind = "" if "enum" in schema else schema["type"]
            if kind == "array":
                lists.add(name)
                with pytest.raises(Invalid, match=f"^Invalid {name}: 2,501 texts of 20,008 "):
                    tool.call(needed | {name: long.split()})
            elif kind == "string" and not tool.effects.writes:
                try:
                    tool.call(needed | {name: long})
                    taken.add(f"{tool.name}.{name}")
                except (Invalid, NotFound):
                    pass
    assert lists >= {"tags", "journals", "kinds", "sections"}
    # These are not what it reads by: it puts them together.
    merged = {"version_a", "version_b", "work_context"}
    assert taken <= {f"journal_synthesize_conflict.{name}" for name in merged}


def test_a_long_wrong_value_is_cut_in_the_error():
    """An error never carries a whole text back."""
    with pytest.raises(Invalid) as caught:
        TOOL.call({"text": "a", "kind": "x" * 1000})
    assert len(str(caught.value)) < 150


def test_text_that_looks_like_json_stays_text():
    """A thought that happens to be JSON is not parsed on its way in."""
    assert TOOL.call({"text": '{"a": 1}'}).text == '{"a": 1}'
    assert TOOL.call({"text": "42"}).text == "42"


def test_numbers_as_text_are_read():
    """Hosts that send every argument as text are understood."""
    assert TOOL.call({"text": "a", "limit": "3"}).facts["limit"] == 3


@cases(("given", "read"), [('["a", "b"]', ["a", "b"]), ("a", ["a"])])
def test_a_list_that_arrives_as_text_is_read_as_the_list(given, read):
    """Some hosts send a list as JSON text, some models send a single name."""
    assert TOOL.call({"text": "a", "names": given}).facts["names"] == read


def test_a_default_that_a_setting_gives():
    """The schema tells a plain type and no default; what is absent or null is None."""

    def bounded(*, floor: Annotated[float | None, Arg("Least.", -1, 1)] = None) -> Answer:
        return Answer(text="", facts={"floor": floor})

    tool = Tool(run=bounded, title="Bounded")
    assert tool.schema["properties"]["floor"] == {
        "type": "number",
        "minimum": -1,
        "maximum": 1,
        "description": "Least.",
    }
    assert [tool.call(x).facts["floor"] for x in ({}, {"floor": None}, {"floor": 0})] == [
        None,
        None,
        0,
    ]
    for wrong in (True, "low", 2):
        with pytest.raises(Invalid, match=r"Use -1 to 1\."):
            tool.call({"floor": wrong})


def test_a_read_only_toolset_offers_no_writing_tool():
    """What writes is left out, what reads stays."""
    writing = Tool(run=echo, title="Write", effects=Effects(writes=True))
    toolset = Toolset(name="x", guide="", tools=(writing, TOOL))
    assert toolset.read_only().tools == (TOOL,)


def noted(*, facts: Annotated[dict[str, Any], Arg("What else.")] = {}) -> Answer:  # noqa: B006  never changed
    """Keep facts."""
    return Answer(text="", facts=facts)


def test_an_object_is_taken_as_it_is_or_as_json_text():
    """Some hosts send an object as JSON text; an empty default stands in no schema."""
    tool = Tool(run=noted, title="OutboxLine")
    schema = tool.schema["properties"]["facts"]
    assert (schema["type"], "default" in schema) == ("object", False)
    assert tool.call({"facts": {"a": [1, None]}}).facts == {"a": [1, None]}
    assert tool.call({"facts": '{"a": {"b": 2}}'}).facts == {"a": {"b": 2}}
    assert tool.call({"facts": " "}).facts == tool.call({}).facts == {}


@cases("wrong", ["x", "[1]", 3, ["a"], True, "[" * 100_000])
def test_what_is_no_object_is_refused(wrong):
    """In one short sentence."""
    with pytest.raises(Invalid, match=r"^Invalid facts: .* Use an object\.$") as caught:
        Tool(run=noted, title="OutboxLine").call({"facts": wrong})
    assert len(str(caught.value)) < 120
