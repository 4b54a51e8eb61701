"""How each journal gives imported entries back; see `GivesImportsBack`.

Never decides which entries are taken back.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct, field

from commonplace.core.errors import Conflict, NotFound
from commonplace.core.ids import key_id
from commonplace.journals.memory.entry import parse_ref as parse_memory_ref
from commonplace.journals.memory.entry import version_of as version_of_record
from commonplace.journals.notebook.format import JOURNAL as NOTEBOOK
from commonplace.journals.notebook.format import TAKEN_BACK
from commonplace.journals.notebook.portable import WHOLE, find_whole, finish_taking_out, take_out
from commonplace.journals.private.copied import digest_of_copy
from commonplace.journals.private.places import SCHEME
from commonplace.journals.timeline.entry import JOURNAL as TIMELINE
from commonplace.journals.timeline.entry import KEYS, ref_of, version_of
from commonplace.journals.transcripts.message import parse_ref
from commonplace.verbs.amend import left_notes
from commonplace.verbs.imports.taking_back import ImportedEntry
from commonplace.verbs.notebook.amend import NotebookAmender
from commonplace.verbs.transcripts.noted import parse_added

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from commonplace.journals.private.format import PrivateEntry
    from commonplace.verbs.chronicle.amend import ChronicleAmender
    from commonplace.verbs.memory.service import MemoryService
    from commonplace.verbs.notebook.service import NotebookService
    from commonplace.verbs.private.amend import PrivateAmender
    from commonplace.verbs.timeline.amend import TimelineAmender
    from commonplace.verbs.transcripts.service import TranscriptService


_IN_HISTORY = (
    "Git's history keeps the text of the notebook's entries; only a person can remove it there:"
    " `commonplace forget REF --rewrite-history`."
)


class FromTimeline(Struct, frozen=True):
    """Takes imported entries out of the timeline, by their import keys or refs."""

    amender: TimelineAmender
    last_first: bool = True

    def find(self, versions: Mapping[str, str]) -> Mapping[str, ImportedEntry]:
        """See the port."""
        found = {key: self._find(self._id_of(key), version) for key, version in versions.items()}
        return {key: entry for key, entry in found.items() if entry is not None}

    def _find(self, entry_id: str, version: str) -> ImportedEntry | None:
        journal = self.amender.service.journal
        entry = journal.find(entry_id)
        if entry is None:
            if not journal.has_expired(entry_id):
                return None
            # Retention took its text; what summaries count of it is left.
            return ImportedEntry(ref=ref_of(entry_id), version="", is_as_added=True)
        now = version_of(entry)
        return ImportedEntry(
            ref=entry.ref,
            version=now,
            is_as_added=version == now if version else entry.updated == entry.created,
            successor=journal.find_successor(entry),
        )

    def remove(self, versions: Mapping[str, str]) -> tuple[Sequence[str], Sequence[str]]:
        """See the port."""
        return self.amender.delete_many(versions), ()

    def unfile(self, gone: Mapping[str, tuple[str, str]]) -> Sequence[str]:
        """See the port."""
        service = self.amender.service
        notes = left_notes(service.filing().forget([ref for ref, _ in gone.values()]))
        service.journal.release([self._id_of(key) for key in gone])
        return notes

    def finish_deleting(self) -> tuple[str, ...]:
        """See `Derives`."""
        return self.amender.finish_deleting()

    def _id_of(self, key: str) -> str:
        named = key.removeprefix(f"{TIMELINE}:")
        return named if named != key else key_id(KEYS, self.amender.service.journal.owner, key)


class FromPrivate(Struct, frozen=True):
    """Takes imported entries out of the private journal, by their import keys or refs.

    What another entry replaced names it in its own file, and so is not as it was added.
    """

    amender: PrivateAmender
    last_first: bool = False

    def find(self, versions: Mapping[str, str]) -> Mapping[str, ImportedEntry]:
        """See the port."""
        found = {}
        for key, version in versions.items():
            entry = self._find(key)
            if entry is None:
                continue
            is_as_added = entry.version == version
            if not version:
                was, now = digest_of_copy(entry)
                is_as_added = was == now and not self.amender.verbs.journal.find_successor(entry)
            found[key] = ImportedEntry(
                ref=entry.ref, version=entry.version, is_as_added=is_as_added
            )
        return found

    def _find(self, key: str) -> PrivateEntry | None:
        if not key.startswith(SCHEME):
            return self.amender.verbs.journal.find_written_copy(key)
        with suppress(NotFound):
            return self.amender.verbs.journal.open_written(key)
        return self.amender.verbs.journal.find_kept(key)

    def remove(self, versions: Mapping[str, str]) -> tuple[Sequence[str], Sequence[str]]:
        """See the port."""
        return self.amender.delete_many(versions), ()

    def unfile(self, gone: Mapping[str, tuple[str, str]]) -> Sequence[str]:
        """See the port."""
        notes = left_notes(self.amender.verbs.filing.forget([ref for ref, _ in gone.values()]))
        self.amender.verbs.journal.release_keys([*gone])
        return notes


class FromChronicle(Struct, frozen=True):
    """Takes imported entries out of chronicle, by their refs."""

    amender: ChronicleAmender
    last_first: bool = True

    def find(self, versions: Mapping[str, str]) -> Mapping[str, ImportedEntry]:
        """See the port."""
        chronicle = self.amender.verbs.chronicle
        events = chronicle.read_events([*versions]) if versions else {}
        successors = chronicle.find_successors([*events.values()]) if events else {}
        return {
            ref: ImportedEntry(
                ref=ref,
                version=event.stamp,
                is_as_added=versions[ref] == event.stamp,
                successor=successors[event.id].ref if event.id in successors else "",
            )
            for ref, event in events.items()
        }

    def remove(self, versions: Mapping[str, str]) -> tuple[Sequence[str], Sequence[str]]:
        """See the port."""
        return self.amender.delete_many(versions)

    def unfile(self, gone: Mapping[str, tuple[str, str]]) -> Sequence[str]:
        """See the port."""
        return left_notes(self.amender.verbs.filing.forget([ref for ref, _ in gone.values()]))


class FromTranscripts(Struct, frozen=True):
    """Takes imported sessions out of transcripts, by their refs; one that went on since stays."""

    service: TranscriptService
    origins: dict[str, list[str]] = field(default_factory=dict)
    last_first: bool = True

    def find(self, versions: Mapping[str, str]) -> Mapping[str, ImportedEntry]:
        """See the port."""
        store = self.service.store
        store.follow_files()  # one that was removed by hand is gone
        found = {}
        for ref, version in versions.items():
            parts = parse_ref(ref)
            state = store.find_session(parts.client, parts.session) if parts else None
            if state is None:
                continue
            added = parse_added(version)
            if added is not None:
                self.origins[ref] = added[1]
            found[ref] = ImportedEntry(
                ref=ref,
                # How it is now; its last number counts deleted messages.
                version=f"{state.messages} {state.last_n}",
                is_as_added=added is not None and state.messages <= added[0],
            )
        return found

    def remove(self, versions: Mapping[str, str]) -> tuple[Sequence[str], Sequence[str]]:
        """See the port; first their originals are to be read again, whenever it breaks off."""
        store = self.service.store
        store.forget_origins([x for ref in versions for x in self.origins.get(ref, ())])
        gone = []
        for ref, version in versions.items():
            parts = parse_ref(ref)
            messages, last_n = map(int, version.split())
            if parts and store.take_back(
                parts.client, parts.session, messages=messages, last_n=last_n
            ):
                gone.append(ref)
        return gone, ()

    def unfile(self, gone: Mapping[str, tuple[str, str]]) -> Sequence[str]:
        """See the port."""
        refs = [
            f"{ref}#{n}"
            for ref, version in gone.values()
            for n in range(1, int(version.split()[1]) + 1)
        ]
        return left_notes(self.service.filing.forget(refs))


class FromMemory(Struct, frozen=True):
    """Takes imported records out of memory, by their refs; an export lists the newest first."""

    service: MemoryService
    last_first: bool = False

    def find(self, versions: Mapping[str, str]) -> Mapping[str, ImportedEntry]:
        """See the port."""
        store = self.service.store
        found = {}
        for ref, version in versions.items():
            kind, ref_id = parse_memory_ref(ref)
            record = store.find(kind, ref_id)
            if record is None:
                continue
            later = store.find_successor(kind, ref_id)
            now = version_of_record(record)
            found[ref] = ImportedEntry(
                ref=ref,
                version=now,
                is_as_added=now == version,
                successor=later.ref if later else "",
            )
        return found

    def remove(self, versions: Mapping[str, str]) -> tuple[Sequence[str], Sequence[str]]:
        """See the port; the index has been told then, too."""
        return self.service.delete_many(versions)

    def unfile(self, gone: Mapping[str, tuple[str, str]]) -> Sequence[str]:
        """See the port; what a killed process left is erased as after any deletion."""
        return tuple(self.service.erase())


class FromNotebook(Struct, frozen=True):
    """Takes imported entries of the notebook back by new commits, by their ids.

    A notebook that an export made goes whole, unless it was written to since.
    """

    service: NotebookService
    last_first: bool = True

    def find(self, versions: Mapping[str, str]) -> Mapping[str, ImportedEntry]:
        """See the port."""
        found: dict[str, ImportedEntry] = {}
        if not (versions and self.service.notebook.exists):
            return found
        in_git = self.service.notebook.in_git
        if WHOLE in versions and in_git is not None and (now := find_whole(in_git.folder)):
            found[WHOLE] = ImportedEntry(
                ref=NOTEBOOK, version=now, is_as_added=now == versions[WHOLE]
            )
        notebook = self.service.reading()
        notebook.catch_up()
        for key in versions:
            line = next((x for x in notebook.list_by_id(key) if not x.branches), None)
            if line is not None and line.expires != TAKEN_BACK:
                later = notebook.find_successor(line.id)
                found[key] = ImportedEntry(
                    ref=line.ref,
                    version="",
                    is_as_added=True,
                    successor=later.ref if later else "",
                )
        return found

    def remove(self, versions: Mapping[str, str]) -> tuple[Sequence[str], Sequence[str]]:
        """See the port; an entry with an overview that was changed since stays, and is named."""
        gone, notes, amender = [], [], NotebookAmender(self.service)
        in_git = self.service.notebook.in_git
        for ref, version in versions.items():
            try:
                if ref != NOTEBOOK:
                    amender.take_back(ref)
                    notes += [] if in_git is None else [_IN_HISTORY]
                elif in_git is None or find_whole(in_git.folder) != version:
                    continue  # it was written to at this moment
                else:
                    take_out(in_git)
            except NotFound:  # it has expired
                continue
            except Conflict as exc:
                notes.append(exc.summary)
            else:
                gone.append(ref)
        return gone, notes

    def unfile(self, gone: Mapping[str, tuple[str, str]]) -> Sequence[str]:
        """See the port."""
        filing = self.service.filing()
        refs = [ref for ref, _ in gone.values()]
        in_git = self.service.notebook.in_git
        if NOTEBOOK in refs and in_git is not None:
            finish_taking_out(in_git)
            self.service.note_ends()
            return filing.sweep()
        return left_notes(filing.forget(refs))
