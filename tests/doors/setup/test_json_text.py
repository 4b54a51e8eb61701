"""One value of a JSON text is set, added or taken out, and every other byte stays."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from commonplace.core.errors import Invalid
from commonplace.doors.setup.json_text import (
    append_json_item,
    cut_json_value,
    read_json_object,
    set_json_value,
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a": 1}', '{"a": 1, "t": {"k": {"c": 2}}}'),
        ('{"t": {}, "a": []}', '{"t": {"k": {"c": 2}}, "a": []}'),
        ('{"t": {"k": {"old": 1}}}', '{"t": {"k": {"c": 2}}}'),
        (
            '{\r\n "a": 1\r\n}\r\n',
            '{\r\n "a": 1,\r\n "t": {\r\n  "k": {\r\n   "c": 2\r\n  }\r\n }\r\n}\r\n',
        ),
        (
            '{\n    "t": {}\n}',
            '{\n    "t": {\n        "k": {\n            "c": 2\n        }\n    }\n}',
        ),
        ("{}", '{\n  "t": {\n    "k": {\n      "c": 2\n    }\n  }\n}\n'),
        (
            ' {"a":"}{,", "t" : { "x":[{"k":1}] } } ',
            ' {"a":"}{,", "t" : { "x":[{"k":1}], "k": {"c": 2} } } ',
        ),
    ],
)
def test_json_keeps_its_manner(before, after):
    """One line stays one line; indentation and line ends are the file's own."""
    assert set_json_value(before, ("t", "k"), {"c": 2}, name="f") == after


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(max_size=3), JSON, max_size=3),
    st.none() | st.dictionaries(st.sampled_from(["k", "a", "é"]), JSON, max_size=3),
    st.sampled_from([None, 0, 1, 4, "\t"]),
    st.booleans(),
)
def test_any_json_is_changed_in_one_entry_alone(root, servers, indent, escaped):
    """Whatever the file holds and however it is laid out."""
    held = {key: value for key, value in root.items() if key != "t"}
    if servers is not None:
        held["t"] = servers
    text = json.dumps(held, indent=indent, ensure_ascii=escaped)
    edited = set_json_value(text, ("t", "k"), {"c": [1]}, name="f")
    assert json.loads(edited) == {**held, "t": {**(servers or {}), "k": {"c": [1]}}}


@given(
    st.dictionaries(st.text(max_size=3), JSON, max_size=3),
    st.lists(JSON, max_size=3),
    st.sampled_from([None, 0, 1, 4, "\t"]),
)
def test_any_list_gets_one_item_more(root, items, indent):
    """Wherever it lies; cut again, the text is what it was, unless the list held nothing."""
    held = {**root, "hooks": {"Stop": items, "z": 1}}
    text = json.dumps(held, indent=indent)
    edited = append_json_item(text, ("hooks", "Stop"), {"c": [1]}, name="f")
    assert json.loads(edited) == {**held, "hooks": {"Stop": [*items, {"c": [1]}], "z": 1}}
    assume(items)
    assert cut_json_value(edited, ("hooks", "Stop", len(items)), name="f") == text


@given(
    st.dictionaries(st.text(max_size=3), JSON, min_size=1, max_size=3),
    st.sampled_from([None, 1, 4, "\t"]),
)
def test_what_was_put_in_is_cut_out_byte_for_byte(root, indent):
    """With the objects that were made for it."""
    held = {key: value for key, value in root.items() if key != "t"}
    assume(held)
    text = json.dumps(held, indent=indent)
    edited = append_json_item(text, ("t", "u"), {"c": 1}, name="f")
    assert json.loads(edited) == {**held, "t": {"u": [{"c": 1}]}}
    assert cut_json_value(edited, ("t", "u", 0), name="f") == text


GAPS = st.lists(st.sampled_from([" ", "\n  ", "\r\n", "// x, {\n", "/* } */", "/**/"]), max_size=3)


