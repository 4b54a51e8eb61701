"""Owns one user's notebook on Postgres: entries, overviews and what sections were called.

Never reads a row of another user, and files nothing. Of two who write to one notebook one waits
for the other, so that places and versions follow one another.
"""

from __future__ import annotations

import json
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from msgspec.structs import replace

from commonplace.core.errors import Invalid, Lost
from commonplace.core.spaces import author_at_work, is_space
from commonplace.core.values import ChainLink, Replacement
from commonplace.journals.notebook.format import (
    DEFAULT_AUTHOR,
    JOURNAL,
    NotebookEntry,
    SectionFile,
    own_end,
    person_of,
    ref_of,
    set_end_of,
    shown_author,
    version_of,
    written_of,
)
from commonplace.journals.notebook.links import beginnings_of, entry_links, links_of
from commonplace.journals.notebook.names import current_name, names_of, refuse_twin
from commonplace.journals.notebook.ports import DatedOverview, PlacedEntry
from commonplace.journals.notebook.sections import (
    Backlinks,
    EntryLine,
    LinkingText,
    OverviewConflict,
    Section,
    SectionCount,
    SectionMoves,
    WrittenEntry,
    check_base,
    no_section,
    pairs_to_move,
)
from commonplace.journals.notebook.whole import PastOverview, WholeNotebook, joined
from commonplace_server.postgres.database import MOVING_S
from commonplace_server.postgres.text_lists import Texts
from commonplace_server.store.entries import EntryRow, EntryRows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from commonplace.core.clock import Clock
    from commonplace.journals.notebook.format import CommitMessage
    from commonplace.journals.notebook.links import Link
    from commonplace.journals.notebook.whole import Step
    from commonplace_server.postgres.database import Connection, Postgres

_Thing = TypeVar("_Thing")

_PAST_EVERY_ID = "g"
_AT_ONCE = 500
# The times first: a line that goes takes those of its name along.
_RENAMING = ("rename_times", "rename_entries", "rename_overviews", "add_move", "note_renamed")
_By: TypeAlias = tuple[str, str]  # the name and the address
_NOBODY: _By = ("", "")
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)


