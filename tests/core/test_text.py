"""Text: query terms, bigrams, excerpts, hashes; pure and for any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases

from commonplace.core.text import (
    Term,
    asked_spans,
    counted_entries,
    excerpt,
    first_words,
    fold_name,
    name_parts,
    nearest,
    opening,
    query_terms,
    text_hash,
    well_formed,
    words_text,
)

any_text = st.text(st.characters())


@cases(
    ("query", "terms"),
    [
        ("the database locks", ["database", "locks"]),
        ("Don't  DON'T", ["don", "t"]),
        ("what is it", ["what", "is", "it"]),
        ("C++ v2.1.0 bug-fix", ["c", "v2", "1", "0", "bug", "fix"]),
        ("日本語", ["日本", "本語"]),
        ("say 日本語 twice", ["say", "日本", "本語", "twice"]),
        ('"(*:', []),
        ("", []),
    ],
)
def test_a_query_becomes_its_distinct_terms(query, terms):
    """Lower case, no stop words unless nothing else is left, CJK runs as pairs."""
    assert [term.text for term in query_terms(query)] == terms


def test_a_lone_cjk_character_is_a_prefix():
    """The index holds pairs, so one character must match the beginning of one."""
    assert query_terms("猫") == [Term("猫", prefix=True)]


@cases(
    ("query", "terms"),
    [
        ("the lam* light", [Term("lam", prefix=True), Term("light")]),
        ("The*", [Term("the", prefix=True)]),
        ("the *glow* of *the sea*", [Term("glow"), Term("sea")]),
        ("*is* the *light* lam*", [Term("light"), Term("lam", prefix=True)]),
        ("*lam lam** la*m 2*3", [Term("lam"), Term("la"), Term("m"), Term("2"), Term("3")]),
    ],
)
def test_a_word_that_ends_in_a_star_is_a_prefix(query, terms):
    """Where nothing follows the star: it is no sign of arithmetic, of Markdown or of a pattern."""
    assert query_terms(query) == terms


def test_the_forms_of_a_prefix_are_all_words_that_begin_so():
    """They are marked in an answer as those of a whole word are."""
    assert asked_spans("a lamp, lambs and a clam", "lam*") == [(2, 6), (8, 13)]


def test_cjk_text_is_indexed_as_pairs_and_the_last_character():
    """`好` ends the run, begins no pair, and is found all the same."""
    assert words_text("天气很好 ok").split() == ["天气", "气很", "很好", "好", "ok"]


@cases(
    ("text", "parts"),
    [
        ("getUserName fails", "get User Name"),
        ("on_LogErrorJSON in YouTube", "Log Error JSON You Tube"),
        ("IDs, JSON, snake_case, Monday and c3po", ""),
        ("aB" * 32, " ".join(["a", *["Ba"] * 31, "B"])),
        ("aB" * 33, ""),
        ("", ""),
    ],
)
def test_a_name_in_camel_case_has_parts(text, parts):
    """They begin where a capital follows a small letter; past 64 letters it is no name."""
    assert name_parts(text) == parts


def test_a_heading_is_compared_without_case_and_joints():
    """`technical_insights`, `Technical-Insights` and `technical  insights` are one name."""
    names = {"technical_insights", "Technical-Insights", " technical  insights "}
    assert {fold_name(name) for name in names} == {"technical insights"}


def test_a_short_text_is_its_own_excerpt():
    """Up to 200 characters nothing is cut."""
    assert excerpt("x" * 200, "x") == "x" * 200


@pytest.mark.design("000-52", "000-54")
def test_an_excerpt_shows_where_the_words_of_the_query_are():
    """The window with most of the words wins, cut ends are marked."""
    text = "a " * 150 + "the needle lies here " + "b " * 150
    shown = excerpt(text, "needle here")
    assert "needle lies here" in shown
    assert shown.startswith("...")
    assert shown.endswith("...")
    assert len(shown) <= 206


@pytest.mark.design("000-52", "000-53")
@given(st.text("abc d", max_size=700), st.text("abcd ", max_size=30))
def test_an_excerpt_is_the_first_window_with_most_words(text, query):
    """As the design words it: windows of 200, every 20 characters, each word counted once."""
    windows = range(0, max(len(text) - 200, 0) + 1, 20)
    held = [sum(word in text[i : i + 200] for word in set(query.split())) for i in windows]
    start = windows[held.index(max(held))]
    shown = text[start : start + 200].strip() if len(text) > 200 else text
    before = "..." if start else ""
    after = "..." if start + 200 < len(text) else ""
    assert excerpt(text, query) == f"{before}{shown}{after}"


def test_an_excerpt_of_a_long_text():
    """The first place with all the words wins over later ones; a far one over an early half."""
    dull, both = "." * 70_000, "alpha beta"
    early = excerpt("." * 400 + both + dull + both, "alpha beta")
    assert early == "..." + "." * 180 + "alpha beta" + "." * 10 + "..."
    assert both in excerpt("alpha" + dull + both + dull + both, "alpha beta")
    assert excerpt("alpha" + dull, "alpha beta") == "alpha" + "." * 195 + "..."


def test_an_excerpt_without_a_match_is_the_beginning():
    """No window is better than the first."""
    assert excerpt("word " * 100, "absent") == ("word " * 40).strip() + "..."


@pytest.mark.design("000-62")
def test_an_opening_is_cut_at_150_characters():
    """Longer texts end in three dots."""
    assert opening("x" * 150) == "x" * 150
    assert opening("x" * 151) == "x" * 150 + "..."


def test_lone_surrogates_become_replacement_characters():
    """UTF-8 cannot hold half a pair."""
    assert well_formed("a\ud800b😀") == "a\ufffdb😀"


def test_the_nearest_name_is_guessed_or_nothing():
    """A slip is guessed, anything else is not."""
    assert nearest("serach", ["search", "list"]) == "search"
    assert nearest("zzz", ["search", "list"]) == ""


@given(any_text)
def test_no_text_raises(text):
    """Every function takes every text, and the results can be written as UTF-8."""
    words_text(text).encode()
    for term in query_terms(text):
        term.text.encode()
    fold_name(text)
    excerpt(text, text)
    assert len(text_hash(text)) == 16


@given(any_text, any_text)
def test_equal_texts_have_equal_hashes(one, other):
    """The hash tells texts apart that UTF-8 tells apart, and no others."""
    assert (text_hash(one) == text_hash(other)) == (well_formed(one) == well_formed(other))


@cases(
    ("text", "shown"),
    [
        (" one\n two ", "one two"),
        ("# a\n\nbb cc", "# a · bb cc"),
        ("# a\n ", "# a"),
        ("aaa bbb ccc", "aaa bbb ccc"),
        ("aaa bbb cccc", "aaa bbb..."),
        ("aaaaaaaaaaaaaa b", "aaaaaaaaaaa..."),
        (" " * 500 + "aaa", "aaa"),
        ("", ""),
    ],
)
def test_the_first_words_stand_on_one_line(text, shown):
    """At most so many characters, cut between words where that can be."""
    assert first_words(text, 11) == shown


@given(any_text)
def test_first_words_are_short_for_any_text(text):
    """Never more than what was asked for and the dots, never a line break."""
    assert len(first_words(text)) <= 83
    assert len(first_words(text).splitlines()) <= 1


@cases(
    ("count", "words"),
    [(0, "0 entries"), (1, "1 entry"), (3, "3 entries"), (1200, "1,200 entries")],
)
def test_entries_are_counted_in_words(count, words):
    """One is one entry; thousands have a comma."""
    assert counted_entries(count) == words
