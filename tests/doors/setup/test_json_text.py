"""One value of a JSON text is set, added or taken out, and every other byte stays."""

from __future__ import annotations

import json

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


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
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