class NotebookPostgres:
    """One user's notebook in a database that all users share; implements `NotebookStore`.

    Thread-safe.

    Args:
        database: Shared by all users of the process; its owner closes it.
        clock: By which entries have expired, and overviews are written.
        author: Who writes, as `Name <address>`.
    """

    def __init__(
        self, database: Postgres, *, owner: str, clock: Clock, author: str = DEFAULT_AUTHOR
    ) -> None:
        self._rows = EntryRows(database, owner=owner, journal=JOURNAL, clock=clock)
        self._clock = clock
        self._author = author
        self._names_authors = is_space(owner)

    def write(
        self, message: CommitMessage, *, at: datetime, overview: str | None, base_version: str
    ) -> WrittenEntry:
        """Add an entry, and put a new overview in place; see the port.

        What is not known to be done is done once more: an entry has its id before it is sent.
        """
        if at < _FIRST:
            raise Invalid(
                f"A time before 1970: {at.isoformat()}.", hint="Give a time in 1970 or later."
            )
        entry = self._entry_of(message, at)
        try:
            return self._write(entry, overview, base_version)
        except Lost:
            written = self._write(entry, overview, base_version)
            is_own = (written.entry.text, written.entry.at) == (entry.text, entry.at)
            return replace(written, repeated=written.repeated and not is_own)

    def _write(self, entry: NotebookEntry, overview: str | None, base_version: str) -> WrittenEntry:
        with self._writing() as conn:
            known = self._find_entry(conn, entry.id)
            if known is not None:
                text = self._overview(conn, known.section) or ""
                return self._written(conn, known, text, repeated=True)
            there = self._overview(conn, entry.section)
            if overview is not None:
                check_base(entry.section, _as_file(there), overview, base_version)
            if there is None:
                refuse_twin(entry.section, self._sections(conn))
            (place,) = self._rows.add(conn, [_row_of(entry)])
            assert place is not None  # its id was looked for under the lock
            if entry.expires is not None:
                self._rows.ask(conn, "put_end", id=entry.id, expires=entry.expires)
            text = overview if overview is not None else (there or "")
            if there is None or text != there:
                by = (entry.author, entry.address)
                self._add_version(conn, entry.section, text, by, after=place, came_with=entry.id)
            return self._written(conn, entry, text, repeated=False)

    def set_end(self, message: CommitMessage) -> None:
        """Set the end of an entry that a message names; see the port."""
        with self._writing() as conn:
            self._set_end(conn, message)

    def put_overview(
        self, message: CommitMessage, overview: str, base_version: str
    ) -> tuple[str, ...]:
        """Put a text in place of an overview without an entry; see the port."""
        section = message.section
        with self._writing() as conn:
            there = self._overview(conn, section)
            if there is None:
                raise no_section(section, self._current_name(conn, section))
            self._set_end(conn, message)
            if there == overview:
                return ()
            if version_of(there) != base_version:
                raise OverviewConflict(section, base_version, _as_file(there), overview)
            ((after,),) = self._ask(conn, "last_place")
            self._add_version(conn, section, overview, self._person(), after=after)
        return ()

    def move(self, old: str, new: str, *, below: bool) -> SectionMoves:
        """Give a section another name, all or none of them; see the port."""
        with self._writing() as conn:
            has_entries = partial(self._counts, conn)
            pairs = pairs_to_move(
                old, new, self._sections(conn), below=below, has_entries=has_entries
            )
            if not pairs:
                raise no_section(old, self._current_name(conn, old))
            for before, after in pairs:
                for name in _RENAMING:
                    self._rows.ask(conn, name, old=before, new=after)
        return SectionMoves(pairs, ())

    def find_section(self, name: str) -> Section | None:
        """A section as it is now; see the port."""
        with self._rows.reading() as conn:
            if not (rows := self._ask(conn, "overview", section=name)):
                return None
            count, _ = self._counts(conn, name).get(name, (0, None))
            newest = self._lines(conn, "shown", "newest", section=name, start=0, length=1)
        ((there, _, author, address),) = rows
        return Section(
            name=name,
            overview=there,
            version=version_of(there),
            entry_count=count,
            last_entry=next(iter(newest), None),
            author=self._shown(author, address) if there.strip() else "",
        )

    def list_sections(self) -> list[str]:
        """Every section that there is, by name; see the port."""
        with self._rows.reading() as conn:
            return self._sections(conn)

    def section_counts(self) -> dict[str, SectionCount]:
        """Each section that has an entry which has not expired; see the port."""
        with self._rows.reading() as conn:
            rows = self._ask(conn, "counts", section=None)
        return {name: SectionCount(count - over, _utc(at)) for name, count, over, at in rows if at}

    def read_overviews(self, sections: Sequence[str]) -> dict[str, str]:
        """The overviews of those of these sections that there are; see the port."""
        with self._rows.reading() as conn:
            return dict(self._ask(conn, "overviews", sections=Texts(sections)))

    def newest(self, section: str, *, start: int, length: int) -> list[EntryLine]:
        """Entries of a section, newest first; see the port."""
        page = {"section": section, "start": start, "length": length}
        with self._rows.reading() as conn:
            return self._lines(conn, "shown", "newest", **page)

    def find_lines(self, mark: str, sections: Iterable[str]) -> list[EntryLine]:
        """The entries of sections whose id, else former hash, begins so; see the port."""
        asked = {"sections": Texts([*sections]), "low": mark, "high": mark + _PAST_EVERY_ID}
        with self._rows.reading() as conn:
            found = self._lines(conn, "of_id_start", **asked)
            return found or self._lines(conn, "of_hash", **asked)

    def find_entry(self, entry_id: str) -> NotebookEntry | None:
        """An entry by its id, also where it has expired; see the port."""
        with self._rows.reading() as conn:
            return self._find_entry(conn, entry_id)

    def current_name(self, section: str) -> str:
        """What a section is called now; see the port."""
        with self._rows.reading() as conn:
            return self._current_name(conn, section)

    def names_of(self, section: str) -> list[str]:
        """What a section is called, and then what it was called before; see the port."""
        with self._rows.reading() as conn:
            return names_of(section, self._ask(conn, "moves"))

    def find_successor(self, entry_id: str) -> EntryLine | None:
        """The entry that took the place of one; see the port."""
        with self._rows.reading() as conn:
            return next(iter(self._lines(conn, "successors", id=entry_id)), None)

    def find_former(self, entry_id: str) -> EntryLine | None:
        """The entry with an id, or the one whose place it had taken; see the port."""
        with self._rows.reading() as conn:
            return next(iter(self._lines(conn, "shown", "held_before", id=entry_id)), None)

    def find_around(self, section: str, entry_id: str) -> tuple[EntryLine | None, EntryLine | None]:
        """The entries before and after one; see the port."""
        asked = {"section": section, "id": entry_id}
        with self._rows.reading() as conn:
            before = self._lines(conn, "shown", "before", **asked)
            behind = self._lines(conn, "shown", "behind", **asked)
        return next(iter(before), None), next(iter(behind), None)

    def read_dated(self, sections: Sequence[str] | None) -> list[DatedOverview]:
        """The overviews of some sections as they are now; see the port."""
        with self._rows.reading() as conn:
            rows = self._ask(
                conn, "current", sections=None if sections is None else Texts(sections)
            )
        return [
            DatedOverview(
                section=x, text=text, at=_utc(at), written=_utc(to), author=self._shown(*by)
            )
            for x, text, at, to, *by in rows
        ]

    def read_placed(self, names: Sequence[str]) -> list[PlacedEntry]:
        """Those of some entries that there are; see the port."""
        ids = Texts([name.rpartition("#")[2] for name in names])
        with self._rows.reading() as conn:
            return self._placed(conn, "of_refs", ids=ids, names=Texts(names))

    def list_placed(self, after: int, limit: int) -> list[PlacedEntry]:
        """The first of those after a place; see the port."""
        with self._rows.reading() as conn:
            return self._placed(conn, "next_places", after=after, limit=limit)

    def mark(self) -> str:
        """A token that changes with every change; reads the outbox alone."""
        return self._rows.mark()

    def changed_since(self, mark: str | None) -> list[str] | None:
        """What changed after a mark; see the port."""
        return self._rows.changed_since(mark)

    def overviews_left_by(self, section: str, entry_ids: Sequence[str]) -> Mapping[str, str]:
        """The overview of a section as each of some of its entries left it; see the port."""
        with self._rows.reading() as conn:
            return dict(self._ask(conn, "left_by", section=section, ids=Texts(entry_ids)))

    def list_expired_successors(self, entry_id: str) -> Sequence[str]:
        """The ids of those that took the place of one, and have expired; see the port."""
        with self._rows.reading() as conn:
            return [x.id for x in self._lines(conn, "expired_successors", id=entry_id)]

    def overviews_around(self, entry: NotebookEntry) -> tuple[str, str]:
        """The overview before an entry was written, and as it left it; see the port."""
        with self._rows.reading() as conn:
            rows = self._ask(conn, "around", section=entry.section, id=entry.id)
        made, before = rows[0] if rows else ("", "")
        return before, made

    def list_backlinks(
        self, names: Sequence[str], entry_names: Sequence[str], *, length: int
    ) -> Backlinks:
        """The texts that link to a section, or to an entry of it; see the port."""
        marks = beginnings_of(entry_names) or [""]
        targets = Texts([_target(name, mark) for name in names for mark in marks])
        with self._rows.reading() as conn:
            overviews = self._ask(conn, "linking_overviews", targets=targets)
            lines = self._lines(conn, "shown", "linking", targets=targets)
        texts = [
            *(LinkingText(section=name) for (name,) in overviews),
            *(LinkingText(section=line.section, line=line) for line in lines),
        ]
        return Backlinks(texts=tuple(texts[:length]), count=len(texts))

    def list_replaced_since(
        self, section: str, *, before: datetime | None
    ) -> tuple[Replacement, ...]:
        """Entries of a section that were replaced since its overview was written; see the port."""
        with self._rows.reading() as conn:
            text, after, *_ = next(iter(self._ask(conn, "overview", section=section)), ("", 0))
            asked = self._ask(conn, "replaced") if text.strip() else []
        rows = [_Replaced(*row) for row in asked]
        newest = {row.former: row for row in reversed(rows)}
        found: dict[str, Replacement] = {}
        for row in rows:
            is_since = row.former_section == section and row.former_place <= after < row.place
            if is_since and row.former not in found and row.is_written(before):
                end = _end_of_chain(row, newest, before)
                found[row.former] = Replacement(
                    former=_link(section, row.former, row.former_at),
                    successor=_link(end.section, end.id, end.at),
                )
        return tuple(found.values())

    def drop_context(self, entry_id: str) -> None:
        """Take the work context out of an entry; see the port."""
        with self._writing() as conn:
            if (found := self._find_entry(conn, entry_id)) is not None:
                more = _row_of(replace(found, work_context="")).more
                self._rows.ask(conn, "alter_more", id=entry_id, more=more)

    def forget(self, entry_ids: Sequence[str]) -> set[str]:
        """Remove entries; see the port."""
        with self._writing() as conn:
            for entry_id in entry_ids:
                self._rows.ask(conn, "relink", id=entry_id)
                self._rows.ask(conn, "unname", id=entry_id)
            return self._rows.delete(conn, entry_ids)

    def erase_versions(
        self, sections: Sequence[str], cut: Callable[[str], str], *, current: bool
    ) -> int:
        """Erase a text from what overviews are and were; see the port."""
        changed = 0
        with self._writing() as conn:
            for section in sections:
                changed += len(self._ask(conn, "drop_versions", section=section))
                ((after,),) = self._ask(conn, "last_place")
                self._add_version(conn, section, "", _NOBODY, after=after)
            for section, number, body, is_current in self._ask(conn, "all_versions"):
                left = cut(body) if current or not is_current else body
                if left != body:
                    changed += 1
                    given = {"section": section, "number": number, **_overview_columns(left)}
                    self._rows.ask(conn, "alter_version", **given)
        return changed

    def read_whole(self) -> WholeNotebook:
        """All of it; see the port."""
        with self._rows.reading() as conn:
            rows = self._ask(conn, "whole", "shown", "next_places", after=0, limit=None)
            versions = self._ask(conn, "whole_versions")
            moves = self._ask(conn, "moves")
        steps: list[tuple[tuple[int, int], Step]] = [((row[-1], 0), _entry(row)) for row in rows]
        there = {row[0] for row in rows}
        for section, body, at, entry_id, after, _, author, address in versions:
            came_with = entry_id if entry_id in there else ""
            step = PastOverview(section, body, _utc(at), came_with, author, address)
            steps.append(((after, 1 if entry_id else 2), step))
        steps.sort(key=lambda each: each[0])  # which keeps the order of what has the same place
        return WholeNotebook(steps=[step for _, step in steps], moves=[(x, y) for x, y in moves])

    def take_over(self, whole: WholeNotebook) -> None:
        """Add all of a notebook that lay elsewhere; see the port."""
        with self._writing(deadline_s=MOVING_S) as conn:
            if whole.mark and self._ask(conn, "taken_over", key=whole.mark):
                return
            moves = self._ask(conn, "moves")
            moved_to = dict(moves).get
            there = {*self._sections(conn)}
            named = {  # one that is there may have been moved here since
                name: name if name in there else current_name(name, moved_to)
                for name in {step.section for step in whole.steps}
            }
            for old, new in whole.moves:
                if (old, new) not in moves:
                    self._rows.ask(conn, "add_move", old=old, new=new)
            last = self._add_steps(conn, whole, named, there)
            for section, come in whole.overviews.items():
                if (name := named[section]) not in there:
                    continue
                known = self._texts(conn, name)  # of two that are one by now, with the first's
                newest = come[-1]
                text = joined(known, [x.text for x in come])
                if text != known[-1]:
                    by = (newest.author, newest.address)
                    self._add_version(conn, name, newest.text, by, after=last)
                    if text != newest.text:  # the words of both, which is nobody's text
                        self._add_version(conn, name, text, _NOBODY, after=last)
            if whole.mark:
                self._rows.ask(conn, "note_taken_over", key=whole.mark, at=self._clock())

    def _add_steps(
        self,
        conn: Connection,
        whole: WholeNotebook,
        named: Mapping[str, str],
        there: Collection[str],
    ) -> int:
        """Add the entries that are not known, and the overviews of new sections; the last place.

        named: what sections are called here; there: those that there are.
        """
        ids = [entry.id for entry in whole.entries]
        if whole.mark:
            known = self._known(conn, ids)
        else:  # what was deleted may come back with an export
            known = {line.id for line in self._lines(conn, "of_ids", ids=Texts(ids))}
        new = {entry.id: entry for entry in whole.entries if entry.id not in known}
        places = self._add_entries(
            conn, [replace(entry, section=named[entry.section]) for entry in new.values()]
        )
        ((last,),) = self._ask(conn, "last_place")
        versions = []
        after = last if not places else min(places.values()) - 1
        for step in whole.steps:
            if isinstance(step, NotebookEntry):
                after = places.get(step.id, after)
            elif named[step.section] not in there:
                came_with = step.entry_id if step.entry_id in new else ""
                versions.append(
                    (replace(step, section=named[step.section], entry_id=came_with), after)
                )
        self._add_past(conn, versions)
        return int(last)

    def _add_entries(self, conn: Connection, entries: Sequence[NotebookEntry]) -> dict[str, int]:
        """Add entries with their ends, many at once; the place of each, by its id."""
        places: dict[str, int] = {}
        for some in _batches(entries):
            added = self._rows.add(conn, [*map(_row_of, some)])
            places |= {x.id: y for x, y in zip(some, added, strict=True) if y is not None}
            with conn.pipeline():
                for entry in some:
                    if entry.expires is not None and entry.id in places:
                        self._rows.ask(conn, "put_end", id=entry.id, expires=entry.expires)
        return places

    def _add_past(self, conn: Connection, versions: Sequence[tuple[PastOverview, int]]) -> None:
        """Add what overviews of new sections were, each with the place its writer could read."""
        numbers: dict[str, int] = {}
        for some in _batches(versions):
            with conn.pipeline():
                for past, after in some:
                    number = numbers[past.section] = numbers.get(past.section, 0) + 1
                    given = {"section": past.section, "id": past.entry_id, "after": after}
                    given |= {"number": number, "at": past.at, **_overview_columns(past.text)}
                    given |= {"author": past.author, "address": past.address}
                    self._rows.ask(conn, "put_version", **given)

    def _texts(self, conn: Connection, section: str) -> list[str]:
        """What an overview was, the last as it is now."""
        return [body for (body,) in self._ask(conn, "versions", section=section)]

    def find_known(self, entry_ids: Sequence[str]) -> set[str]:
        """Those of these ids whose entries are there, or were deleted; see the port."""
        with self._rows.reading() as conn:
            return self._known(conn, entry_ids)

    def _known(self, conn: Connection, entry_ids: Sequence[str]) -> set[str]:
        return {known for (known,) in self._ask(conn, "known", ids=Texts(entry_ids))}

    def _set_end(self, conn: Connection, message: CommitMessage) -> None:
        if (found := set_end_of(message)) is not None:
            entry_id, expires = found
            if expires is None:
                self._rows.ask(conn, "drop_end", id=entry_id)
                self._rows.ask(conn, "drop_no_end", id=entry_id)
            else:
                self._rows.ask(conn, "put_end", id=entry_id, expires=expires)
            self._rows.ask(conn, "note_end", id=entry_id)

    def _entry_of(self, message: CommitMessage, at: datetime) -> NotebookEntry:
        """The entry that a message is to be."""
        at = at.astimezone(UTC).replace(microsecond=0)
        written = written_of(message)
        author, address = self._person()
        return NotebookEntry(
            section=message.section,
            id=message.entry_id,
            hash="",
            at=at,
            summary=message.summary,
            text=message.text,
            work_context=message.work_context,
            author=author,
            address=address,
            supersedes=message.supersedes,
            written=None if written == at else written,
            expires=own_end(message),
        )

    def _person(self) -> _By:
        """The name and the address of who writes now."""
        member = author_at_work()
        author, _, address = (person_of(member) if member else self._author).rpartition(" <")
        return author, address.removesuffix(">")

    def _written(
        self, conn: Connection, entry: NotebookEntry, overview: str, *, repeated: bool
    ) -> WrittenEntry:
        count, _ = self._counts(conn, entry.section).get(entry.section, (0, None))
        return WrittenEntry(
            entry=entry,
            overview=overview,
            version=version_of(overview),
            entry_count=count,
            repeated=repeated,
        )

    def _add_version(
        self, conn: Connection, section: str, text: str, by: _By, *, after: int, came_with: str = ""
    ) -> None:
        """Put an overview in the place of what is there, whose number no other has."""
        given = {"section": section, "id": came_with, "after": after, "at": self._clock()}
        given |= {"author": by[0], "address": by[1], **_overview_columns(text)}
        self._rows.ask(conn, "add_version", **given)

    def _overview(self, conn: Connection, section: str) -> str | None:
        rows = self._ask(conn, "overview", section=section)
        return rows[0][0] if rows else None

    def _sections(self, conn: Connection) -> list[str]:
        return [name for (name,) in self._ask(conn, "sections")]

    def _counts(self, conn: Connection, section: str) -> dict[str, tuple[int, datetime | None]]:
        """How many entries a section has that have not expired; nothing where it never had one."""
        rows = self._ask(conn, "counts", section=section)
        return {name: (count - over, at) for name, count, over, at in rows}

    def _current_name(self, conn: Connection, section: str) -> str:
        moved = dict(self._ask(conn, "moves"))  # of one name the last move counts
        return current_name(section, moved.get)

    def _find_entry(self, conn: Connection, entry_id: str) -> NotebookEntry | None:
        rows = self._ask(conn, "whole", "of_id", id=entry_id)
        return _entry(rows[0]) if rows else None

    def _lines(self, conn: Connection, *rest: str, **asked: object) -> list[EntryLine]:
        return [*map(self._line, self._ask(conn, "line", *rest, **asked))]

    def _line(self, row: tuple[Any, ...]) -> EntryLine:
        entry_id, section, at, more, expires, *_ = row
        said = json.loads(more)
        return EntryLine(
            id=entry_id,
            section=section,
            hash=said["hash"],
            at=_utc(at),
            summary=said["summary"],
            expires=expires and _utc(expires),
            author=self._shown(said["author"], said["address"]),
        )

    def _shown(self, author: str, address: str) -> str:
        """The name of who wrote a text, where several users write."""
        return shown_author(author, address) if self._names_authors else ""

    def _placed(self, conn: Connection, *rest: str, **asked: object) -> list[PlacedEntry]:
        rows = self._ask(conn, "whole", "shown", *rest, **asked)
        entries = [_entry(row) for row in rows]
        ids = {entry.supersedes for entry in entries if entry.supersedes}
        with conn.pipeline() if ids else nullcontext():
            found = {x: self._rows.ask(conn, "line", "shown", "held_before", id=x) for x in ids}
        formers = {x: self._line(row).ref for x, each in found.items() for row in each.fetchall()}
        return [
            PlacedEntry(entry=entry, place=row[-1], former=formers.get(entry.supersedes, ""))
            for entry, row in zip(entries, rows, strict=True)
        ]

    def _ask(self, conn: Connection, *names: str, **asked: object) -> list[tuple[Any, ...]]:
        return self._rows.ask(conn, *names, **asked).fetchall()

    @contextmanager
    def _writing(self, deadline_s: float | None = None) -> Iterator[Connection]:
        """A transaction of the only one who writes to this notebook now."""
        with self._rows.writing(deadline_s=deadline_s) as conn:
            self._rows.lock(conn)
            yield conn


