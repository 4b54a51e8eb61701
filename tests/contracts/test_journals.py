"""Every journal keeps the laws of its sources and of its refs; see `commonplace_testing`."""

from __future__ import annotations

import itertools
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from commonplace.journals.chronicle.journal import Author, ChronicleJournal
from commonplace.journals.chronicle.pages import ChroniclePages
from commonplace.journals.chronicle.places import ChroniclePlace
from commonplace.journals.chronicle.source import ChronicleSource
from commonplace.journals.memory.entry import parse_ref
from commonplace.journals.memory.journal import MemoryJournal
from commonplace.journals.memory.pages import MemoryPages
from commonplace.journals.memory.records import RecordDraft, ref_of
from commonplace.journals.memory.source import MemorySource
from commonplace.journals.notebook.journal import NotebookJournal
from commonplace.journals.notebook.pages import NotebookPages
from commonplace.journals.notebook.source import NotebookSource
from commonplace.journals.private.journal import PrivateJournal
from commonplace.journals.private.pages import PrivatePages
from commonplace.journals.private.roots import resolve_roots
from commonplace.journals.private.source import sources_of
from commonplace.journals.timeline.journal import TimelineJournal
from commonplace.journals.timeline.pages import TimelinePages
from commonplace.journals.timeline.source import TimelineSource
from commonplace.journals.transcripts import message as transcript
from commonplace.journals.transcripts.client_memory import ClientMemory
from commonplace.journals.transcripts.pages import TranscriptPages
from commonplace.journals.transcripts.source import TranscriptSource
from commonplace.journals.transcripts.store import TranscriptStore
from commonplace_testing import FrozenClock, JournalTrial, PagesContract, SourceContract

NOW = datetime(2026, 11, 21, 23, 19, 45, tzinfo=UTC)


@pytest.fixture
def clock():
    """Goes on by a minute with each entry, so that a scan has an order."""
    return FrozenClock(NOW)


@pytest.fixture
def opened():
    """What is closed after a test."""
    made = []
    yield made
    for each in made:
        each.close()


def later(clock):
    clock.advance(60)
    return clock.at


class TestPrivate(SourceContract, PagesContract):
    """A root of the private journal."""

    @pytest.fixture
    def journal(self, tmp_path, clock):
        def open_journal():
            count = itertools.count()
            return PrivateJournal(
                roots=resolve_roots(home=tmp_path, project=None, temp=tmp_path),
                zone=UTC,
                clock=clock,
                keys=tmp_path / "keys",
                random_micros=lambda: next(count),
            )

        mine = open_journal()
        return JournalTrial(
            source=sources_of(mine)[0],
            pages=PrivatePages(mine),
            add=lambda text: mine.write({"feelings": text}, at=later(clock)).refs[0],
            reopen=lambda: sources_of(open_journal())[0],
            alter=lambda ref, text: mine.edit(ref, f"## Feelings\n\n{text}\n"),
            delete=mine.delete,
        )


class ChronicleLaws(SourceContract, PagesContract):
    """Chronicle, in either form."""

    form = ""

    @pytest.fixture
    def journal(self, tmp_path, clock, opened):
        numbers = itertools.count()

        def open_journal():
            made = ChronicleJournal(
                ChroniclePlace(path=tmp_path / self.form, form=self.form),
                owner="me",
                zone=UTC,
                clock=clock,
                author=Author(directory="/srv"),
                new_id=lambda: f"entry-{next(numbers)}",
            )
            opened.append(made)
            return made

        mine = open_journal()
        return JournalTrial(
            source=ChronicleSource(mine),
            pages=ChroniclePages(mine),
            add=lambda text: mine.add_event(text, at=later(clock)).event.ref,
            reopen=lambda: ChronicleSource(open_journal()),
            alter=lambda ref, text: mine.edit_event(ref, message=text),
            delete=mine.delete_event,
        )


class TestChronicleDatabase(ChronicleLaws):
    form = "database"


class TestChronicleTree(ChronicleLaws):
    form = "tree"


class TestNotebook(SourceContract, PagesContract):
    """Entries are commits, which stay."""

    @pytest.fixture
    def journal(self, tmp_path, clock, opened):
        def open_journal(ledger):
            made = NotebookJournal(
                tmp_path / "notebook", owner="me", zone=UTC, clock=clock, ledger=tmp_path / ledger
            )
            opened.append(made)
            return made

        mine = open_journal("ledger.db")

        def add(text):
            mine.init()
            later(clock)
            return mine.write("harbours", text).entry.ref

        return JournalTrial(
            source=NotebookSource(mine),
            pages=NotebookPages(mine),
            add=add,
            reopen=lambda: NotebookSource(open_journal("other.db")),
        )


