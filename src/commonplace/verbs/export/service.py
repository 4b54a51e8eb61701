"""Exports the journals of one owner, and imports an export into empty ones.

Never reaches another owner, and never writes into a journal that holds an entry.
"""

from __future__ import annotations

import json
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct, field

from commonplace.core.clock import micros
from commonplace.core.errors import Conflict, Invalid
from commonplace.core.files import locked, replace_file
from commonplace.core.import_notes import NOT_NOTED
from commonplace.core.ports import LocatesItems
from commonplace.core.spaces import check_has_journal
from commonplace.core.text import opening
from commonplace.journals.table import JOURNALS_OF_SPACES
from commonplace.verbs.export.lines import screened_item
from commonplace.verbs.export.reading import open_export
from commonplace.verbs.export.writing import ExportWriter, write_export

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import tzinfo
    from pathlib import Path

    from commonplace.core.portable import PortableItem
    from commonplace.core.ports import Portable
    from commonplace.core.redact import Screen
    from commonplace.core.scratch import ScratchFolders
    from commonplace.core.time_book import TimeBook
    from commonplace.verbs.export.manifest import ExportManifest
    from commonplace.verbs.export.reading import Export
    from commonplace.verbs.imports.records import ImportRecord

_MARK = "importing.json"
_REPORTED = 1000


class ImportedExport(Struct, kw_only=True):
    """The result of importing an export."""

    owner: str
    journals: dict[str, int]
    new: dict[str, int] = field(default_factory=dict)


