"""The shingles by which what is left of a text is known."""

from __future__ import annotations

import json

from hypothesis import strategies as st
from tests.sampled import sampled

from commonplace.verbs.forgetting.shingles import cutter, shingles_in, shingles_of

WORD = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1, max_size=60
)
TEXTS = st.lists(WORD, min_size=1, max_size=60).map(lambda words: f"x{' '.join(words)}")


def test_a_text_of_30_words_has_three_pieces():
    """Words 1 to 12, 13 to 24, and the last 12."""
    words = [f"w{number:02}" for number in range(1, 31)]
    shingles = shingles_of(" ".join(words))
    assert [
        shingle.is_in(" ".join(words[a:b]))
        for shingle, a, b in zip(shingles, (0, 12, 18), (12, 24, 30), strict=True)
    ] == [True, True, True]
    assert not any(shingle.is_in(" ".join(words[1:12])) for shingle in shingles)


@sampled(25, 100, text=TEXTS, gap=st.sampled_from([" ", "\n", "\n  ", "\r\n", "\t"]))
def test_a_text_is_known_in_every_writing(text, gap):
    """As it is, in JSON of both kinds, and however its lines are broken."""
    shingles = shingles_of(text)
    assert shingles
    broken = gap.join(text.split(" "))
    assert shingles_in(shingles, broken) == set(shingles)
    for written in (broken, json.dumps({"text": broken}), json.dumps([broken], ensure_ascii=False)):
        assert all(shingle.is_in_bytes(b"\0" + written.encode() + b"\0") for shingle in shingles)


@sampled(
    25, 100, words=st.lists(st.sampled_from("abcdefgh"), min_size=23, max_size=80), data=st.data()
)
def test_no_23_words_escape(words, data):
    """Whatever 23 words are left of a text, a shingle lies in them."""
    start = data.draw(st.integers(0, len(words) - 23))
    shingles = shingles_of(" ".join(words))
    left = " ".join(words[start : start + 23]).encode()
    assert any(shingle.is_in_bytes(left) for shingle in shingles)


def test_what_is_written_around_a_text_is_no_part_of_it():
    """Front matter and headings would hide a short text."""
    (shingle,) = shingles_of("---\ntitle: a\n---\n\n## Feelings\n\nMet Ann at the gate.\n")
    assert shingle.is_in("Met Ann at the gate.")
    assert not shingle.is_short


def test_few_words_accuse_nothing():
    """A lone word is looked for as a word, and may be there by chance."""
    (shingle,) = shingles_of("art")
    assert shingle.is_short
    assert shingle.is_in_bytes(b"an art.")
    assert not shingle.is_in_bytes(b"a party")


@sampled(25, 100, text=TEXTS, before=st.lists(WORD, max_size=5), after=st.lists(WORD, max_size=5))
def test_what_is_cut_out_is_gone_and_all_around_it_stays(text, before, after):
    """No shingle that tells is left; what stands before and after is there, byte for byte."""
    shingles = shingles_of(text)
    telling = [each for each in shingles if not each.is_short]
    lead, trail = "\n".join(before).encode(), "\n".join(after).encode()
    cut = cutter(shingles)(lead + b"\n\n== " + text.encode() + b" ==\n\n" + trail)
    assert not any(each.is_in_bytes(cut) for each in telling)
    if len(telling) == len(shingles) and text not in "\n".join([*before, *after]):
        assert cut.startswith(lead)
        assert cut.endswith(trail)


def test_few_words_are_not_cut_out():
    """They may be there by chance."""
    assert cutter(shingles_of("art"))(b"an art.") == b"an art."
