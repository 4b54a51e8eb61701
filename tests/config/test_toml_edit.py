"""One value changes in a TOML text, and nothing else does."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases
from tests.sampled import sampled

from commonplace.config.toml_edit import render_toml_value, set_toml_value
from commonplace.core.errors import Invalid
from commonplace.core.toml import parse_toml

FILE = """# mine
owner = "me"  # that is "me"
toolsets = [
  "private", # the first
  "recall",
]

[private]
path = "a#b" # kept
"odd = key" = 1

[encoder] # last
model = 'x'
"""


def edit(text, path, value):
    """The edited text of a file named f."""
    return set_toml_value(text, path, value, name="f")


def test_a_value_is_replaced_in_its_line():
    """The comment behind the value stays where it was."""
    assert edit(FILE, ["owner"], "ann") == FILE.replace('owner = "me"', 'owner = "ann"')


def test_a_hash_inside_a_string_is_no_comment():
    """Only the real comment is kept behind the new value."""
    assert edit(FILE, ["private", "path"], "c") == FILE.replace('"a#b" # kept', '"c" # kept')


def test_a_value_of_several_lines_is_replaced_whole():
    """An array over lines becomes one line; all around it stays."""
    edited = edit(FILE, ["toolsets"], ["a", "b"])
    assert 'toolsets = ["a", "b"]\n\n[private]' in edited
    assert edited.startswith('# mine\nowner = "me"  # that is "me"\n')


def test_a_new_key_goes_behind_the_last_of_its_table():
    """Not behind the blank line that separates it from the next table."""
    edited = edit(FILE, ["private", "user_path"], "/x")
    assert '"odd = key" = 1\nuser_path = "/x"\n\n[encoder]' in edited


def test_a_new_top_key_goes_before_the_first_table():
    """A key below a header would belong to that table."""
    edited = edit(FILE, ["read_only"], value=True)
    assert "]\nread_only = true\n\n[private]" in edited


def test_a_new_table_goes_to_the_end():
    """With a blank line before it."""
    assert edit(FILE, ["new", "a"], 1) == FILE + "\n[new]\na = 1\n"


@cases(
    ("text", "expected"),
    [
        ("", "k = 1\n"),
        ("# note", "# note\nk = 1\n"),
        ("[t]\n", "k = 1\n\n[t]\n"),
        ("a = 2", "a = 2\nk = 1\n"),
        ("a = 2\r\n", "a = 2\r\nk = 1\r\n"),
        ("# file\n\n[t]\n", "# file\nk = 1\n\n[t]\n"),
        ("[[t]]\nk = 3\n", "k = 1\n[[t]]\nk = 3\n"),
        ("'k'=3", "'k'=1"),
        ('a = """\n[x]\nk = 2\n"""\n', 'a = """\n[x]\nk = 2\n"""\nk = 1\n'),
    ],
)
def test_small_files(text, expected):
    """Empty, unfinished, Windows line ends, arrays of tables, headers inside a string."""
    assert edit(text, ["k"], 1) == expected


@cases(
    ("text", "edited"),
    [
        ("t = { a = 1 }", "t = { a = 1, k = 1}"),
        ("t.a = 1\n", "t.a = 1\nt.k = 1\n"),
    ],
)
def test_a_key_joins_a_table_in_whichever_form_it_has(text, edited):
    """An inline table stays one, and dotted keys stay dotted."""
    assert edit(text, ["t", "k"], 1) == edited


def test_a_value_where_a_table_is_needed_is_refused():
    """Rather a refusal with the line to write than a lost value."""
    with pytest.raises(Invalid, match="cannot be edited") as caught:
        edit("t = 1", ["t", "k"], 1)
    assert caught.value.hint == "Set t.k = 1 by hand."


def test_what_cannot_be_edited_is_named_by_what_is_there():
    """A table that the file does not have is no part of it."""
    with pytest.raises(Invalid, match=r"holds t in a form that cannot be edited") as caught:
        edit("t = { a = { x = 1 } }", ["t", "b", "k"], 1)
    assert caught.value.hint == "Set t.b.k = 1 by hand."


def test_a_table_below_an_existing_one_is_no_obstacle():
    """`[a.b.c]` may come before `[a.b]`."""
    edited = edit("[a.b.c]\nx = 1\n", ["a", "b", "k"], "v")
    assert tomllib.loads(edited) == {"a": {"b": {"c": {"x": 1}, "k": "v"}}}


def test_broken_toml_names_the_file_and_line():
    """The message says where."""
    with pytest.raises(Invalid, match=r"my\.toml is not valid TOML.*line 2"):
        parse_toml("a = 1\nb = \n", name="my.toml")


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_any_string_comes_back_as_it_was(text):
    """Quotes, control characters and every script survive."""
    assert tomllib.loads(f"k = {render_toml_value(text)}") == {"k": text}


KEYS = st.sampled_from(["a", "b", "c d", "é"])
VALUES = st.one_of(st.booleans(), st.integers(-9, 9), st.text("a#='\"\\\n[", max_size=5))


@sampled(
    25, 100, edits=st.lists(st.tuples(st.lists(KEYS, min_size=1, max_size=2), VALUES), max_size=8)
)
def test_edits_one_after_another_keep_all_the_others(edits):
    """After any number of edits the file holds the last value of each key."""
    text = "# top\n"
    held: dict = {}
    for path, value in edits:
        level = held if len(path) == 1 else held.get(path[0], {})
        if not isinstance(level, dict) or isinstance(level.get(path[-1]), dict):
            continue
        text = edit(text, path, value)
        level[path[-1]] = value
        if len(path) > 1:
            held[path[0]] = level
    assert tomllib.loads(text) == held
    assert text.startswith("# top\n")
