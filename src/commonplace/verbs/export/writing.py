"""Writes an export into a temporary folder, then publishes it whole, as a folder or a zip.

Never overwrites anything; the same journals give the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.core.clock import local_date, render_instant, to_local
from commonplace.core.errors import Invalid
from commonplace.core.files import make_folder, sync_folder
from commonplace.core.former_texts import journal_of
from commonplace.core.ports import ExportsSummaries
from commonplace.verbs.container import (
    EXPORT_FORMAT,
    MANIFEST,
    file_chunks,
    is_taken,
    scratch_beside,
    unlike_what_was_written,
    write_archive,
)
from commonplace.verbs.export.lines import render_line, screened_item
from commonplace.verbs.export.manifest import (
    ENTRIES,
    SUMMARIES,
    VERSION,
    ExportFile,
    ExportManifest,
    encode_export_manifest,
)
from commonplace.verbs.export.reading import open_export, read_export_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime, tzinfo
    from pathlib import Path

    from commonplace.core.portable import PortableItem
    from commonplace.core.ports import Portable
    from commonplace.core.redact import Screen
    from commonplace.core.scratch import ScratchFolders
    from commonplace.verbs.container import ArchiveWriter

_MODE = 0o600
_REPORTED = 1000
_LINKS = {"supersedes": "Takes the place of", "superseded_by": "Superseded by"}


class ExportWriter:
    """An export that is being written."""

    def __init__(
        self,
        scratch: Path,
        *,
        zone: tzinfo,
        screen: Screen,
        expiring: Mapping[str, datetime],
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._scratch = scratch
        self._zone = zone
        self._screen = screen
        self._expiring = expiring
        self._progress = progress or (lambda _done, _left: None)
        self._written = 0
        self._lines: dict[str, tuple[str, int]] = {}
        self._counts: dict[str, int] = {}

    def add(self, portable: Portable, since: datetime | None) -> None:
        """Write a journal. Raises: as `Portable.export_items`; Denied, Unavailable."""
        name = portable.journal
        make_folder(self._scratch / name)
        successors = {x.supersedes: x.ref for x in portable.export_items(since) if x.supersedes}
        items = (self._completed(x, successors) for x in portable.export_items(since))
        self._counts[name] = self._put(name, ENTRIES, items, "")
        if isinstance(portable, ExportsSummaries):
            summaries = portable.export_summaries(since)
            first = next(summaries, None)
            if first is not None:
                self._put(name, SUMMARIES, chain([first], summaries), "summaries-")

    def finish(
        self, owner: str, zone: str, since: datetime | None, seen: Mapping[str, float]
    ) -> ExportManifest:
        """Write the manifest, last, since it has the hashes; of `seen` what is of its journals."""
        folders = [self._scratch / name for name in self._counts]
        names = sorted(f"{x.name}/{each}" for x in folders for each in os.listdir(x))
        made = ExportManifest(
            format=EXPORT_FORMAT,
            version=VERSION,
            owner=owner,
            zone=zone,
            since=since,
            journals=self._counts,
            files=tuple(self._file(name) for name in names),
            seen={
                ref: at
                for ref, at in sorted(seen.items())
                if isfinite(at)
                and (not ref or journal_of(ref) in self._counts)
                and not self._screen.find(ref)
            },
        )
        with self._new(MANIFEST) as write:
            write(encode_export_manifest(made))
        for folder in (*folders, self._scratch):
            sync_folder(folder)
        return made

    def _completed(self, item: PortableItem, successors: Mapping[str, str]) -> PortableItem:
        """An item with the entry that took its place, and when it expires."""
        successor = successors.get(item.ref, "")
        expires = self._expiring.get(item.ref, item.expires)
        if successor or expires:
            return replace(item, superseded_by=successor or item.superseded_by, expires=expires)
        return item

    def _put(self, journal: str, file: str, items: Iterator[PortableItem], prefix: str) -> int:
        count, page = 0, ""
        with contextlib.ExitStack() as pages, self._new(f"{journal}/{file}") as write:
            write_page: Callable[[bytes], object] = write
            for each in items:
                item = screened_item(each, self._screen)
                write(render_line(item))
                if (wanted := f"{_day(item, self._zone)[:7]}.md") != page:  # a month's
                    page = wanted
                    pages.close()
                    name = f"{journal}/{prefix}{page}"
                    is_begun = os.path.exists(self._scratch / name)
                    write_page = pages.enter_context(self._new(name, begun=is_begun))
                    if not is_begun:
                        head = f"# {journal}, {page.removesuffix('.md')}\n"
                        write_page(head.encode())
                write_page("".join(_page_item(item, self._zone)).encode("utf-8", "replace"))
                count += 1
                self._written += 1
                if not self._written % _REPORTED:
                    self._progress(self._written, 0)
        role = "entries" if file == ENTRIES else "summaries"
        self._lines[f"{journal}/{file}"] = role, count
        return count

    @contextlib.contextmanager
    def _new(self, name: str, *, begun: bool = False) -> Iterator[Callable[[bytes], object]]:
        """A function that writes into a new or begun file, which is synced to disk at the end."""
        flags = os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)
        flags |= 0 if begun else os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(self._scratch / name, flags, _MODE), "ab") as file:
            yield file.write
            file.flush()
            os.fsync(file.fileno())

    def _file(self, name: str) -> ExportFile:
        role, items = self._lines.get(name, ("page", 0))
        with open(self._scratch / name, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = os.fstat(file.fileno()).st_size
        return ExportFile(name=name, role=role, items=items, size=size, sha256=digest)  # type: ignore[arg-type]  # the three there are


def write_export(
    target: Path, scratch_folders: ScratchFolders, fill: Callable[[Path], ExportManifest]
) -> ExportManifest:
    """Make an export in a scratch folder beside its place, read it back, and give it its name.

    Raises:
        Conflict: The target exists.
        Invalid, Denied, Unavailable.
    """
    target = target.absolute()
    make_folder(target.parent)
    if target.suffix.casefold() == ".zip":

        def fill_zip(archive: ArchiveWriter, scratch: Path) -> ExportManifest:
            made = fill(scratch)
            archive.put(MANIFEST, file_chunks(scratch / MANIFEST))
            for each in made.files:
                read_back = archive.put(each.name, file_chunks(scratch / each.name))
                if read_back != (each.size, each.sha256):
                    raise unlike_what_was_written(target)
            return made

        return write_archive(target, scratch_folders, fill_zip, read_export_manifest)
    with scratch_beside(target, scratch_folders) as scratch:
        content = scratch / "export"
        make_folder(content)
        made = fill(content)
        with open_export(content) as written:
            written.check()
        try:
            os.rename(content, target)
        except OSError as exc:
            if os.path.lexists(target):
                raise is_taken(target) from exc
            raise
        sync_folder(target.parent)
        return made


def _page_item(item: PortableItem, zone: tzinfo) -> Iterator[str]:
    """An item as its page shows it: no text of it can pass for a heading, each line is quoted."""
    yield f"\n## {_day(item, zone)} {_clock(item, zone)}\n\n- `{_one_line(item.ref)}`\n"
    for name, words in _LINKS.items():
        if ref := getattr(item, name):
            yield f"- {words}: `{_one_line(ref)}`\n"
    for name, text in item.page_facts().items():
        if text:
            yield f"- {name}: {_one_line(text)}\n"
    if item.expires is not None:
        yield f"- Expires: {render_instant(item.expires, zone)}\n"
    yield "\n"
    for line in item.page_text().strip("\n").splitlines() or [""]:
        yield f"> {line}\n" if line else ">\n"


def _day(item: PortableItem, zone: tzinfo) -> str:
    return local_date(item.at, zone).isoformat()


def _clock(item: PortableItem, zone: tzinfo) -> str:
    try:
        return f"{to_local(item.at, zone):%H:%M:%S}"
    except Invalid:  # at an end of the calendar
        return f"{item.at:%H:%M:%S}Z"


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("`", "'")
