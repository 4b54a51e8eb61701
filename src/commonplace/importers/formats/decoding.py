"""Bytes of other programs as text: UTF-8, UTF-16, and what can only be guessed to be Latin-1.

Never loses a byte in silence: a guess is named, and what is no text is refused.
"""

from __future__ import annotations

import codecs
import io
from contextlib import contextmanager
from typing import TYPE_CHECKING

from commonplace.core.files import regular_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from _typeshed import WriteableBuffer


GUESSED = "Latin-1"
"""What bytes are read as that are not UTF-8: as Windows writes it, with its quotes and dashes."""

_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LATIN_1 = {
    # `surrogateescape` has a byte that is not UTF-8 stand for itself, from U+DC80 on.
    0xDC00 + byte: bytes((byte,)).decode("cp1252", "ignore") or chr(byte)
    for byte in range(0x80, 0x100)
}
_CHUNK = 64 * 1024


def decoded(content: bytes) -> tuple[str, str]:
    """The text of a whole file, and what its encoding was guessed to be; empty for known.

    Raises:
        ValueError: It is no text.
    """
    if content.startswith(_UTF_16_MARKS):
        return content.decode("utf-16"), ""
    if b"\0" in content:
        # Of UTF-16 without a mark, one byte of two is zero wherever the letters are Latin.
        halves = content[1::2].count(0), content[::2].count(0)
        if min(halves) * 4 > max(halves) or max(halves) * 3 < len(content):
            raise ValueError("zero bytes")
        return content.decode("utf-16-le" if halves[0] > halves[1] else "utf-16-be"), ""
    return from_utf8(content)


def from_utf8(content: bytes) -> tuple[str, str]:
    """The text of a line, or of a file without zero bytes; see `decoded`."""
    text = content.decode("utf-8-sig", "surrogateescape")
    plain = text.translate(_LATIN_1)
    return plain, GUESSED if plain != text else ""


@contextmanager
def opened_as_utf8(path: str) -> Iterator[io.BufferedReader]:
    """A file as UTF-8, from UTF-16 where it begins with its mark. Raises: as `regular_file`."""
    with regular_file(path) as file:
        is_wide = file.read(2) in _UTF_16_MARKS
        file.seek(0)
        yield io.BufferedReader(_FromUtf16(file)) if is_wide else file


class _FromUtf16(io.RawIOBase):
    """UTF-16 that is read as UTF-8, chunk by chunk; what is torn becomes a sign for that."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
        self._rest = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        while not self._rest and not self._ended:
            chunk = self._file.read(_CHUNK)
            self._ended = not chunk
            self._rest = self._decoder.decode(chunk, final=self._ended).encode("utf-8", "replace")
        count = min(len(view), len(self._rest))
        view[:count], self._rest = self._rest[:count], self._rest[count:]
        return count
