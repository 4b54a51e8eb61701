"""A SentencePiece file is read as it is written, and a broken one is named, never half read."""

from __future__ import annotations

import struct

import pytest
from msgspec.structs import replace
from tests.inference.encoder.small_models import PREFIXED, small_weights, write_published

from commonplace.core.errors import Invalid
from commonplace.inference.encoder.encoder import load_encoder
from commonplace.inference.encoder.profiles import WeightFile
from commonplace.inference.encoder.protobuf import render_varint
from commonplace.inference.encoder.sentencepiece import read_tokenizer
from commonplace.inference.encoder.tokens import Tokens

PIECES = {"<unk>": 0.0, "<s>": 0.0, "</s>": 0.0, "▁": -3.0, "▁die": -4.0, "▁Katze": -5.0}
PIECES |= {"▁schläft": -6.0, "猫": -4.0, "が": -4.0, "寝": -4.5, "a": -7.0}


def a_field(number: int, value: bytes) -> bytes:
    return render_varint(number << 3 | 2) + render_varint(len(value)) + value


def a_model(pieces=PIECES) -> bytes:
    """A model as SentencePiece writes one: pieces, what it was trained with, its normaliser."""
    kinds = {"<unk>": b"\x18\x02", "<s>": b"\x18\x03", "</s>": b"\x18\x03"}
    made = b"".join(
        a_field(
            1, a_field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + kinds.get(text, b"")
        )
        for text, score in pieces.items()
    )
    return made + a_field(2, b"\x20\x0b") + a_field(3, a_field(1, b"identity") + b"\x18\x01")


@pytest.fixture
def path(tmp_path):
    """Where the model lies."""
    return tmp_path / "sp.model"


def test_ids_are_the_places_of_the_pieces(path):
    """Between beginning and end; space is folded, and what no piece has is unknown."""
    path.write_bytes(a_model())
    tokens = Tokens(path, max_tokens=16)
    assert tokens.ids("die  Katze schläft ") == [1, 4, 5, 6, 2]
    assert tokens.ids("猫が寝") == [1, 3, 7, 8, 9, 2]
    assert tokens.ids("die Hund") == [1, 4, 3, 0, 2]
    assert tokens.special == 2


def test_a_long_text_is_cut_and_split_by_its_tokens(path):
    """As with any tokenizer: at the most that is allowed, in chunks that hold each character."""
    path.write_bytes(a_model())
    text = "die Katze schläft " * 40
    tokens = Tokens(path, max_tokens=16)
    assert len(tokens.ids(text)) == 16
    chunks = tokens.split(text, limit=32)
    assert all(tokens.count(text[start:end]) <= 30 for start, end in chunks)
    assert (chunks[0][0], chunks[-1][1]) == (0, len(text.rstrip()))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00",
        b'{"version": "1.0", "model": {}}',
        a_model()[:40],
        a_model()[:-3],
        a_model({"a": -1.0, "b": -2.0}),
        a_field(1, a_field(1, b"\xff\xfe") + b"\x15\0\0\0\0"),
        a_field(1, b"\x15\0\0\0\0" + a_field(1, b"a")),
        a_model() + a_field(3, a_field(2, b"\xff" * 9)),
    ],
    ids=lambda content: repr(content[:12]),
)
def test_a_broken_file_is_refused(content, path, tmp_path):
    """As an error that names the folder and the next step, whatever is wrong with it."""
    folder = write_published(tmp_path / "published")
    (folder / "sp.model").write_bytes(content)
    profile = replace(PREFIXED, tokenizer=WeightFile(paths=("sp.model",)))
    with pytest.raises(Invalid, match="no tokenizer can be read") as caught:
        load_encoder(small_weights(folder, tmp_path, profile))
    assert caught.value.place == str(folder)
    assert caught.value.hint == "Run `commonplace model fetch`."


def test_what_is_no_model_is_a_value_error():
    """Of each beginning of a file, however it was cut."""
    whole = a_model()
    for length in range(len(whole)):
        with pytest.raises(ValueError):
            read_tokenizer(whole[:length])
