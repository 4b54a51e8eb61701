"""Owns which entries the last import brought, so that they can be taken back together.

Never holds a word of an entry, and never stands in the way of an import.
"""

from __future__ import annotations

import contextlib
import json
import logging
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.core.files import make_folder, remove_file, translated

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_LARGEST = 256 * 1024 * 1024

_log = logging.getLogger(__name__)


class LastImport:
    """The entries of the last import into one storage, by id with their stamps then.

    path: a file of ours, None to keep nothing. storage: told apart from others in the same file.
    """

    def __init__(self, path: Path | None, *, storage: str) -> None:
        self._path = path
        self._storage = storage
        self._begun = False

    def begin(self) -> None:
        """Another import: what it adds takes the place of the last one."""
        self._begun = False

    def add(self, stamps: Mapping[str, str]) -> None:
        """Remember entries that were just added. Never raises: they are added anyway."""
        if self._path is None or not stamps:
            return
        lines = [] if self._begun else [json.dumps({"storage": self._storage})]
        text = "\n".join([*lines, json.dumps(dict(stamps)), ""])
        try:
            make_folder(self._path.parent)
            with translated(self._path), open(self._path, "a" if self._begun else "w") as file:
                file.write(text)
        except CommonplaceError as exc:
            _log.warning("What was imported cannot be undone as one: %s", exc)
        else:
            self._begun = True

    def read(self) -> dict[str, str]:
        """The ids and stamps; none where nothing is remembered of this storage."""
        stamps: dict[str, str] = {}
        if self._path is None:
            return stamps
        with contextlib.suppress(CommonplaceError, ValueError):
            with translated(self._path), open(self._path) as file:
                storage, *batches = [json.loads(line) for line in file.read(_LARGEST).splitlines()]
            if storage == {"storage": self._storage}:
                for batch in batches:
                    stamps |= batch
        return stamps

    def forget(self) -> None:
        """Nothing is to be taken back any more."""
        self._begun = False
        if self._path is not None:
            with contextlib.suppress(CommonplaceError):
                remove_file(self._path)