class TestTimeline(SourceContract, PagesContract):
    """Its entries; rollups have tests of their own."""

    @pytest.fixture
    def journal(self, tmp_path, clock, opened):
        def open_journal():
            made = TimelineJournal(tmp_path / "timeline", owner="me", zone=UTC, clock=clock)
            opened.append(made)
            return made

        mine = open_journal()
        return JournalTrial(
            source=TimelineSource(mine),
            pages=TimelinePages(mine),
            add=lambda text: mine.add(text, at=later(clock)).entry.ref,
            reopen=lambda: TimelineSource(open_journal()),
            alter=lambda ref, text: mine.update(ref.partition(":")[2], content=text),
            delete=lambda ref: mine.delete(ref.partition(":")[2]),
        )


class TestMemory(SourceContract, PagesContract):
    """One user's memory in a file."""

    @pytest.fixture
    def journal(self, tmp_path, clock, opened):
        def open_journal():
            made = MemoryJournal(tmp_path / "memory", owner="ann", clock=clock)
            opened.append(made)
            return made

        mine = open_journal()

        def add(text):
            later(clock)
            record = mine.save(RecordDraft(kind="todo", fields={"title": text})).record
            return ref_of("todo", record.id)

        def alter(ref, text):
            kind, ref_id = parse_ref(ref)
            mine.save(RecordDraft(kind=kind, ref_id=ref_id, fields={"title": text}))

        def source():
            other = open_journal()
            return MemorySource(other, other.database)

        return JournalTrial(
            source=MemorySource(mine, mine.database),
            pages=MemoryPages(mine),
            add=add,
            reopen=source,
            alter=alter,
            delete=lambda ref: mine.delete(*parse_ref(ref)),
        )


class TestClientMemory(SourceContract, PagesContract):
    """A folder of files that a client writes, alters and removes."""

    @pytest.fixture
    def journal(self, tmp_path, clock):
        folder = tmp_path / "projects" / "-srv" / "memory"
        folder.mkdir(parents=True)
        store = TranscriptStore(str(tmp_path / "none"))

        def memory():
            return ClientMemory(str(folder.parents[1]), "", str)

        def path_of(ref):
            return Path(memory().find(ref).path)

        def put(path, text):
            path.write_text(text)
            at = later(clock).timestamp()
            os.utime(path, (at, at))
            return next(x.ref for x in memory()._notes() if x.path == str(path))

        numbers = itertools.count(1)
        mine = memory()
        return JournalTrial(
            source=mine,
            pages=TranscriptPages(store, mine),
            add=lambda text: put(folder / f"{next(numbers)}.md", text),
            reopen=memory,
            alter=lambda ref, text: put(path_of(ref), text),
            delete=lambda ref: path_of(ref).unlink(),
        )


class TestTranscripts(SourceContract, PagesContract):
    """A session that goes on; a person alters and deletes what was said in it."""

    @pytest.fixture
    def journal(self, tmp_path, clock, opened):
        folder, numbers = tmp_path / "transcripts", itertools.count(1)

        def open_store():
            opened.append(TranscriptStore(str(folder)))
            return opened[-1]

        mine = open_store()

        def add(text):
            at = f"{later(clock):%Y-%m-%dT%H:%M:%S}.000Z"
            number = next(numbers)
            message = transcript.Message(
                id=f"id-{number}", role="user", at=at, text=text, cwd="/srv"
            )
            # Each in a session of its own: neighbours of a few words would be one doc.
            mine.append("codex", f"one-{number}", [message])
            return transcript.ref_of("codex", f"one-{number}", 1)

        def alter(ref, text):
            session = transcript.parse_ref(ref).session
            file = folder / "codex" / "2026" / f"{session}.jsonl"
            line = json.loads(file.read_text())
            file.write_text(json.dumps({**line, "text": text}) + "\n")

        return JournalTrial(
            source=TranscriptSource(mine, UTC),
            pages=TranscriptPages(mine),
            add=add,
            reopen=lambda: TranscriptSource(open_store(), UTC),
            alter=alter,
            delete=lambda ref: mine.delete("codex", transcript.parse_ref(ref).session, [1]),
        )
