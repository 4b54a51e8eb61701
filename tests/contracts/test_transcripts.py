"""Every storage of transcripts keeps the laws of the contract."""

from __future__ import annotations

from datetime import UTC

import psycopg
import pytest
from tests.contracts.transcript_laws import CLIENT, TranscriptContract
from tests.journals.transcripts.sessions import said

from commonplace.core.values import Drop, Put, Since
from commonplace.journals.transcripts.message import parse_ref
from commonplace.journals.transcripts.portable import PortableTranscripts, SessionFiles
from commonplace.journals.transcripts.source import TranscriptSource
from commonplace.journals.transcripts.store import TranscriptStore
from commonplace_server.postgres.database import Postgres
from commonplace_server.store.source import SharedSource
from commonplace_server.store.transcripts import TranscriptDocs, TranscriptsPostgres
from commonplace_server.wiring.schema import check_database
from commonplace_testing import FrozenClock


class FileWorld:
    """Files below a folder; each opening is another process's."""

    def __init__(self, folder):
        self._folder = folder
        self._opened = []
        self._docs = {}
        self._mark = None

    def open(self, name="ann"):
        self._opened.append(TranscriptStore(str(self._folder / name)))
        return self._opened[-1]

    def portable(self, name="ann"):
        store = self.open(name)
        return PortableTranscripts(store, SessionFiles(store.folder))

    def filed(self):
        source = TranscriptSource(self.open(), UTC)
        mark = source.mark()
        known = lambda begins: {r: x.stamp for r, x in self._docs.items() if r.startswith(begins)}  # noqa: E731
        for change in source.scan(Since(mark=self._mark, stamps=known)):
            if isinstance(change, Put):
                self._docs[change.doc.ref] = change.doc
            else:
                self._docs.pop(change.ref)
        self._mark = mark
        return self._docs

    def close(self):
        for each in self._opened:
            each.close()


class ServerWorld:
    """One database for all users, under row level security."""

    def __init__(self, database):
        self._clock = FrozenClock()
        self._urls = database
        self._database = Postgres(database.app_url, check=check_database)
        self._docs = {}
        self._seen = {}

    def open(self, name="ann"):
        return TranscriptsPostgres(self._database, owner=name, clock=self._clock)

    def portable(self, name="ann"):
        store = self.open(name)
        return PortableTranscripts(store, store)

    def docs(self):
        """What an index holds of Ann's."""
        return TranscriptDocs(self.open(), UTC)

    def filed(self):
        with psycopg.connect(self._urls.admin_url) as conn:
            rows = conn.execute("SELECT ref_id, changes, gone FROM wb_outbox WHERE user_id = 'ann'")
            lines = {ref: (changes, gone) for ref, changes, gone in rows}
        changed = [ref for ref, line in lines.items() if self._seen.get(ref) != line]
        found = self.docs().exchanges_of(changed)
        for each in changed:
            self._docs.pop(f"transcripts:{each}", None)
        self._docs |= {doc.ref: doc for doc in found.values()}
        self._seen = lines
        return self._docs

    def close(self):
        self._database.close()


class TestTranscriptFiles(TranscriptContract):
    """The files of the machine's own user."""

    @pytest.fixture
    def world(self, tmp_path):
        made = FileWorld(tmp_path)
        yield made
        made.close()


class TestTranscriptsPostgres(TranscriptContract):
    """The rows of a served user."""

    @pytest.fixture
    def world(self, database):
        made = ServerWorld(database)
        yield made
        made.close()

    def test_nobody_has_another_s(self, store, world):
        """Two may keep the same session."""
        store.append(CLIENT, "one", [said(1)])
        bob = world.open("bob")
        assert bob.sessions() == bob.read(CLIENT, "one") == []
        assert bob.delete(CLIENT, "one") == 0
        assert bob.append(CLIENT, "one", [said(1)]) == 1
        assert bob.delete(CLIENT, "one") == 1
        assert len(store.read(CLIENT, "one")) == 1

    def test_who_follows_it_is_told_of_each_message(self, store, world, database):
        """Of what changed alone; each message by itself, also one that is filed with others."""
        long = "These are words enough to stand alone here."
        store.append(CLIENT, "one", [said(1, long), said(2, "ok"), said(3, long)])
        source = SharedSource("transcripts", world.docs(), lambda doc: doc)
        puts = [x.doc for x in source.scan(Since(mark=None, stamps=lambda _: {}))]
        assert [x.text for x in puts] == [long, "ok", long]
        stamps = {x.ref: x.stamp for x in reversed(puts)}

        def delete(ref):
            assert store.delete(CLIENT, "one", [parse_ref(ref).n])

        known = {ref: stamps[ref] for ref in stamps}
        mark = source.mark()
        delete(puts[0].ref)
        changes = [
            *source.scan(
                Since(
                    mark=mark,
                    stamps=lambda begins: {r: s for r, s in known.items() if r.startswith(begins)},
                )
            )
        ]
        assert changes == [Drop(puts[0].ref)]
