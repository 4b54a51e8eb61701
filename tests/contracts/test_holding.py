"""Which texts hold a phrase of another: none is left out that the slow way finds."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from tests.cases import cases
from tests.sampled import sampled

from commonplace.core.ports import FindsTexts
from commonplace.core.text import storable
from commonplace.core.values import Put
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.verbs.forgetting.shingles import shingles_in, shingles_of
from commonplace_testing import a_doc

_PLAIN = ["harbour", "felt", "ran", "running", "generalizations", "The", "getUserName", "on", "May"]
_HOSTILE = [
    *("café", "cafe\u0301", "Übergrößenträger", "İstanbul", "天气很好", "天", "한국어", "ﬁnd"),
    *("don't", "don\u2019t", "2025-12-03", "Dec.", "7", "C++", "foo_bar", "**bold**", "[a](b:c)"),
    *("<b>word</b>", "a>b", '"quoted"', "AND", "OR", "NOT", "NEAR(", "*", "\\n", "x\\ny", "\u0338"),
    *("a\0b", "\ud800", "👩‍👩‍👧", "y" * 39, "y" * 40, "z" * 97, "ab", "c3po", "--", "%"),
]
_WORDS = st.sampled_from([*_PLAIN, *_HOSTILE]) | st.text(
    st.characters(exclude_categories=("Zs", "Zl", "Zp", "Cc")), min_size=1, max_size=9
)
_GAPS = st.sampled_from(
    [
        " ",
        "\n",
        "\r\n",
        "\t",
        "\u3000",
        "\u00a0",
        "\x1f",
        "\\n",
        "\\r\\n",
        "\\t",
        ">",
        "\n> ",
        "\\n>",
    ]
)
_AROUND = st.sampled_from(["", " ", "x", "天", "\u0301", "\\", "n", "_", "’s", "A", "\0", ". "])
_AUTHORS = st.sampled_from(["", "user", "Ann > Bo"])


@pytest.fixture
def on_disk(tmp_path):
    made = SqliteIndex(lambda owner: tmp_path / owner)
    yield made.of_owner("me")
    made.close()


@pytest.fixture
def in_database(postgres_index):
    return postgres_index.of_owner("me")


@pytest.fixture(params=["on_disk", "in_database"])
def index(request):
    return request.getfixturevalue(request.param)


@st.composite
def _quoted(draw):
    """A text, and others that say some words of it in a row, each in its own writing."""
    words = draw(st.lists(_WORDS, min_size=1, max_size=30))
    others = []
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(words) - 1))
        end = draw(st.integers(start + 1, len(words)) | st.just(len(words)))
        said = "".join(word + draw(_GAPS) for word in words[start : end - 1]) + words[end - 1]
        others.append(draw(_AROUND) + said + draw(_AROUND))
    return " ".join(words), others


@sampled(150, 1500, quoted=_quoted(), author=_AUTHORS)
def test_no_text_that_holds_a_phrase_is_left_out(on_disk, quoted, author):
    """Whatever its words are, whatever is between them and around them."""
    check_quoted(on_disk, quoted, author)


@sampled(30, 300, quoted=_quoted(), author=_AUTHORS)
def test_no_text_that_holds_a_phrase_is_left_out_in_a_database(in_database, quoted, author):
    """Likewise, where no word is looked up."""
    check_quoted(in_database, quoted, author)


def check_quoted(index, quoted, author):
    text, others = quoted
    shingles = shingles_of(text)
    docs = [
        a_doc(f"n:{number}", said, author=author) for number, said in enumerate([text, *others])
    ]
    index.apply([Put(doc) for doc in docs])
    found = index.docs_holding([each.phrase for each in shingles])
    stored = {doc.ref: doc.text for doc in found}
    says = {doc.ref for doc in docs if shingles_in(shingles, doc.text)}
    assert says <= stored.keys()
    # A database holds no NUL, and another sign in its place.
    assert all(
        any(all(storable(x) in storable(said) for x in s.phrase.parts) for s in shingles)
        for said in stored.values()
    )


@cases(
    "said",
    [
        "Note: we met Ann at the old harbour gate",
        "so\\nwe\\nmet\\rAnn\\tat the\\nold\\nharbour\\ngate",
        "> we met\n> Ann at the\n> old harbour gate",
        "Xwe MET met Ann at the old harbour gateway, we met Ann at the old harbour gateX",
    ],
)
def test_a_phrase_is_found_however_its_lines_are_broken(index, said):
    """Also where a line end is written as two characters, whose letter the word index takes along."""
    (shingle,) = shingles_of("we met Ann at the old harbour gate")
    index.apply([Put(a_doc("n:1", said)), Put(a_doc("n:2", "the old gate at the harbour"))])
    assert [doc.ref for doc in index.docs_holding([shingle.phrase])] == ["n:1"]


def test_what_is_found_is_the_doc_as_it_was_filed(index):
    """With all that it is."""
    assert isinstance(index, FindsTexts)
    doc = a_doc("n:1", "we met Ann at the gate", author="user", tags=("a",), headings=("H",))
    index.apply([Put(doc)])
    assert index.docs_holding([each.phrase for each in shingles_of("met Ann at the gate")]) == [doc]