def _batches(things: Sequence[_Thing]) -> Iterator[Sequence[_Thing]]:
    return (things[begin : begin + _AT_ONCE] for begin in range(0, len(things), _AT_ONCE))


def _row_of(entry: NotebookEntry) -> EntryRow:
    """An entry as it is written; its links stand where tags are compared."""
    more = {
        "summary": entry.summary,
        "work_context": entry.work_context,
        "author": entry.author,
        "address": entry.address,
        "hash": entry.hash,
        "by_hand": entry.by_hand,
    }
    return EntryRow(
        id=entry.id,
        place=0,
        at=entry.at,
        nanos=0,
        written_at=entry.written or entry.at,
        scope=entry.section,
        body=entry.text,
        tags=(),
        supersedes=entry.supersedes,
        more=json.dumps(more, ensure_ascii=False),
        folded=_targets(entry_links(entry.summary, entry.text)),
    )


def _overview_columns(text: str) -> dict[str, object]:
    return {"body": text, "version": version_of(text), "links": Texts(_targets(links_of(text)))}


def _entry(row: Sequence[Any]) -> NotebookEntry:
    entry_id, section, at, more, expires, written, body, supersedes, _ = row
    return NotebookEntry(
        section=section,
        id=entry_id,
        at=_utc(at),
        text=body,
        supersedes=supersedes,
        written=None if written == at else _utc(written),
        expires=expires and _utc(expires),
        **json.loads(more),
    )


