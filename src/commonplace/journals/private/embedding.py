"""Owns the `.embedding` file beside an entry, which private-journal-mcp reads and searches.

Never believes one: what it holds is checked, and no vector of it ever enters a search of ours.
"""

from __future__ import annotations

import json
from array import array
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import DecodeError, Meta, Struct
from msgspec.json import Decoder, decode

from commonplace.core.text import well_formed

if TYPE_CHECKING:
    from collections.abc import Iterable

DIMENSIONS = 384
_LARGEST = 3.4e38
MAKER = "minilm-l6-v2:384:"

_OF_NUMBERS = b"0123456789.,-+eE \t\r\n"

# Where ECMAScript's Number::toString turns to exponents.
_JS_SMALLEST_PLAIN = 1e-6
_JS_LARGEST_PLAIN = 1e21


class Embedding(Struct, frozen=True, kw_only=True):
    """What an `.embedding` file holds.

    Attributes:
        vector: 384 float32 values.
        path: Absolute, when written.
    """

    vector: tuple[float, ...]
    text: str
    sections: tuple[str, ...]
    timestamp: int
    path: str


def float32(values: Iterable[float]) -> tuple[float, ...]:
    """The numbers as float32 holds them."""
    return tuple(array("f", values))


def render_embedding(embedding: Embedding) -> str:
    """The file as `JSON.stringify(embedding, null, 2)` prints it, without a newline at the end."""
    # All but a few numbers are printed by ECMAScript as by Python's JSON writer.
    plain = json.dumps(embedding.vector)[1:-1].split(", ")
    numbers = ",\n".join(
        f"    {_render_number(number) if 'e' in shown or shown.endswith('.0') else shown}"
        for number, shown in zip(embedding.vector, plain, strict=True)
    )
    sections = ",\n".join(f"    {_render_string(x)}" for x in embedding.sections)
    return (
        f'{{\n  "embedding": [\n{numbers}\n  ],\n'
        f'  "text": {_render_string(embedding.text)},\n'
        f'  "sections": {f"[{chr(10)}{sections}{chr(10)}  ]" if sections else "[]"},\n'
        f'  "timestamp": {embedding.timestamp},\n'
        f'  "path": {_render_string(embedding.path)}\n}}'
    )


def _render_string(text: str) -> str:
    return json.dumps(well_formed(text), ensure_ascii=False)


def _render_number(number: float) -> str:
    """A number as ECMAScript prints it: Python's shortest digits, other rules for exponents."""
    if number == 0:
        return "0"
    if not _JS_SMALLEST_PLAIN <= abs(number) < _JS_LARGEST_PLAIN:
        digits, _, exponent = repr(number).partition("e")
        if exponent:
            sign = "-" if exponent[0] == "-" else "+"
            return f"{digits.removesuffix('.0')}e{sign}{exponent[1:].lstrip('0')}"
    plain = repr(number)
    if "e" in plain:
        plain = _without_exponent(plain)
    return plain.removesuffix(".0")


def _without_exponent(shortest: str) -> str:
    """Shortest digits with an exponent, as a plain decimal: repr turns to exponents below 1e-4."""
    mantissa, _, exponent = shortest.partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, part = mantissa.removeprefix("-").partition(".")
    shift = int(exponent)
    if shift < 0:
        return f"{sign}0.{'0' * (-shift - 1)}{whole}{part}"
    return f"{sign}{whole}{part.ljust(shift, '0')}"


def parse_embedding(content: bytes) -> tuple[Embedding | None, str]:
    """What the file holds, or None and the reason why it cannot be used; never raises.

    Any layout of JSON is read; unknown keys are passed over.
    """
    found, reason = _usable_fields(content)
    if reason:
        return None, reason
    text, sections, timestamp = found["text"], found.get("sections"), found.get("timestamp")
    named = [x for x in sections if isinstance(x, str)] if isinstance(sections, list) else []
    return Embedding(
        vector=float32(found["embedding"]),
        text=text,
        sections=tuple(named),
        timestamp=timestamp if isinstance(timestamp, int) else 0,
        path=str(found.get("path") or ""),
    ), ""


def _usable_fields(content: bytes) -> tuple[dict[str, Any], str]:
    """The fields of a file, with a vector and a text; or the reason why it cannot be used."""
    try:
        found = _read_json(content)
    except (ValueError, RecursionError):
        return {}, "is not JSON"
    if not isinstance(found, dict):
        return {}, "is not a JSON object"
    if reason := _unusable(found.get("embedding")):
        return {}, reason
    return (found, "") if isinstance(found.get("text"), str) else ({}, "holds no text")


class _Usable(Struct, frozen=True, forbid_unknown_fields=True):
    """A file that can be used and has no key that is not read: decoding it checks each number.

    What is of no use here is read all the same: a flipped bit may lie there.
    """

    embedding: Annotated[
        list[Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST)]],
        Meta(min_length=DIMENSIONS, max_length=DIMENSIONS),
    ]
    text: str
    sections: object = None
    timestamp: object = None
    path: object = None


_USABLE = Decoder(_Usable)


def find_fault(content: bytes) -> str:
    """Why a file cannot be used; empty where it can.

    `doctor` asks this beside each entry: where it can, that takes half of what finding the reason
    does.
    """
    try:
        _USABLE.decode(content)
    except (DecodeError, ValueError, RecursionError):
        return _usable_fields(content)[1]
    return ""


def find_fault_at_a_glance(content: bytes) -> str:
    """As `find_fault`, in half of its time: what looks whole is not parsed."""
    numbers = content.partition(b"[")[2].partition(b"]")[0]
    looks_whole = (
        content.rstrip().endswith(b"}")
        and numbers.count(b",") == DIMENSIONS - 1
        and not numbers.translate(None, _OF_NUMBERS)
    )
    return "" if looks_whole else find_fault(content)


def _unusable(vector: object) -> str:
    if not isinstance(vector, list):
        return "holds no vector"
    if len(vector) != DIMENSIONS:
        return f"holds a vector of {len(vector)} numbers instead of {DIMENSIONS}"
    # No NaN is less than anything.
    fits = {*map(type, vector)} <= {int, float} and all(map(_LARGEST.__ge__, map(abs, vector)))
    return "" if fits else "holds a vector with something that is not a number"


def _read_json(content: bytes) -> object:
    """What a file holds, read in a quarter of the time where it is plain. Raises: ValueError."""
    try:
        return decode(content)
    except (DecodeError, RecursionError):  # it refuses all that the other does, and a little more
        return json.loads(content.decode("utf-8-sig"), parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> float:
    raise ValueError(name)
