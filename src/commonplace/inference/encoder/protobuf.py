"""Owns the little of protobuf that weights want: the fields of a message, where each lies.

Never knows what a field means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_MORE = 0x80  # set on every byte of a varint but its last


class Field(NamedTuple):
    """A field: its number, and where it begins, its value begins (behind the length) and ends.

    nested: whether the value has a length of its own: a text, bytes, or a message.
    """

    number: int
    nested: bool
    begins: int
    start: int
    end: int


def fields(message: bytes) -> Iterator[Field]:
    """The fields of a message in order. Raises IndexError where it is cut off."""
    at = 0
    while at < len(message):
        begins = at
        key, at = parse_varint(message, at)
        nested = False
        start = at
        match key & 7:
            case 0:
                _, at = parse_varint(message, at)
            case 1:
                at += 8
            case 5:
                at += 4
            case _:
                length, start = parse_varint(message, at)
                at, nested = start + length, True
        if at > len(message):
            raise IndexError(at)
        yield Field(key >> 3, nested, begins, start, at)


def parse_varint(message: bytes, at: int) -> tuple[int, int]:
    """The number that begins there, and where it ends. Raises IndexError where it does not."""
    number = shift = 0
    while True:
        byte = message[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < _MORE:
            return number, at
        shift += 7


def render_varint(number: int) -> bytes:
    """A number as a varint."""
    out = bytearray()
    while number >= _MORE:
        out.append(number & 0x7F | _MORE)
        number >>= 7
    return bytes(out) + bytes([number])
