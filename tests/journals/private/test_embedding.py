"""`.embedding` files come out as JSON.stringify prints them, and none that comes in is believed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import cases

from commonplace.journals.private.embedding import (
    Embedding,
    find_fault,
    float32,
    parse_embedding,
    render_embedding,
)
from commonplace.journals.private.format import decode, reference_text


def _vector(*first: float) -> tuple[float, ...]:
    return float32([*first, *([0.25] * (384 - len(first)))])


def _embedding(vector: tuple[float, ...], text: str = "x") -> Embedding:
    return Embedding(vector=vector, text=text, sections=(), timestamp=1, path="/a.md")


@pytest.mark.design("000-12", "000-28")
def test_golden_files_come_back_byte_for_byte(golden):
    """Each `.embedding` of the reference, parsed and rendered, is itself; its text is from its .md."""
    files = sorted(golden.rglob("*.embedding"))
    assert len(files) == 11
    for file in files:
        content = file.read_bytes()
        found, reason = parse_embedding(content)
        assert reason == ""
        assert found is not None
        assert render_embedding(found).encode() == content
        entry = decode(file.with_suffix(".md").read_bytes())
        assert reference_text(entry) == (found.text, found.sections)


@cases(
    ("number", "printed"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (-1.0, "-1"),
        (0.5, "0.5"),
        (0.1, "0.10000000149011612"),
        (2.0**-14, "0.00006103515625"),
        (2.0**-20, "9.5367431640625e-7"),
        (-(2.0**-30), "-9.313225746154785e-10"),
        (2.0**-19, "0.0000019073486328125"),
        (2.0**60, "1152921504606847000"),
        (2.0**70, "1.1805916207174113e+21"),
    ],
)
def test_numbers_are_printed_as_ecmascript_does(number, printed):
    """Plain from 1e-6 up to 1e21, exponents without padding outside, no `.0`.

    Source: ECMA-262, Number::toString; each line as node prints Math.fround of the number.
    """
    line = render_embedding(_embedding(_vector(number))).split("\n")[2]
    assert line == f"    {printed},"


@pytest.mark.design("000-28", "000-32")
def test_a_whole_file_looks_as_it_should():
    """Keys in the reference's order, two spaces, a section a line, no newline at the end."""
    rendered = render_embedding(
        Embedding(
            vector=_vector(),
            text='a "b"\n\x07é🎉\ud83d',
            sections=("A", "B"),
            timestamp=1795303185015,
            path="/home/ada/x.md",
        )
    )
    numbers = ",\n".join(["    0.25"] * 384)
    assert rendered == (
        f'{{\n  "embedding": [\n{numbers}\n  ],\n'
        '  "text": "a \\"b\\"\\n\\u0007é🎉\ufffd",\n'
        '  "sections": [\n    "A",\n    "B"\n  ],\n'
        '  "timestamp": 1795303185015,\n  "path": "/home/ada/x.md"\n}'
    )


@settings(deadline=None)  # a busy machine is no fault of the text
@given(st.lists(st.floats(-(2.0**127), 2.0**127, width=32), max_size=8))
def test_numbers_come_back_as_the_same_float32(numbers):
    """Whatever float32 is rendered, the same float32 is parsed, but for the sign of zero."""
    vector = _vector(*numbers)
    found, reason = parse_embedding(render_embedding(_embedding(vector)).encode())
    assert found is not None, reason
    assert np.array_equal(np.array(found.vector, np.float32), np.array(vector, np.float32))


def test_another_tool_s_layout_is_read():
    """One line, spaces before colons, capital exponents, an unknown key, a relative path."""
    numbers = ", ".join(["8.722614E-6"] * 384)
    content = (
        f'{{ "embedding" : [ {numbers} ], "text" : "calm", "sections" : [ "Feelings" ], '
        '"timestamp" : 1736942267000, "path" : "2025-01-15/11-57-47-000.md", "model" : "x" }'
    )
    found, _ = parse_embedding(content.encode())
    assert found is not None
    assert (found.text, found.sections, found.timestamp) == ("calm", ("Feelings",), 1736942267000)
    assert found.vector[0] == float(np.float32(8.722614e-6))


def _file(embedding: object, **other: object) -> bytes:
    return json.dumps({"embedding": embedding, "text": "x", **other}).encode()


@cases(
    "content",
    [
        b"\xef\xbb\xbf" + _file([0.1] * 384),
        _file([0.1] * 384, text="half of a pair: \ud83d"),
        _file([1] * 384),
    ],
)
def test_json_that_stricter_readers_refuse_is_read(content):
    """A byte order mark, and half of a surrogate pair in a text."""
    found, reason = parse_embedding(content)
    assert found is not None
    assert not reason


@pytest.mark.design("000-67")
@cases(
    ("content", "reason"),
    [
        (b"", "is not JSON"),
        (b'{"embedding": [0.1, 0.2', "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[1, 2]", "is not a JSON object"),
        (b"{}", "holds no vector"),
        (_file("0.1"), "holds no vector"),
        (_file([0.1] * 383), "holds a vector of 383 numbers instead of 384"),
        (_file([float("nan")] * 384), "is not JSON"),
        (_file([float("inf")] * 384), "is not JSON"),
        (_file([1e39] * 384), "holds a vector with something that is not a number"),
        (
            _file([0.1] * 384).replace(b"0.1", b"1e999", 1),
            "holds a vector with something that is not a number",
        ),
        (_file([10**400] * 384), "holds a vector with something that is not a number"),
        (_file([None] * 384), "holds a vector with something that is not a number"),
        (_file([True] * 384), "holds a vector with something that is not a number"),
        (_file([0.1] * 384, text=None), "holds no text"),
    ],
)
def test_garbage_is_told_and_not_believed(content, reason):
    """None and the reason; nothing raises."""
    assert parse_embedding(content) == (None, reason)
    assert find_fault(content) == reason


@settings(deadline=None)  # a busy machine is no fault of the bit
@given(st.data())
def test_a_flipped_bit_is_judged_as_by_parsing(data):
    """Of a file with one altered bit the fault is that for which it cannot be parsed, if any is."""
    whole = render_embedding(_embedding(_vector(2.0**-20, -0.0625, 2.0**60), text="Größe")).encode()
    place = data.draw(st.integers(0, 8 * len(whole) - 1))
    content = bytearray(whole)
    content[place // 8] ^= 1 << place % 8
    assert find_fault(bytes(content)) == parse_embedding(bytes(content))[1]


@cases(
    ("key", "value"),
    [("more", b"1"), ("more", b'"\xff"'), ("sections", b"5"), ("path", b'"\xff"'), ("text", b"7")],
)
def test_other_keys_are_judged_as_by_parsing(key, value):
    """An unknown key is passed over, a text that is none is not, and no byte is let through."""
    content = _file([0.1] * 384)[:-1] + f', "{key}": '.encode() + value + b"}"
    assert find_fault(content) == parse_embedding(content)[1]


@settings(deadline=None)  # a busy machine is no fault of the text
@given(st.binary(max_size=200))
def test_no_bytes_raise(content):
    """Whatever lies in the file, parsing answers."""
    found, reason = parse_embedding(content)
    assert (found is None) == bool(reason)
