"""Opens a file of lines for reading, packed by zstd or not: Codex packs what is a week old.

Never holds more than a chunk of it and a window of 32 MB, and never unpacks what swells beyond all
measure.
"""

from __future__ import annotations

import os
import sys

from commonplace.core.archive import most_unpacked
from commonplace.core.errors import Invalid
from commonplace.core.plain_files import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any, Self

PACKED = ".zst"
"""How the name of a packed file ends, behind that of the file it was."""

_LARGEST_WINDOW_LOG = 25
_CHUNK = 64 * 1024


def is_packed(path: str) -> bool:
    """Whether a file is packed, by its name."""
    return path.endswith(PACKED)


def plain_name(path: str) -> str:
    """The path that a file has, or had, before it is packed."""
    return path.removesuffix(PACKED)


class LineFile:
    """A file of lines, open for reading from any place on. Raises: OSError, Invalid.

    Attributes:
        state: Of the file as it lies on the disk.
        is_packed: Whether it is packed.
        failure: Why the rest of a packed file cannot be read, once that is found.
    """

    def __init__(self, path: str) -> None:
        self.is_packed = is_packed(path)
        self.failure: Invalid | None = None
        self._path = path
        self._raw = open_regular(path)
        self.state = os.fstat(self._raw.fileno())
        self._most = most_unpacked(self.state.st_size)
        self._at = 0
        self._lines: IO[bytes] = self._raw
        if self.is_packed:
            try:
                zstd = _zstd(path)
                options = {zstd.DecompressionParameter.window_log_max: _LARGEST_WINDOW_LOG}
                self._lines = zstd.ZstdFile(self._raw, options=options)
            except BaseException:
                self._raw.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._raw.close()

    def read(self, size: int) -> bytes:
        """The next bytes, at most so many; none at the end, and where `failure` says why."""
        if not self.is_packed:
            return self._lines.read(size)
        if self.failure:
            return b""
        try:
            chunk = self._lines.read(size)
        except (EOFError, _zstd(self._path).ZstdError):
            chunk = b""
            self.failure = Invalid(
                "The packed session {place} is damaged; what stands before the damage is taken.",
                hint="Put the file back from a backup, or remove it.",
                place=self._path,
            )
        self._at += len(chunk)
        if self._at > self._most:
            self.failure = Invalid(
                f"The packed session {{place}} unpacks {self.state.st_size:,} bytes into more than "
                f"{self._most:,}; what stands before is taken.",
                hint="If it is what it should be, unpack it yourself with `zstd -d`.",
                place=self._path,
            )
            return b""
        return chunk

    def seek(self, at: int) -> bool:
        """Go to a place, if the file reaches so far; whether it does."""
        if not self.is_packed:
            self._lines.seek(at)
            return at <= self.state.st_size
        if at < self._at:
            self._lines.seek(0)
            self._at = 0
        while self._at < at and self.read(min(at - self._at, _CHUNK)):
            continue
        return self._at == at


def _zstd(path: str) -> Any:
    """The module that unpacks: of the standard library from Python 3.14 on."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError as exc:
        raise Invalid(
            "The session {place} is packed, and what unpacks it is not installed.",
            hint="Run `pip install backports.zstd`, then import again.",
            place=path,
        ) from exc
    return zstd
