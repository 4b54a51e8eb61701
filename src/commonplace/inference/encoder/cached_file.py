"""Owns one weight file of the cache: where it grows, and its final name once it is right.

Never gives a file its final name before its hash is checked.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from commonplace.core.errors import Invalid
from commonplace.core.plain_files import rename_over
from commonplace.inference.encoder.hashes import file_sha256

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from commonplace.inference.encoder.profiles import WeightFile

Progress: TypeAlias = "Callable[[str, int, int], None]"
"""Called with a file's name, the bytes here, and the bytes in all (0 while unknown)."""


class CachedFile(Struct, frozen=True, kw_only=True):
    """Where one file ends up, and where it grows until it is whole."""

    file: WeightFile
    folder: Path
    revision: str

    @property
    def final(self) -> Path:
        """Where it lies once it is whole and right."""
        return self.folder / self.file.paths[0]

    @property
    def part(self) -> Path:
        """Where it grows."""
        # Named by its revision: a download of another one is not continued.
        return self.final.with_name(f".{self.final.name}.{self.revision[:8]}.part")

    def is_right(self) -> bool:
        """Whether the final file is there with the published hash; without one, there at all."""
        if not self.final.is_file():
            return False
        return self.file.sha256 in (None, file_sha256(self.final))

    def keep(self) -> None:
        """Give the whole file its final name, durably. Raises Invalid if it is the wrong one."""
        if self.file.sha256 not in (None, file_sha256(self.part)):
            self.part.unlink()
            raise Invalid(
                f"What came as {self.file.paths[0]} is not the published file: its sha256 differs.",
                hint="Run it again; if it happens again, do not trust the source.",
            )
        with self.part.open("rb+") as file:
            os.fsync(file.fileno())
        rename_over(self.part, self.final)
