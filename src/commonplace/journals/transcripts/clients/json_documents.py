"""Reading JSON documents that may be huge or hostile: one value of a list at a time, zip or not.

Never holds more than one value and its text, and never unpacks what swells beyond all measure.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import zlib
from contextlib import contextmanager
from typing import cast

from commonplace.core.errors import Invalid
from commonplace.core.regular_files import open_regular
from commonplace.journals.transcripts.clients.original import BROKEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    import zipfile
    from collections.abc import Iterable, Iterator
    from typing import IO

    from commonplace.journals.transcripts.clients.original import Skipped

LARGEST_VALUE = 16 * 1024 * 1024
"""The most characters of one value, as of one conversation of an export."""

_PIECE = 256 * 1024
_SPACE = re.compile(r"[\s,]*")
_MOST_SWELLING = 200
_HARMLESS = 64 * 1024 * 1024
_MOST_UNPACKED = 8 * 1024**3
_MEMBERS = re.compile(r"(?:.*/)?conversations(?:-\d{1,4})?\.json")


def exported_values(path: str) -> Iterator[object | Skipped]:
    """The values of an export's lists, one after another: of a zip archive, or of a JSON file.

    Raises:
        OSError: It cannot be read.
        Invalid: The archive is encrypted, damaged, or holds no conversations.
    """
    with open_regular(path) as file:
        is_zip = file.read(2) == b"PK"
        file.seek(0)
        if not is_zip:
            yield from list_values(file)
            return
        import zipfile  # 2 ms, for exports alone

        with _explained(path), zipfile.ZipFile(file) as archive:
            members = [x for x in archive.infolist() if _MEMBERS.fullmatch(x.filename)]
            if not members:
                raise Invalid(
                    "The archive {place} holds no conversations.json.",
                    hint="Name the archive that the export's mail led to.",
                    place=path,
                )
            _check_swelling(path, os.fstat(file.fileno()).st_size, members)
            for member in sorted(members, key=lambda one: one.filename):
                with archive.open(member) as unpacked:
                    yield from list_values(unpacked)


def _check_swelling(path: str, size: int, members: Iterable[zipfile.ZipInfo]) -> None:
    """Raise Invalid where more would be unpacked than words can be packed into so little."""
    # No member is read beyond the size it declares.
    unpacked = sum(member.file_size for member in members)
    if unpacked > min(max(size * _MOST_SWELLING, _HARMLESS), _MOST_UNPACKED):
        raise Invalid(
            f"The archive {{place}} would unpack {size:,} bytes into {unpacked:,}.",
            hint="Export it again, or unpack it yourself and name its conversations.json.",
            place=path,
        )


@contextmanager
def _explained(path: str) -> Iterator[None]:
    from zipfile import BadZipFile

    try:
        yield
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as exc:
        raise Invalid(
            "The archive {place} is damaged or encrypted.", hint="Export it again.", place=path
        ) from exc


def list_values(file: IO[bytes]) -> Iterator[object | Skipped]:
    """The values of a list of JSON, or the one value that a file holds, read in pieces.

    A value that is too long or broken is counted as such, and ends the file: where the next one
    begins cannot be known.
    """
    text = _ReadAhead(file)
    text.skip()
    is_list = text.peek() == "["
    if is_list:
        text.at += 1
    while True:
        text.skip()
        if not text.peek() or (is_list and text.peek() == "]"):
            if is_list and not text.peek():
                yield BROKEN
            return
        value = text.value()
        yield value
        if value is BROKEN or not is_list:
            return


class _ReadAhead:
    """The text of a file, as far as it has been read and is still needed."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._decode = json.JSONDecoder().raw_decode
        self.text = ""
        self.at = 0

    def _read(self, size: int) -> bool:
        """Read on; whether there was anything."""
        piece = self._file.read(size)
        self.text = self.text[self.at :] + self._decoder.decode(piece, final=not piece)
        self.at = 0
        return bool(piece)

    def peek(self) -> str:
        """The next sign; empty at the end."""
        while self.at >= len(self.text):
            if not self._read(_PIECE):
                break
        return self.text[self.at : self.at + 1]

    def skip(self) -> None:
        """Go past white space and commas."""
        while self.peek():
            self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]  # matches nothing, too
            if self.at < len(self.text):
                return

    def value(self) -> object | Skipped:
        """The value that begins here."""
        size = _PIECE
        while len(self.text) - self.at <= LARGEST_VALUE:
            try:
                value, end = self._decode(self.text, self.at)
            except RecursionError:
                return BROKEN
            except ValueError:
                # Twice as much each time: what is read in vain stays a part of the whole.
                size = max(size, len(self.text))
                if not self._read(size):
                    return BROKEN
                continue
            # A number could go on behind what has been read.
            if end < len(self.text) or not self._read(size):
                self.at = end
                return cast("object", value)
        return BROKEN
