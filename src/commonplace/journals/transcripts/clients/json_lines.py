"""Reading lines of JSON from a file that may be huge, hostile, or still being written.

Never holds a line longer than a bound, and never takes a line for whole before its line break, or
before the brace that closes it at the end of a file.
"""

from __future__ import annotations

import json

from commonplace.core.plain_files import open_regular
from commonplace.journals.transcripts.clients.parsing import BROKEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from commonplace.journals.transcripts.clients.parsing import Skipped

    class Seekable(Protocol):
        """What bytes are read from, from any place on."""

        def read(self, size: int, /) -> bytes:
            """The next bytes, at most so many; none at the end."""

        def seek(self, at: int, /) -> object:
            """Go to a place."""


LONGEST_LINE = 16 * 1024 * 1024
"""The most bytes of one line; a longer one is skipped, and counted as broken."""

_CHUNK = 64 * 1024  # a hook has no megabytes to spare


def json_lines(file: Seekable, *, start: int = 0) -> Iterator[tuple[object | Skipped, int]]:
    """The value of each whole line from a place on, and where the next line begins."""
    file.seek(start)
    rest: list[bytes] = []  # the chunks of a line that goes on
    at, held, is_skipping = start, 0, False
    while chunk := file.read(_CHUNK):
        *lines, last = chunk.split(b"\n")
        for line in lines:
            whole = b"".join([*rest, line])
            at += len(line) + 1
            rest, held = [], 0
            if is_skipping:
                is_skipping = False
                yield BROKEN, at
            elif whole.strip():
                yield parse_line(whole), at
        at += len(last)
        held += len(last)
        if held > LONGEST_LINE:
            rest, is_skipping = [], True
        elif not is_skipping:
            rest.append(last)
    # The beginning of an object is never one: a last line without its break is whole if it is one.
    if isinstance(value := parse_line(b"".join(rest)), dict):
        yield value, at


def lines_before(path: str, end: int) -> Iterator[object | Skipped]:
    """The values of a file's lines that end before a place, the last first. Raises: OSError."""
    size, rest = _CHUNK, b""
    with open_regular(path) as file:
        while end > 0:
            start = max(0, end - size)
            file.seek(start)
            rest, *lines = (file.read(end - start) + rest).split(b"\n")
            yield from (parse_line(line) for line in reversed(lines) if line.strip())
            end, size = start, size * 2  # else a long line would be joined again and again
    if rest.strip():
        yield parse_line(rest)


def parse_line(line: bytes) -> object | Skipped:
    """The value of a line; broken where it is not JSON in UTF-8, or nested beyond measure."""
    try:
        value: object = json.loads(line.decode())
    except (ValueError, RecursionError):
        return BROKEN
    return value
