"""Owns former texts in files: one for each edit, in the owner's folder, its id the file's name.

Never judges which are kept, or for how long.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from commonplace.core.files import (
    make_folder,
    remove_file,
    remove_leftovers,
    replace_file,
    translated,
)
from commonplace.core.former_texts import journal_of, parse_former, render_former

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from commonplace.core.former_texts import FormerText

FOLDER = "former"
"""The name of the folder, in the owner's."""

_SUFFIX = ".json"


class FormerFiles:
    """Former texts of one owner in a folder; implements `core.former_texts.KeepsFormerTexts`.

    Args:
        folder: Where they lie, and nothing else; made at the first edit.
        prepare: Makes the owner's folder, in which it lies.
        journals: Those whose entries alone are found and dropped; None for all.
    """

    def __init__(
        self,
        folder: Path,
        *,
        prepare: Callable[[], object],
        journals: Collection[str] | None = None,
    ) -> None:
        self.folder = folder
        self._prepare = prepare
        self._journals = journals

    def list_ids(self) -> list[str]:
        """The ids of all, the newest edit first; see the port."""
        with translated(self.folder):
            try:
                names = os.listdir(self.folder)
            except FileNotFoundError:
                return []
        ids = (x.removesuffix(_SUFFIX) for x in names if x.endswith(_SUFFIX))
        return sorted(ids, reverse=True)

    def find(self, ref: str = "") -> list[FormerText]:
        """Those of an entry, or all; see the port."""
        texts, seen = map(self._read, self.list_ids()), self._journals
        asked = [each for each in texts if each is not None and ref in {"", each.ref}]
        return [each for each in asked if seen is None or journal_of(each.ref) in seen]

    def write(self, former: FormerText) -> None:
        """Keep one, in place of the one of the same edit; see the port."""
        self._prepare()
        make_folder(self.folder)
        replace_file(self.path(former.id), render_former(former))

    def remove(self, ids: Sequence[str]) -> None:
        """Erase those that are there; see the port."""
        for each in ids:
            remove_file(self.path(each))

    def drop(self, refs: Sequence[str]) -> None:
        """Erase all of these entries, and what killed edits left; see the port."""
        remove_leftovers(self.folder)
        self.remove([each.id for each in self.find() if each.ref in refs])

    def path(self, of: str) -> Path:
        """The file of an id."""
        return self.folder / f"{of}{_SUFFIX}"

    def _read(self, of: str) -> FormerText | None:
        """The former text in a file; None where the file is gone, or was not written by us."""
        with suppress(OSError):
            return parse_former(self.path(of).read_bytes())
        return None
