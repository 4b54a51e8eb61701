"""The index on disk: an SQLite file for each owner, words by FTS5, meaning by exact products.

Never holds what cannot be made again from the journals, and never searches without an owner. Only
what compares vectors imports numpy: filing, counting and erasing take a third less without it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sqlite3
import threading
import time
import zlib
from collections import Counter
from typing import TYPE_CHECKING

from commonplace.core.clock import micros
from commonplace.core.errors import Corrupted, Invalid, Unavailable
from commonplace.core.files import translated as disk
from commonplace.core.text import well_formed
from commonplace.core.values import (
    Counts,
    DocCount,
    Drop,
    KnownSources,
    Problem,
    Put,
    Unencoded,
    superseding_tag,
)
from commonplace.db.sqlite import erase, snapshot, transaction
from commonplace.index.sqlite.docs import (
    drop_doc,
    instant,
    load_facets,
    prefix_end,
    put_doc,
    read_docs,
)
from commonplace.index.sqlite.file import IndexFile, empty, queries
from commonplace.index.sqlite.meaning import Meaning
from commonplace.index.sqlite.priority import prioritised
from commonplace.index.sqlite.waiting import WaitingDocs
from commonplace.index.sqlite.watermarks import EncoderRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from commonplace.core.phrase import Phrase
    from commonplace.core.values import Asked, Candidates, Change, Doc, Encoded, Since, Vector
    from commonplace.index.scoring.score import Nearness
    from commonplace.index.sqlite.file import Opened, OpenMeaning
    from commonplace.index.sqlite.repair import Fault

_log = logging.getLogger(__name__)
_MATRIX_LEASE_S = 120.0
_MOVES_KEPT = 10_000
_NO_ENCODER = -1


class SqliteIndex:
    """Indexes of all owners, each in a folder of its own, which is made at its first use.

    Args:
        clock: Seconds since the epoch, for leases.
        open_meaning: Opens what compares vectors, in place of our own matrix.
    """

    def __init__(
        self,
        folder_of: Callable[[str], Path],
        *,
        clock: Callable[[], float] = time.time,
        open_meaning: OpenMeaning = Meaning,
    ) -> None:
        self._folder_of = folder_of
        self._clock = clock
        self._open_meaning = open_meaning
        self._lock = threading.Lock()
        self._owners: dict[str, SqliteOwnerIndex] = {}
        self._closed = False

    def of_owner(self, owner: str) -> SqliteOwnerIndex:
        """The index of one owner; its file is opened at the first use.

        Raises:
            Invalid: The owner is empty.
            Unavailable: The index is closed.
        """
        if not owner:
            raise Invalid("No search without an owner.", hint="Name the owner.")
        with self._lock:
            if self._closed:
                raise Unavailable("The index is closed.", hint="Open it again.")
            if owner not in self._owners:
                folder = self._folder_of(owner)
                self._owners[owner] = SqliteOwnerIndex(
                    folder, clock=self._clock, open_meaning=self._open_meaning
                )
            return self._owners[owner]

    def close_idle(self, owner: str) -> None:
        """Close an owner's files until they are used again; see the port."""
        with self._lock:
            found = self._owners.get(owner)
        if found is not None:
            found.close_idle()

    def close(self) -> None:
        """Close files and connections; may be called twice."""
        with self._lock:
            self._closed = True
            for each in self._owners.values():
                each.close()