def _as_file(overview: str | None) -> SectionFile:
    return SectionFile(overview=overview or "", count=None, lines=0)


def _targets(links: Iterable[Link]) -> list[str]:
    return [_target(link.section, link.entry) for link in links]


def _target(section: str, entry: str) -> str:
    return f"{section}#{entry}" if entry else section


class _Replaced(NamedTuple):
    """A row of `replaced`: an entry, and one that took its place.

    Attributes:
        written_at: When that one was written down, whatever time it has.
    """

    former: str
    former_section: str
    former_at: datetime
    former_place: int
    id: str
    section: str
    at: datetime
    place: int
    written_at: datetime

    def is_written(self, before: datetime | None) -> bool:
        """Whether the one that took its place was written down before an instant."""
        return before is None or self.written_at < before


def _end_of_chain(
    row: _Replaced, newest: Mapping[str, _Replaced], before: datetime | None
) -> _Replaced:
    """What holds in the place of an entry that was replaced in its turn; the newest of a circle."""
    passed = {row.id}
    while later := newest.get(row.id):
        if later.id in passed or not later.is_written(before):
            break
        passed.add(later.id)
        row = later
    return row


def _link(section: str, entry_id: str, at: datetime) -> ChainLink:
    return ChainLink(ref=ref_of(section, entry_id), at=_utc(at))


def _utc(at: datetime) -> datetime:
    return at.astimezone(UTC)
