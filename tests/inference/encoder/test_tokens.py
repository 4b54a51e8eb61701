"""Token ids without the published padding, and chunks that lose nothing and fit."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import strategies as st
from tests.cases import cases
from tests.inference.encoder.small_models import (
    VOCABULARY,
    write_tokenizer,
    write_unspaced_tokenizer,
)
from tests.sampled import sampled
from tokenizers import Tokenizer

from commonplace.inference.encoder.tokens import OVERLAP, Tokens

LIMIT = 256


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The file of the small WordPiece tokenizer, which pads to 32 and cuts at 16."""
    path = tmp_path_factory.mktemp("tokens") / "tokenizer.json"
    write_tokenizer(path)
    return path


@pytest.fixture(scope="module")
def tokens(published):
    """The small WordPiece tokenizer."""
    return Tokens(published, max_tokens=512)


@pytest.fixture(scope="module")
def unspaced(tmp_path_factory):
    """The small tokenizer without word ends."""
    path = tmp_path_factory.mktemp("tokens") / "tokenizer.json"
    write_unspaced_tokenizer(path)
    return Tokens(path, max_tokens=512)


def assert_whole(tokens, text, spans):
    """Every character that is not space lies in a chunk, and no chunk has too many tokens."""
    covered = set()
    for start, end in spans:
        assert 0 <= start < end <= len(text)
        assert tokens.count(text[start:end]) + tokens.special <= LIMIT
        covered.update(range(start, end))
    assert all(n in covered for n, character in enumerate(text) if not character.isspace())
    assert list(spans) == sorted(spans)


def test_padding_and_truncation_of_the_file_are_undone(tokens):
    """A short text costs its own tokens, and one over 16 is not cut there."""
    cls, sep = VOCABULARY.index("[CLS]"), VOCABULARY.index("[SEP]")

    assert tokens.ids("the sea") == [cls, VOCABULARY.index("the"), VOCABULARY.index("sea"), sep]
    assert len(tokens.ids("sea " * 100)) == 102
    assert tokens.ids("") == [cls, sep]


@cases(
    "text",
    [
        "the sea is blue " * 40_000,
        "sea" + " " * 60_000 + "blue " * 600,
        "zqx" * 150 + " sea" * 9000,
    ],
)
def test_a_long_text_is_cut_at_the_maximum(tokens, published, text):
    """Looking at the front alone gives the very ids of the whole text."""
    library = Tokenizer.from_file(str(published))
    library.no_padding()
    library.no_truncation()
    whole = library.encode(text, add_special_tokens=False).ids

    assert tokens.ids(text)[1:-1] == whole[:510]
    assert len(tokens.ids(text)) == 512


def test_a_short_text_is_one_chunk(tokens):
    """The span is the whole text, space at its ends included."""
    assert tokens.split("  the sea\n", limit=LIMIT) == ((0, 10),)


@cases("text", ["", " ", "\n\t \u3000"])
def test_a_blank_text_has_no_chunk(tokens, text):
    """Nothing to encode."""
    assert tokens.split(text, limit=LIMIT) == ()


def test_neighbouring_chunks_share_their_seam(tokens):
    """Each chunk begins with the last 48 tokens of the one before, at a word's start."""
    text = "sea blue harbour " * 300

    spans = tokens.split(text, limit=LIMIT)

    assert_whole(tokens, text, spans)
    assert len(spans) == 5  # 254 tokens, then 206 new ones each: 254 + 4 * 206 >= 900
    for (_, end), (start, _) in pairwise(spans):
        assert tokens.count(text[start:end]) == OVERLAP
        assert text[start - 1] == " "


@cases(
    "text",
    [
        "x" * 5000,
        "日本語" * 700,
        "a-b_c/d=" * 900,
        "\u200b" * 40_000,
        "sea" + "\u0301" * 40_000 + " blue",
        ("q" * 99 + " ") * 50,
        "한국어 " * 400,
        "[SEP] [CLS] " * 300,
        "🎉" * 1000,
        "sea\r\n" * 900,
    ],
)
def test_odd_texts_are_split_whole(tokens, unspaced, text):
    """Long words, no spaces, nothing but marks that no token keeps: all covered, all in bounds."""
    for tokenizer in (tokens, unspaced):
        assert_whole(tokenizer, text, tokenizer.split(text, limit=LIMIT))


@sampled(
    20,
    60,
    parts=st.lists(
        st.one_of(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
            st.sampled_from(["sea ", "日本", "\n\n", "q" * 120, "\u0301", "ab" * 60]),
        ),
        max_size=30,
    ),
    times=st.integers(1, 12),
)
def test_any_text_is_split_whole(tokens, unspaced, parts, times):
    """A law: chunks cover every character that is not space, in order, within the limit."""
    text = "".join(parts) * times

    for tokenizer in (tokens, unspaced):
        assert_whole(tokenizer, text, tokenizer.split(text, limit=LIMIT))
        spans = tokenizer.split(text, limit=LIMIT)
        for most in range(1, len(spans) + 2):
            assert tokenizer.split(text, limit=LIMIT, most=most) == spans[:most]


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="Only Linux tells the peak of one process."
)
def test_megabytes_are_split_in_little_memory(tmp_path):
    """The text is tokenised in pieces: the process grows by the spans, not by the tokens.

    Tokenised as one, three times as much takes 470 MB.
    """
    write_tokenizer(tmp_path / "tokenizer.json")
    code = """if True:
        import sys
        from itertools import pairwise
        from pathlib import Path
        from commonplace.inference.encoder.tokens import Tokens

        def peak_kb():
            status = Path("/proc/self/status").read_text().split()
            return int(status[status.index("VmHWM:") + 1])

        tokens = Tokens(Path(sys.argv[1]), max_tokens=512)
        text = "the sea is blue and a harbour lies far away " * 23_000
        tokens.split(text[:100_000], limit=256)
        before = peak_kb()
        spans = tokens.split(text, limit=256)
        assert len(tokens.ids(text)) == 512
        assert all(late < end for (_, end), (late, _) in pairwise(spans))
        assert spans[0][0] == 0 and not text[spans[-1][1]:].strip()
        print(peak_kb() - before)
    """

    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "tokenizer.json")],
        capture_output=True,
        text=True,
        check=True,
    )

    assert int(done.stdout) < 20_000
