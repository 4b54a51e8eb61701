"""Relocates the notes of projects in a backup to where their roots lie here.

Reads and writes no file; what a backup says of a root is hostile until its project is looked at.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.app.wiring.private import NOTES
from commonplace.core.time_book import EXPIRING, REPLACED
from commonplace.journals.private.copy_record import RECORD, parse_record, render_record
from commonplace.journals.private.places import SCHEME, SUFFIX
from commonplace.journals.private.portable import relocated_text
from commonplace.journals.private.roots import project_digest
from commonplace.verbs.backup.relocation import LARGEST_REGISTER

if TYPE_CHECKING:
    from commonplace.verbs.backup.manifest import FileEntry
    from commonplace.verbs.backup.reading import Backup

OF_OWNER = r"home/users/[^/]+/(?:served/)?"
COPIES = re.compile(rf"({OF_OWNER}){NOTES}/([0-9a-f]{{8}})/{re.escape(RECORD)}")
"""The record of a copy of a project's notes: whose, and the digest of its root."""


class _RelocatedNotes:
    """The files of a backup that have another name or content here, by their former names."""

    def __init__(self, backup: Backup) -> None:
        self._backup = backup
        self._files = {each.name: each for each in backup.manifest.files}
        self._contents: dict[str, bytes] = {}
        self._names: dict[str, str] = {}

    def relocate_all(self) -> Backup:
        """The backup with every copy relocated, and named as one that was restored."""
        for each in self._backup.manifest.files:
            found = COPIES.fullmatch(each.name)
            if found and each.size <= LARGEST_REGISTER:
                record = parse_record(self._read(each))
                record.restored, record.days = True, {}
                self._contents[each.name] = render_record(record)
                digest = project_digest(Path(record.path)) if record.path else found[2]
                if digest != found[2]:
                    self._rename(found[1], found[2], digest)
        manifest = self._backup.manifest
        files = [self._entry(each) for each in manifest.files]
        return self._backup.altered(
            replace(manifest, files=files),
            {self._names.get(name, name): x for name, x in self._contents.items()},
            {new: old for old, new in self._names.items()},
        )

    def _rename(self, owner: str, old: str, new: str) -> None:
        before, after = f"{owner}{NOTES}/{old}/", f"{owner}{NOTES}/{new}/"
        if any(name.startswith(after) for name in self._files):
            return  # a home and the link to it may have named the same place
        scopes = f"project@{old}", f"project@{new}"
        for name, each in self._files.items():
            if not name.startswith(before):
                continue
            self._names[name] = after + name.removeprefix(before)
            if name.endswith(SUFFIX) and each.size <= LARGEST_REGISTER:
                text = self._read(each).decode("utf-8", "surrogateescape")
                relocated = relocated_text(text, *scopes)
                if relocated != text:
                    self._contents[name] = relocated.encode("utf-8", "surrogateescape")
        for folder in (EXPIRING, REPLACED):
            book = self._files.get(f"{owner}{folder}/entries.json")
            if book is not None and book.size <= LARGEST_REGISTER:
                self._relocate_book(book, *scopes)

    def _relocate_book(self, book: FileEntry, old: str, new: str) -> None:
        """Give the times in a book to the refs that their entries have here."""
        content = self._contents.get(book.name) or self._read(book)
        try:
            times = {str(ref): at for ref, at in json.loads(content).items()}
        except (ValueError, AttributeError, RecursionError):
            return  # its reader says so
        begins = f"{SCHEME}{old}/"
        relocated = {
            f"{SCHEME}{new}/{ref.removeprefix(begins)}" if ref.startswith(begins) else ref: at
            for ref, at in times.items()
        }
        if relocated != times:
            self._contents[book.name] = json.dumps(relocated, indent=0).encode()

    def _read(self, each: FileEntry) -> bytes:
        return b"".join(self._backup.chunks(each))

    def _entry(self, each: FileEntry) -> FileEntry:
        name = self._names.get(each.name, each.name)
        content = self._contents.get(each.name)
        if content is None:
            return replace(each, name=name)
        digest = hashlib.sha256(content).hexdigest()
        return replace(each, name=name, size=len(content), sha256=digest)


def relocate_notes(backup: Backup) -> Backup:
    """A backup as it would be, had the notes of its projects been copied and restored here.

    Args:
        backup: Its sizes and hashes were checked, and the roots in it are those of this machine.
    """
    return _RelocatedNotes(backup).relocate_all()
