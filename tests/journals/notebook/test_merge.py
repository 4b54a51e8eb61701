"""Merging two overviews by block: both sides are kept, what differs is marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.journals.notebook.merge import END, blocks_of, merge, try_merge

BASE = "# API\n\nWe build REST.\n\nErrors are text."
LINES = st.sampled_from(
    ["# A", "## B", "one", "two", "three", "", "  ", "```", "````", "~~~", "- item", "x\ry", END]
)
TEXTS = st.lists(LINES, max_size=14).map("\n".join)


def is_within(lines: list[str], whole: list[str]) -> bool:
    """Whether lines stand in a text in their order."""
    rest = iter(whole)
    return all(line in rest for line in lines)


def lines_of(text: str) -> list[str]:
    return [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()]


@given(a=TEXTS, b=TEXTS, base=st.none() | TEXTS)
def test_no_line_of_either_side_is_lost(a, b, base):
    """Every line of both is there, as often as it was, in its side's order."""
    merged = lines_of(merge(a, b, base=base).text)
    assert is_within(lines_of(a), merged)
    assert is_within(lines_of(b), merged)


@given(text=TEXTS, base=st.none() | TEXTS)
def test_equal_sides_are_one(text, base):
    """Nothing is marked, and nothing is there twice."""
    merged = merge(text, text, base=base)
    assert lines_of(merged.text) == lines_of(text)
    assert (merged.differing, merged.added) == (0, 0)


def test_blocks():
    """Headings, paragraphs with their lists, and listings with their blank lines."""
    text = "# A\nText\ngoes on\n\n\n```py\nx\n\n# no heading\n```\n- item\n- item"
    assert blocks_of(text) == [
        "# A",
        "Text\ngoes on",
        "```py\nx\n\n# no heading\n```",
        "- item\n- item",
    ]
    assert blocks_of("a ```code``` b\n\n``` x` \nc") == ["a ```code``` b", "``` x` \nc"]


def test_what_both_changed_stands_side_by_side():
    """The same block, changed on both sides."""
    a, b = BASE.replace("text", "JSON"), BASE.replace("text", "XML")
    assert merge(a, b, base=BASE).text == (
        "# API\n\nWe build REST.\n\n<!-- version A: -->\n\nErrors are JSON.\n\n"
        f"<!-- version B: -->\n\nErrors are XML.\n\n{END}"
    )


@pytest.mark.parametrize("base", [None, BASE])
def test_what_one_side_added(base):
    """New against the base: taken as it is; without a base nobody can tell."""
    merged = merge(f"{BASE}\n\nNew.", BASE, base=base)
    if base:
        assert (merged.text, merged.differing, merged.added) == (f"{BASE}\n\nNew.", 0, 1)
    else:
        assert merged.text == f"{BASE}\n\n<!-- version A alone: -->\n\nNew.\n\n{END}"
        assert (merged.differing, merged.added) == (1, 0)


def test_what_one_side_changed_or_took_out():
    """The other side's block stays, and is called unchanged."""
    changed = merge(BASE.replace("text", "JSON"), BASE, base=BASE)
    assert "<!-- version A: -->\n\nErrors are JSON." in changed.text
    assert "<!-- version B, unchanged; A changed this: -->\n\nErrors are text." in changed.text
    gone = merge(BASE, "# API\n\nErrors are text.", base=BASE)
    assert "<!-- version A, unchanged; B took out this: -->\n\nWe build REST." in gone.text
    assert gone.differing == 1


def test_changes_of_different_places_are_both_taken():
    """A block changed here, another there; one added, one taken out; the same on both sides."""
    assert try_merge("a\n\nb\n\nc", "A\n\nb\n\nc", "a\n\nb\n\nC") == "A\n\nb\n\nC"
    assert try_merge("a\n\nb", "a\n\nb\n\nc", "b") == "b\n\nc"
    assert try_merge("a\n\nb", "a\n\nx\n\nb", "a\n\nx\n\nb\n\nc") == "a\n\nx\n\nb\n\nc"
    assert try_merge("a\n\nb", "A\n\nb", "a\n\nB") == "A\n\nB"
    assert try_merge("", "x", "") == try_merge("", "", "x") == "x"


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        ("a", "b", "c"),
        ("a\n\nb", "a\n\nb\n\nx", "a\n\nb\n\ny"),
        ("", "x", "y"),
        ("a", "", "A"),
        ("a\n\nb", "x\n\nb", "a\n\nB\n\nb".replace("a\n\nB", "y")),
    ],
)
def test_changes_of_one_place_are_not_chosen_between(base, ours, theirs):
    """Nobody's text is taken for the other's."""
    assert try_merge(base, ours, theirs) is None
    assert try_merge(base, theirs, ours) is None


@given(base=TEXTS, ours=TEXTS, theirs=TEXTS)
def test_what_is_settled_holds_what_either_added(base, ours, theirs):
    """Every line that a side added is there; the sides may change places; one side alone is taken."""
    settled = try_merge(base, ours, theirs)
    assert try_merge(base, ours, base) == ours
    assert try_merge(base, base, theirs) == theirs
    other = try_merge(base, theirs, ours)
    assert (settled is None) == (other is None)
    if settled is None:
        return
    assert lines_of(settled) == lines_of(other)
    known = set(lines_of(base))
    added = [x for x in (*lines_of(ours), *lines_of(theirs)) if x not in known]
    assert set(added) <= set(lines_of(settled))
