"""Reads files by a reader as an import does."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from commonplace.core.importer import ForeignEntry, NotTaken
from commonplace.verbs.imports.programs import load_importer

if TYPE_CHECKING:
    from pathlib import Path

BERLIN = ZoneInfo("Europe/Berlin")


def read(program: str, path: Path, zone=UTC):
    """What is taken, and what is not."""
    found = list(load_importer(program).read(str(path), zone=zone))
    taken = [each for each in found if isinstance(each, ForeignEntry)]
    return taken, [each for each in found if isinstance(each, NotTaken)]


def written(path: Path, text: str | bytes) -> Path:
    """A file of these contents."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path