class SqliteOwnerIndex:
    """The words and vectors of one owner; also leases, mends and forgets (see `core.ports`)."""

    faster_than_encoding = False

    def __init__(
        self,
        folder: Path,
        *,
        clock: Callable[[], float] = time.time,
        open_meaning: OpenMeaning = Meaning,
    ) -> None:
        self._file = IndexFile(folder, open_meaning)
        self._clock = clock
        self._sql = queries()
        self._holder = f"{os.getpid()}-{os.urandom(4).hex()}"
        self._waiting = WaitingDocs(self._sql)
        self._counted_by_kind: dict[int, tuple[tuple[str, ...], list[DocCount]]] = {}

    def close(self) -> None:
        """Close the file; may be called twice."""
        self._file.close()

    def close_idle(self) -> None:
        """Close the file until it is used again; what is kept of it in memory goes as well."""
        self._file.close_idle()

    def apply(
        self,
        changes: Sequence[Change],
        *,
        source: str = "",
        mark: str | None = None,
        since: Since | None = None,
    ) -> None:
        """Make these changes in one transaction; see the port. Raises: Unavailable, Invalid.

        Changes that a source hands over are not urgent: see `priority`.
        """
        with self._file.using(write=True) as (conn, opened):
            put = [change.doc.ref for change in changes if isinstance(change, Put)]
            with prioritised(self._file.folder, is_urgent=not source), transaction(conn):
                for change in changes:
                    if isinstance(change, Drop):
                        drop_doc(conn, self._sql, change.ref, beside=put)
                    else:
                        put_doc(conn, self._sql, change.doc)
                conn.execute(self._sql["prune_moved"], {"kept": _MOVES_KEPT})
                if since is not None:
                    take_back = "drop_mark" if since.mark is None else "take_back_mark"
                    conn.execute(self._sql[take_back], {"name": source, "mark": since.mark})
                if mark is not None:
                    conn.execute(self._sql["keep_mark"], {"name": source, "mark": mark})
            for *encoder, _ in conn.execute(self._sql["list_matrices"]).fetchall():
                self._write_if_due(conn, opened, EncoderRow(*encoder))

    def known(self) -> KnownSources:
        """What is known of all sources; see the port. Raises: Unavailable."""
        with self._file.using() as (conn, _):
            marks = dict(conn.execute(self._sql["list_marks"]).fetchall())
        return KnownSources(marks=marks, stamps=self._stamps)

    def docs_holding(self, phrases: Sequence[Phrase]) -> list[Doc]:
        """All docs whose text contains the parts of one of these phrases; see `FindsTexts`."""
        found: set[int] = set()
        others: list[Phrase] = []
        with self._file.using() as (conn, opened), snapshot(conn):
            for phrase in phrases:
                if not (words := phrase.sure_words()):
                    others.append(phrase)
                    continue
                match = " AND ".join('("' + '" OR "'.join(forms) + '")' for forms in words)
                rows = conn.execute(self._sql["list_matching_texts"], {"match": match})
                found.update(doc for doc, text in rows if phrase.may_be_in(text))
            if others:
                longest = json.dumps([max(each.parts, key=len) for each in others])
                rows = conn.execute(self._sql["list_holding"], {"words": longest})
                found.update(doc for doc, text in rows if any(x.may_be_in(text) for x in others))
            return [*read_docs(conn, self._sql, opened.facets, found).values()]

    def unencoded(self, identity: str, limit: int) -> list[Unencoded]:
        """Docs without a vector of this encoder, newest first. Raises: Unavailable."""
        with self._file.using() as (conn, _), snapshot(conn):
            rows = self._waiting.rows(conn, self._encoder_id(conn, identity), max(limit, 0))
        # Inside one second rows lie as they came.
        rows.sort(key=lambda row: row[3], reverse=True)
        return [Unencoded(ref=row[0], text=row[1], text_hash=row[2]) for row in rows]

    def put_vectors(self, identity: str, encoded: Sequence[Encoded]) -> None:
        """File vectors of present texts; see the port. Raises: Unavailable, Invalid."""
        if not encoded:
            return
        from commonplace.index.scoring.vectors import checked_passages

        with self._file.using(write=True) as (conn, opened):
            with prioritised(self._file.folder, is_urgent=True), transaction(conn):
                encoder = self._find_encoder(conn, identity)
                dimensions = None if encoder is None else encoder.dimensions
                for each in encoded:
                    vectors = checked_passages(each, dimensions)
                    if encoder is None:
                        dimensions = vectors.shape[1]
                        row = {"identity": identity, "dimensions": dimensions}
                        added = conn.execute(self._sql["add_encoder"], row).lastrowid
                        encoder = EncoderRow(added or 0, identity, dimensions)
                    self._put_vectors(conn, encoder, each, vectors)
            if encoder is not None:
                self._write_if_due(conn, opened, encoder)

    def candidates(self, asked: Asked) -> Candidates:
        """The best by words and by meaning, and around them; see the port.

        Raises: Unavailable, Invalid.
        """
        from commonplace.index.scoring.score import NO_COSINES, Measured, candidates_of
        from commonplace.index.scoring.vectors import checked_query
        from commonplace.index.sqlite.row_filter import filtered_table, row_filter_of
        from commonplace.index.sqlite.words import read_postings

        with self._file.using() as (conn, opened):
            encoder = self._find_encoder(conn, asked.identity)
            with snapshot(conn):
                with opened.reading:
                    view = None if encoder is None else opened.meaning.view(conn, encoder)
                    table = opened.doc_tables.table(conn)
                    frequencies = opened.frequencies
                row_filter = row_filter_of(conn, self._sql, asked.where, table)
                table = filtered_table(table, row_filter, asked)
                postings = read_postings(
                    conn, self._sql, asked.words, row_filter, table, frequencies
                )
                load_facets(conn, self._sql, opened.facets, [int(table.facets.max(initial=0))])
            near: Nearness = NO_COSINES
            vector = asked.vector()
            if view is not None and encoder is not None and vector is not None:
                query = checked_query(vector, encoder.dimensions)
                near = view.nearness(query, row_filter, table, self._reading)
                if opened.meaning.is_lost(encoder.id):
                    self._write_matrix(conn, opened, encoder)
        measured = Measured(
            table=table,
            postings=postings,
            near=near,
            authors={facet: on.author for facet, on in opened.facets.items()},
            kinds={facet: on.kind for facet, on in opened.facets.items()},
            scopes={facet: on.scope for facet, on in opened.facets.items()},
            read=self._read,
        )
        return candidates_of(measured, asked)

    def counts(self, identity: str) -> Counts:
        """How much is held, and how much waits for this encoder. Raises: Unavailable."""
        with self._file.using() as (conn, _), snapshot(conn):
            docs = int(conn.execute(self._sql["count_docs"]).fetchone()[0])
            pending = self._waiting.count(conn, self._encoder_id(conn, identity))
        return Counts(docs=docs, pending=pending)

    def bytes_on_disk(self) -> int:
        """The size of its files; see the port."""
        return self._file.bytes_on_disk()

    def count_by_kind(self, identity: str) -> list[DocCount]:
        """How much is held of each kind of docs; see the port. Raises: Unavailable.

        Counted again once a doc or a vector came or left: over 100,000 docs that is half of what
        the page of health takes.
        """
        with self._file.using() as (conn, _), snapshot(conn):
            encoder = self._encoder_id(conn, identity)
            at = conn.execute(self._sql["read_pending_position"]).fetchone()[:2]
            if (known := self._counted_by_kind.get(encoder)) is not None and known[0] == at:
                return [*known[1]]
            query = self._sql[
                "count_by_kind" if self._waiting.count(conn, encoder) else "count_by_kind_encoded"
            ]
            found = [
                DocCount(journal=x, kind=kind, docs=docs, pending=waiting, newest=instant(newest))
                for x, kind, docs, waiting, newest in conn.execute(query, {"encoder": encoder})
            ]
        self._counted_by_kind[encoder] = at, found
        return [*found]

    def count_by_journal(self) -> dict[str, int]:
        """How many docs of each journal; see `core.ports.CountsJournals`. Raises: Unavailable."""
        with self._file.using() as (conn, opened), snapshot(conn), opened.reading:
            of_facets = opened.doc_tables.count_facets(conn)
            load_facets(conn, self._sql, opened.facets, of_facets)
        counted: Counter[str] = Counter()
        for facet, docs in of_facets.items():
            counted[opened.facets[facet].journal] += docs
        return counted

    def scopes(self) -> list[tuple[str, str]]:
        """Where its docs were written; see `core.ports.ListsScopes`. Raises: Unavailable."""
        with self._file.using() as (conn, _):
            return [(journal, scope) for journal, scope in conn.execute(self._sql["list_scopes"])]

    def dates_of(self, refs: Sequence[str]) -> dict[str, datetime]:
        """When the docs of some refs were; see `core.ports.DatesRefs`. Raises: Unavailable."""
        asked = {"refs": well_formed(json.dumps(refs, ensure_ascii=False))}
        with self._file.using() as (conn, _):
            rows = conn.execute(self._sql["list_dates"], asked).fetchall()
        return {ref: instant(at_us) for ref, at_us in rows}

    def refs_behind(self, number: int) -> list[str]:
        """The refs of a short form; see `core.ports.FindsShortRefs`. Raises: Unavailable.

        It looks at every ref: 30 ms for 100,000, in place of an index that each write would keep.
        """
        with self._file.using() as (conn, _):
            rows = conn.execute(self._sql["list_refs_behind"], {"number": number})
            return [ref for (ref,) in rows]

    def links_from(
        self, refs: Sequence[str], *, before: datetime | None = None
    ) -> list[tuple[str, str]]:
        """The links of the chains that refs begin; see `FollowsChains`. Raises: Unavailable."""
        asked = {
            "refs": well_formed(json.dumps(refs, ensure_ascii=False)),
            "lead": superseding_tag(""),
            "before": None if before is None else micros(before),
        }
        with self._file.using() as (conn, _):
            return [(former, ref) for former, ref in conn.execute(self._sql["list_links"], asked)]

    def previous_encoder(self, identity: str) -> str:
        """Whose vectors answer while those of this encoder are made. Raises: Unavailable."""
        with self._file.using() as (conn, _), snapshot(conn):
            encoders = [EncoderRow(*row) for row in conn.execute(self._sql["list_encoders"])]
            if all(each.identity == identity for each in encoders):
                return ""
            asked = {"encoder": self._encoder_id(conn, identity)}
            found = conn.execute(self._sql["find_previous_encoder"], asked).fetchone()
        return "" if found is None else str(found[0])

    def take_lease(self, name: str, holder: str, ttl_s: float) -> bool:
        """Take or renew a lease; see the port. Raises: Unavailable."""
        with self._file.using(write=True) as (conn, _):
            return self._take_lease(conn, name, holder, ttl_s)

    def drop_lease(self, name: str, holder: str) -> None:
        """Give a lease back, if it is the holder's. Raises: Unavailable."""
        with self._file.using(write=True) as (conn, _):
            self._drop_lease(conn, name, holder)

    def forget(self, refs: Sequence[str]) -> None:
        """Drop these refs and overwrite what they left, in the database and beside it.

        Raises: Unavailable, also when another process reads an older state all the while, so that
        the text has left every search and yet not every byte of the files; call it again then.
        """
        self.apply([Drop(ref) for ref in refs])
        self.erase()

    def erase(self) -> None:
        """Overwrite what dropped and altered docs left; see the port. Raises: as `forget`."""
        with self._file.using(write=True) as (conn, opened):
            dropped, erased = conn.execute(self._sql["count_dropped_texts"]).fetchone()
            if dropped == erased:
                return
            with transaction(conn):
                conn.execute(self._sql["drop_bare_facets"])
                conn.execute(self._sql["drop_bare_sessions"])
                conn.execute(self._sql["merge_words"])
            with disk(self._file.folder):
                opened.meaning.erase(conn)
            if not erase(conn):
                raise Unavailable(
                    "The index {place} is being read, so the bytes of what was forgotten remain.",
                    hint="The next opening erases them, and so does `commonplace doctor --repair`.",
                    place=self._file.path,
                )
            with transaction(conn):
                conn.execute(self._sql["note_erased_texts"], {"texts": dropped})

    def has_remains(self) -> bool:
        """Whether bytes of dropped and altered docs may be left; see the port."""
        with self._file.using() as (conn, _):
            dropped, erased = conn.execute(self._sql["count_dropped_texts"]).fetchone()
        return bool(dropped != erased)

    def clear(self) -> None:
        """Empty the index in one transaction, or make its file again where it is broken.

        Raises:
            Unavailable: It cannot be written, or is an index of a newer program.
        """
        try:
            with self._file.using(write=True) as (conn, opened):
                empty(conn)
                opened.meaning.discard(conn)
        except Corrupted:
            self._file.recreate()

    def problems(self) -> list[Problem]:
        """What is wrong with the files now; changes nothing."""
        from commonplace.index.sqlite.repair import find_faults

        return self._list_problems(lambda: find_faults(self._file, self._sql))

    @contextlib.contextmanager
    def finding_problems(self) -> Iterator[Callable[[], list[Problem]]]:
        """A function that answers as `problems`; see `aside.finding_faults`."""
        from commonplace.index.sqlite.aside import finding_faults

        with finding_faults(self._file) as find:
            yield lambda: self._list_problems(find)

    def _list_problems(self, find: Callable[[], list[Fault]]) -> list[Problem]:
        from commonplace.index.sqlite.repair import list_problems

        found = list_problems(self._file, find)
        if found or not os.path.exists(self._file.path):
            return found
        with self._file.using() as (conn, opened):
            return opened.meaning.problems(conn)

    def repair(self) -> list[str]:
        """Mend the files, or remove them to be filled again; a sentence for each thing done.

        Raises: Unavailable where they cannot be written.
        """
        from commonplace.index.sqlite.repair import find_faults

        try:
            faults = find_faults(self._file, self._sql)
            if "pages" not in faults:
                return self._repair_faults(faults) if os.path.exists(self._file.path) else []
        except Corrupted:
            pass
        self._file.recreate()
        return [f"Removed the broken index {self._file.path}; the journals fill it again."]

    def _read(self, keys: Sequence[int]) -> dict[int, Doc]:
        # One state of the tables: a facet that leaves meanwhile is no damage.
        with self._file.using() as (conn, opened), snapshot(conn):
            return read_docs(conn, self._sql, opened.facets, keys)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._file.using() as (conn, _), snapshot(conn):
            yield conn

    def _repair_faults(self, faults: list[Fault]) -> list[str]:
        from commonplace.index.sqlite.repair import broken_matrices

        done = []
        with self._file.using(write=bool(faults)) as (conn, opened):
            if "words" in faults:
                with transaction(conn):
                    conn.execute(self._sql["rebuild_words"])
                done.append("Rebuilt the word index from the docs.")
            broken = broken_matrices(conn, self._sql, self._file.folder) if faults else []
            for encoder in broken:
                with disk(self._file.folder):
                    opened.meaning.rewrite(conn, encoder)
                done.append(f"Wrote the matrix of {encoder.identity} again.")
            return done + opened.meaning.repair(conn)

    def _stamps(self, prefix: str) -> Mapping[str, str]:
        low = well_formed(prefix)
        end = prefix_end(low)
        with self._file.using() as (conn, _):
            asked = {"low": low, "high": b"" if end is None else end}
            return dict(conn.execute(self._sql["list_stamps"], asked).fetchall())

    def _find_encoder(self, conn: sqlite3.Connection, identity: str) -> EncoderRow | None:
        found = conn.execute(self._sql["find_encoder"], {"identity": identity}).fetchone()
        return None if found is None else EncoderRow(*found)

    def _encoder_id(self, conn: sqlite3.Connection, identity: str) -> int:
        found = self._find_encoder(conn, identity)
        return _NO_ENCODER if found is None else found.id

    def _put_vectors(
        self, conn: sqlite3.Connection, encoder: EncoderRow, encoded: Encoded, vectors: Vector
    ) -> None:
        found = conn.execute(self._sql["find_doc"], {"ref": well_formed(encoded.ref)}).fetchone()
        if found is None or found[3] != encoded.text_hash:
            return
        key = {"doc": found[0], "encoder": encoder.id}
        spans = [
            (chunk, start, end, vector.astype("<f4").tobytes())
            for chunk, ((start, end), vector) in enumerate(zip(encoded.spans, vectors, strict=True))
        ]
        rows = [(encoder.id, encoded.text_hash, *span, zlib.crc32(span[-1])) for span in spans]
        # Two processes may encode one doc: the same again must not wear the matrices.
        if rows != conn.execute(self._sql["list_doc_vectors"], key).fetchall():
            conn.execute(self._sql["drop_doc_vectors"], key)
            conn.executemany(self._sql["add_vector"], [(found[0], *row) for row in rows])

    def _take_lease(self, conn: sqlite3.Connection, name: str, holder: str, ttl_s: float) -> bool:
        now = self._clock()
        lease = {"name": name, "holder": holder, "now": now, "until": now + ttl_s}
        with transaction(conn):
            return conn.execute(self._sql["take_lease"], lease).rowcount == 1

    def _drop_lease(self, conn: sqlite3.Connection, name: str, holder: str) -> None:
        with transaction(conn):
            conn.execute(self._sql["drop_lease"], {"name": name, "holder": holder})

    def _write_if_due(self, conn: sqlite3.Connection, opened: Opened, encoder: EncoderRow) -> None:
        if opened.meaning.is_due(conn, encoder):
            self._write_matrix(conn, opened, encoder)

    def _write_matrix(self, conn: sqlite3.Connection, opened: Opened, encoder: EncoderRow) -> None:
        """Write a matrix file where that can be done now; without one, searches read the tables."""
        if opened.read_only:
            return
        lease = f"matrix:{encoder.id}"
        try:
            if self._take_lease(conn, lease, self._holder, _MATRIX_LEASE_S):
                try:
                    opened.meaning.rewrite(conn, encoder)
                finally:
                    self._drop_lease(conn, lease, self._holder)
        except (OSError, sqlite3.OperationalError) as exc:
            _log.warning("A matrix file in %s was not written: %s", self._file.folder, exc)
