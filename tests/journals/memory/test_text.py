"""What of a text of memory is searched."""

from __future__ import annotations

import re
import time

from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases

from commonplace.journals.memory.text import normalised

PIECES = st.lists(
    st.sampled_from(
        [
            "<b>",
            "</b>",
            "<p class='x'>",
            "<!--",
            "-->",
            "<script>",
            "</script>",
            "<",
            ">",
            "&amp;",
            "&",
            "a",
            " ",
            "\n",
            "<br/>",
            "İ",
            "é",
        ]
    )
)


@cases(
    ("text", "said"),
    [
        ("Plain, with Signs!", "Plain, with Signs!"),
        ("  two\n\n lines\t", "two lines"),
        ("<p>One</p><p>Two</p>", "One Two"),
        ("wo<b>r</b>d and <i>it</i>", "word and it"),
        ("a <!-- never --> b", "a b"),
        ("a <script>x < y</script>b <STYLE>p {}</style>c", "a b c"),
        ("<!DOCTYPE html><h1>T</h1>", "T"),
        ("if a < b and c > d", "if a < b and c > d"),
        ("List<String> and <ann@example.org>", "List<String> and <ann@example.org>"),
        ("a <!-- without an end", "a <!-- without an end"),
        ("AT&amp;T &lt;3 &#233; &#x263A; a&copy=1", "AT&T <3 é ☺ a&copy=1"),
        ("<a href='x'>link</a><img src=x>", "link"),
        ("İ <!-- x --> y", "İ y"),
        ("", ""),
        ("<br>", ""),
    ],
)
def test_html_goes_and_words_stay(text, said):
    """Tags of HTML, comments, scripts and styles go; what only looks like them stays."""
    assert normalised(text) == said


@given(PIECES)
def test_no_tag_is_left(pieces):
    """Whatever is mixed: no tag that was written stands in the result, and no double space."""
    said = normalised("".join(pieces))
    assert not re.search(r"</?(?:b|p|br|script)(?:\s[^<>]*)?/?>", said)
    assert said == " ".join(said.split())


@cases("piece", ["<", "<!--", "<script>", "<a ", "&", "&#", "<p", "</", "<!doctype"])
def test_a_megabyte_of_beginnings_takes_no_time(piece):
    """Linear: a text of nothing but beginnings is done within the time of a blink."""
    text = piece * (1024 * 1024 // len(piece))
    start = time.process_time()
    normalised(text)
    assert time.process_time() - start < 5