class ExportService:
    """Exports and imports one owner's journals whole.

    Args:
        portables: By the name of each journal, opens it; None where it cannot be exported.
        owner: Whose journals they are.
        folder: The owner's folder in our home.
        prepare: Makes it.
        zone: The time zone of the pages.
        screen: Hides secrets on the way out, and on the way in.
        book: When entries expire.
        seen: When they were looked at.
        scratch_folders: Where an export is noted that is being made.
    """

    def __init__(
        self,
        portables: Mapping[str, Callable[[], Portable | None]],
        *,
        owner: str,
        folder: Path,
        prepare: Callable[[], object],
        zone: tzinfo,
        screen: Screen,
        book: TimeBook,
        seen: TimeBook,
        scratch_folders: ScratchFolders,
    ) -> None:
        self._portables = portables
        self._owner = owner
        self._folder = folder
        self._prepare = prepare
        self._zone = zone
        self._screen = screen
        self._book = book
        self._seen = seen
        self._scratch_folders = scratch_folders

    def export(
        self,
        target: Path,
        *,
        journals: Sequence[str] = (),
        since: datetime | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> ExportManifest:
        """Write an export, whole and read back, or nothing.

        A zip where the target's name ends so, else a folder; of all journals where none is named.

        Raises:
            Conflict: The target exists.
            Invalid: A journal is not known, or cannot be exported.
            Denied, Unavailable.
        """
        for name in journals:
            if name not in self._portables:
                raise Invalid(
                    f"Unknown journal: {opening(name, 60)!r}.",
                    hint=f"Use some of {', '.join(self._portables)}.",
                )
        expiring = {ref: datetime.fromtimestamp(at, UTC) for ref, at in self._book.read().items()}

        def fill(scratch: Path) -> ExportManifest:
            writer = ExportWriter(
                scratch,
                zone=self._zone,
                screen=self._screen,
                expiring=expiring,
                progress=progress,
            )
            for name, open_portable in self._portables.items():
                if journals and name not in journals:
                    continue
                portable = open_portable()
                if portable is not None:
                    writer.add(portable, since)
                elif name in journals:
                    raise Invalid(f"The {name} journal cannot be exported.", hint="Leave it out.")
            return writer.finish(self._owner, str(self._zone), since, self._seen.read())

        return write_export(target, self._scratch_folders, fill)

    def take(
        self,
        source: Path,
        *,
        writes: bool = True,
        recording: AbstractContextManager[ImportRecord] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> ImportedExport:
        """Import an export into empty journals; it is read to its end before anything is written.

        After a kill at any moment, a call with the same export goes on; once all of it is written,
        it writes nothing more. `recording` gives what takes all that is added, so that it can be
        taken back; it is entered once the export was read to its end.

        Raises:
            Conflict: A journal holds an entry already.
            Invalid: The source is not an export, is damaged, or was made to do harm.
            NotFound, Denied, Unavailable.
        """
        with open_export(source) as export:
            export.check()
            taking = self._portables_of(export)
            for portable in taking:
                for item in _items(export, portable):
                    portable.check_item(item)
            done = ImportedExport(owner=export.manifest.owner, journals=export.manifest.journals)
            if not writes:
                self._is_written(export, taking)
                return done
            self._prepare()
            with locked(self._folder), self._noting(export, taking) as is_written:
                if is_written:
                    done.new.update({portable.journal: 0 for portable in taking})
                else:
                    with recording or nullcontext() as record:
                        done.new.update(self._import_all(export, taking, record, progress))
            return done

    def _import_all(
        self,
        export: Export,
        taking: Sequence[Portable],
        record: ImportRecord | None,
        progress: Callable[[int, int], None] | None,
    ) -> dict[str, int]:
        """Write all items of these journals; how many were new in each."""
        if record is not None:
            record.begin("export", export=export.digest)
        new = {}
        for portable in taking:
            items = self._screened(export, portable, progress)
            noting = NOT_NOTED if record is None else record.into(portable.journal)
            new[portable.journal] = portable.import_items(items, noting)
        return new

    def reopen(self, digest: str) -> None:
        """Let an export be imported again beside what stayed of it, once it was taken back.

        Raises: Denied, Unavailable.
        """
        if self._last() == (digest, True):
            self._note(digest, done=False)

    def _portables_of(self, export: Export) -> list[Portable]:
        found = []
        for name, count in export.manifest.journals.items():
            if count:
                check_has_journal(self._owner, name, JOURNALS_OF_SPACES)
            portable = self._portables[name]()
            if portable is None and count:
                raise Invalid(
                    f"Nothing can be imported into {name} here.",
                    hint="Export the others alone: commonplace export -j NAME, once for each.",
                )
            if portable is not None and count:
                found.append(portable)
        return found

    def _screened(
        self, export: Export, portable: Portable, progress: Callable[[int, int], None] | None
    ) -> Iterator[PortableItem]:
        expiring: dict[str, float] = {}
        for number, item in enumerate(_items(export, portable), 1):
            if item.expires is not None:
                expiring[item.ref] = micros(item.expires) / 1e6
            yield screened_item(item, self._screen)
            if progress is not None and not number % _REPORTED:
                progress(number, 0)
        if expiring:
            self._book.keep_all(expiring)

    @contextmanager
    def _noting(self, export: Export, taking: Sequence[Portable]) -> Iterator[bool]:
        """Note which export is being imported, and that all of it is written; whether it was.

        And what was seen of it, once it is.
        """
        is_written = self._is_written(export, taking)
        if not is_written:
            self._note(export.digest, done=False)
        yield is_written
        if not is_written:
            self._seen.keep_all(export.manifest.seen)
        self._note(export.digest, done=True)

    def _note(self, digest: str, *, done: bool) -> None:
        content = json.dumps({"export": digest, "done": done}).encode()
        replace_file(self._folder / _MARK, content)

    def _is_written(self, export: Export, taking: Sequence[Portable]) -> bool:
        """Whether all of an export was written before.

        An import that was begun goes on; what was deleted after one that ended stays deleted.
        Raises: Conflict where a journal holds an entry, and the last import was of another export.
        """
        begun, done = self._last()
        if begun == export.digest and not done:
            return False
        filled = [portable.journal for portable in taking if not portable.is_empty()]
        if filled and begun == export.digest:
            return True
        if filled:
            raise Conflict(
                f"An export can be imported only into empty journals; there are entries in"
                f" {', '.join(filled)}.",
                hint="Use another home (COMMONPLACE_HOME, HOME) or owner (--owner), or export"
                " without these journals.",
            )
        return False

    def _last(self) -> tuple[str, bool]:
        """The digest of the export that was imported last, and whether all of it is written."""
        try:
            with open(self._folder / _MARK, "rb") as file:
                found = json.loads(file.read(1000))
                return str(found["export"]), found.get("done") is True
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return "", False


def _items(export: Export, portable: Portable) -> Iterator[PortableItem]:
    """The items of a journal in an export, as they would be, had they been exported here."""
    items = export.items(portable.journal, portable.item_type)
    return map(portable.located, items) if isinstance(portable, LocatesItems) else items