@st.composite
def commented(draw):
    """An object as JSON with comments between any two of its signs, and at times a last comma."""

    def gap():
        return "".join(draw(GAPS))

    def written(value):
        if isinstance(value, dict):
            members = [f"{json.dumps(k)}{gap()}:{gap()}{written(v)}" for k, v in value.items()]
            return listed("{}", members)
        if isinstance(value, list):
            return listed("[]", [written(item) for item in value])
        return json.dumps(value)

    def listed(ends, inside):
        last = "," if inside and draw(st.booleans()) else ""
        parts = ",".join(f"{gap()}{part}{gap()}" for part in inside)
        return f"{ends[0]}{gap()}{parts}{last}{gap()}{ends[1]}"

    value = draw(st.dictionaries(st.sampled_from("abt"), JSON, max_size=3))
    if draw(st.booleans()):
        value["t"] = draw(st.dictionaries(st.sampled_from("xyz"), JSON, max_size=3))
    else:
        value.pop("t", None)
    return value, gap() + written(value) + gap()


def comments_of(text):
    """The comments of a text, in their order."""
    found = re.finditer(r'"(?:[^"\\]|\\.)*"|(//[^\r\n]*|/\*.*?\*/)', text, re.DOTALL)
    return [each[1] for each in found if each[1]]


@given(commented())
def test_comments_stay_where_they_are(made):
    """Wherever they lie, what is put in joins the values; cut out again it takes no comment along."""
    value, text = made
    assert read_json_object(text) == value
    edited = set_json_value(text, ("t", "k"), {"c": [1]}, name="f")
    assert read_json_object(edited) == {**value, "t": {**value.get("t", {}), "k": {"c": [1]}}}
    assert comments_of(edited) == comments_of(text)
    cut = cut_json_value(edited, ("t", "k"), name="f")
    left = read_json_object(cut)
    assert {k: v for k, v in left.items() if v != {}} == {k: v for k, v in value.items() if v != {}}
    assert comments_of(cut) == comments_of(text)


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        (
            '{ // x\n  "a": 1, // one\n  "b": 2, // two\n}',
            ("b",),
            '{ // x\n  "a": 1, // one\n   // two\n}',
        ),
        ('{\n  "a": 1, // one\n  "b": 2\n}', ("b",), '{\n  "a": 1 // one\n}'),
        ('{"a": 1, "b": 2, "c": 3}', ("a",), '{"b": 2, "c": 3}'),
        ('{"a": 1, "b": 2, "c": 3}', ("b",), '{"a": 1, "c": 3}'),
        ('{"a": 1, "b": 2, "c": 3}', ("c",), '{"a": 1, "b": 2}'),
        ('{"a": [1, {"b": 2}]}', ("a", 1, "b"), '{"a": [1]}'),
        ('{ "a": {"b": {"c": 1}} }', ("a", "b", "c"), "{}"),
        ('{\n  "a": 1,\n  "b": 2\n}\n', ("a",), '{\n  "b": 2\n}\n'),
    ],
)
def test_a_value_is_cut_with_its_comma(before, path, after):
    """First, middle, last and only; what held nothing else goes with it."""
    assert cut_json_value(before, path, name="f") == after


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"a": 1}', ("a", "b")),
        ('{"a": []}', ("a", "b")),
        ('{"a": {"b": 1}}', ("a", "b")),
        ('{"a": "x"}', ("a",)),
    ],
)
def test_a_path_through_something_else_is_refused(text, path):
    """The error names what is in the way."""
    with pytest.raises(Invalid, match=r"^f cannot be edited: a"):
        append_json_item(text, path, {}, name="f")


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ('{ // one\n "a": "//b", /* two */ "c": [1, 2,], }', {"a": "//b", "c": [1, 2]}),
        ('{"a": "\\"/*", "b": ",}"}', {"a": '"/*', "b": ",}"}),
        ("", {}),
        ("[1]", {}),
        ("{", {}),
    ],
)
def test_json_with_comments_is_read(text, held):
    """Comments and last commas go, those inside strings stay; what is broken counts as empty."""
    assert read_json_object(text) == held
