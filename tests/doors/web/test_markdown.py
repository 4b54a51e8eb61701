"""What a remembered text becomes on a page: markup of ours, and nothing that acts."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.doors.web.markdown import MOST, to_html, to_words

ELEMENT = re.compile(r"</?([a-z0-9]+)")
OURS = frozenset(
    "p h3 h4 h5 h6 em strong code pre blockquote ul ol li hr br a span table thead tbody tr th td s".split()
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# Plan", "<h3>Plan</h3>\n"),
        ("**now**", "<p><strong>now</strong></p>\n"),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
        ("<img src=x onerror=alert(1)>", "<p>&lt;img src=x onerror=alert(1)&gt;</p>\n"),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>\n"),
        ("[x](data:text/html,hi)", "<p>[x](data:text/html,hi)</p>\n"),
        ("[x](JaVaScRiPt:alert(1))", "<p>[x](JaVaScRiPt:alert(1))</p>\n"),
        ("[x](/forget?ref=y)", "<p>[x](/forget?ref=y)</p>\n"),
        (
            "[x](https://example.org)",
            '<p><a href="https://example.org" rel="noopener noreferrer nofollow">x</a></p>\n',
        ),
        (
            '![a "b"](https://example.org/p.png)',
            '<p><span class="image">[image: a &#34;b&#34; https://example.org/p.png]</span></p>\n',
        ),
    ],
)
def test_markup(text, shown):
    """Headings stand below those of the page; raw HTML, images and other schemes stay words."""
    assert to_html(text) == shown


@given(st.text(alphabet=st.sampled_from("<>\"'`[](){}!#*_-=&;:/\\ \nascript:onload"), max_size=200))
def test_only_our_elements(text):
    """Whatever is written, only elements of ours come out, and no attribute that acts."""
    shown = to_html(text)
    assert set(ELEMENT.findall(shown)) <= OURS
    assert not re.search(r"<[a-z0-9]+[^>]* on[a-z]+=", shown)
    assert not re.search(r'href="(?!https?:|mailto:)', shown)


def test_a_very_long_text_stays_as_it_is_written():
    """Its markup could be made to take long."""
    shown = to_html("<b>" + "[" * MOST)
    assert shown.startswith('<pre class="plain">&lt;b&gt;[[[')


def test_a_deeply_nested_text_is_shown_whole():
    """As markup, or from some depth on as it was written; no word of it is left out."""
    for sign, depth in product(("> ", "- ", "1. "), range(1, 45)):
        shown = to_html(sign * depth + "**deep**\n\nafter")
        assert "deep" in shown, (sign, depth)
        assert "after" in shown, (sign, depth)
        assert ("<strong>" in shown) == ("plain" not in shown), (sign, depth)
        assert depth > 5 or "<strong>" in shown, (sign, depth)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# Plan\n\nSail out **now**", "Plan \u00b7 Sail out now"),
        ("Plan\n====\nSail out", "Plan \u00b7 Sail out"),
        ("To do:\n- [ ] one\n- two\n1. three", "To do: one \u00b7 two \u00b7 three"),
        ("- one\n  more\n\n  of it\n\nAfter\n\nend", "one more of it \u00b7 After end"),
        ("one\ntwo\n\n> three `four`", "one two three four"),
        ("a - b #c 2. d", "a - b #c 2. d"),
        ("## Closed ##\n---\nend", "Closed \u00b7 end"),
        ("#\n- \n", ""),
        ("It is *so*, _ever_ ~~not~~ so", "It is so, ever not so"),
        ("2 * 3 * 4, a*b*c, one_two_three", "2 * 3 * 4, a*b*c, one_two_three"),
        ("`*.py`, `_x_` and `*.md`", "*.py, _x_ and *.md"),
        ("See [the page](https://a.org/x_(y)) now", "See the page now"),
        ("See [the page](https://a.org/lo...", "See the page"),
        ("[x](javascript:y) [[api/auth]]", "[x](javascript:y) [[api/auth]]"),
    ],
)
def test_the_words_of_a_row(text, words):
    """A heading and the items of a list stand apart; what is no sign of Markdown stays."""
    assert to_words(text) == words
