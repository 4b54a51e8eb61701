"""Bringing in what another program kept: read one by one, written in groups, each entry once.

Never changes an original. What is stopped or killed goes on where it was, at the next call.
"""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, Invalid, NotFound, Unavailable
from commonplace.core.ids import import_key
from commonplace.core.importer import ForeignEntry, NotTaken
from commonplace.verbs.imports.journals import Refused
from commonplace.verbs.imports.programs import OURS, list_others, load_importer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.importer import Importer, Read
    from commonplace.verbs.imports.counts import ImportCounts
    from commonplace.verbs.imports.journals import Outcome, TakesImports
    from commonplace.verbs.imports.records import ImportRecord, JournalRecord

Progress: TypeAlias = "Callable[[int, int], None]"
"""Called with (entries read, 0: how many are to come is not known)."""

Dates: TypeAlias = Literal["day-first", "month-first"]
"""What `01/02/2026` is: 1 February or January 2."""

_TWO_DAYS = "its date can be read as two days: say which with --dates day-first or month-first"
_AT_ONCE = 500
_PLACES = 3
_MOST_REASONS = 100


class Reason(Struct, kw_only=True):
    """Something that is said of entries: how often, and where first."""

    count: int = 0
    where: list[str] = field(default_factory=list)

    def add(self, where: str, count: int = 1) -> None:
        """Count some, the first of them by their place."""
        self.count += count
        if where and len(self.where) < _PLACES:
            self.where.append(where)


class ProgramImport(Struct, kw_only=True):
    """What an import took of a program, or would take.

    Attributes:
        program: The name of its importer.
        title: As its users call it.
        into: The journal.
        paths: What was read.
        new: Entries that are written now.
        there: Those that were there already, as they are in the original.
        updated: Those that changed in the original, and were as they had been brought in.
        changed_here: Those that changed in the original and here: they stay as they are here.
        deleted_here: Those that were brought in once and deleted: they do not come back.
        undated: Those of the new ones that bear no time of their own.
        guessed: Those taken whose encoding was guessed, by what it was guessed to be.
        first_at, last_at: When the first and the last of all were; None for none.
        left_out: What was not taken, by the reason.
        failed: What could not be read to its end, each with the error.
    """

    program: str
    title: str
    into: str
    paths: list[str] = field(default_factory=list)
    new: int = 0
    there: int = 0
    updated: int = 0
    changed_here: list[str] = field(default_factory=list)
    changed_count: int = 0
    deleted_here: int = 0
    undated: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None
    guessed: dict[str, Reason] = field(default_factory=dict)
    left_out: dict[str, Reason] = field(default_factory=dict)
    failed: list[tuple[str, CommonplaceError]] = field(default_factory=list)

    @property
    def taken(self) -> int:
        """How many entries are, or would be, written or altered."""
        return self.new + self.updated

    def leave_out(self, why: str, where: str, count: int = 1) -> None:
        """Count what is not taken."""
        if why not in self.left_out and len(self.left_out) >= _MOST_REASONS:
            why = "for other reasons"
        self.left_out.setdefault(why, Reason()).add(where, count)

    def note(self, entry: ForeignEntry, outcome: object) -> None:
        """Count what became of an entry."""
        match outcome:
            case Refused(why=why):
                self.leave_out(why, entry.where)
                return
            case "new":
                self.new += 1
                self.undated += not entry.is_dated
            case "there":
                self.there += 1
            case "updated":
                self.updated += 1
            case "changed here":
                self.changed_count += 1
                if len(self.changed_here) < _PLACES:
                    self.changed_here.append(entry.where)
            case _:
                self.deleted_here += 1
        if entry.read_as and outcome in ("new", "updated"):
            self.guessed.setdefault(entry.read_as, Reason()).add(entry.where)
        if entry.at is not None:
            self.first_at = min(self.first_at or entry.at, entry.at)
            self.last_at = max(self.last_at or entry.at, entry.at)


class ForeignImport:
    """Imports what other programs keep.

    Args:
        journals: Opens what takes entries, by the name of the journal.
        counts: Keeps how much was ever brought in.
        zone: In which times without one are read.
        home: The user's home folder.
        environ: The environment, which may say that a program keeps its files elsewhere.
    """

    def __init__(
        self,
        journals: Mapping[str, Callable[[], TakesImports]],
        *,
        counts: ImportCounts,
        zone: tzinfo,
        home: str,
        environ: Mapping[str, str],
    ) -> None:
        self._journals = journals
        self._counts = counts
        self._zone = zone
        self._home = home
        self._environ = environ

    def find(self, program: str, path: str = "") -> list[str]:
        """What is to be read of a program.

        Args:
            program: The name of its importer.
            path: Of a file or a folder, in place of where the program keeps its entries.

        Raises:
            NotFound: There is nothing.
        """
        importer = load_importer(program)
        hint = f"Name {importer.takes}."
        if path:
            if not os.path.exists(path):
                raise NotFound("There is no file or folder {place}.", hint=hint, place=path)
            return [os.path.abspath(path)]
        found = [*importer.find(self._home, self._environ)]
        if not found:
            message = f"Nothing of {importer.title} was found where it keeps its entries."
            raise NotFound(message, hint=hint)
        return found

    def list_importers(
        self,
    ) -> tuple[dict[str, tuple[Importer, list[str]]], list[CommonplaceError]]:
        """Each importer by name, with what it finds unasked; why others cannot be used."""
        found: dict[str, tuple[Importer, list[str]]] = {}
        failed: list[CommonplaceError] = []
        for name in (*OURS, *list_others()):
            try:
                importer = load_importer(name)
            except Unavailable as exc:
                failed.append(exc)
            else:
                found[name] = importer, [*importer.find(self._home, self._environ)]
        return found, failed

    def go_through(
        self,
        program: str,
        paths: Sequence[str],
        *,
        into: str = "",
        since: datetime | None = None,
        dates: Dates | None = None,
        record: ImportRecord | None,
        progress: Progress | None = None,
    ) -> ProgramImport:
        """Import what is new or changed; what was imported before it is stopped stays.

        Args:
            program: The name of its importer.
            paths: As `find` gives them.
            into: A journal; empty for the one that fits.
            since: Leaves out what is older.
            dates: How a date that can be read as two days is read; else such an entry is left out.
            record: Takes what is added; None for a look at what would be done.
            progress: Called as the work goes on.

        Raises:
            Invalid, NotFound, Denied, Unavailable: The only file cannot be read at all, or the
                journal not be written to.
        """
        importer = load_importer(program)
        name = into or importer.into
        if name not in self._journals:
            raise Invalid(
                f"Nothing can be imported into {name}.",
                hint=f"Use one of {', '.join(self._journals)}.",
            )
        journal = self._journals[name]()
        done = ProgramImport(program=program, title=importer.title, into=name, paths=list(paths))
        noting = None
        if record is not None:
            record.begin(program)
            noting = record.into(name)
        read = 0
        for group in _groups(self._entries(importer, done, since, dates)):
            if noting is not None:
                outcomes = self._put(program, group, journal, noting)
            else:
                outcomes = [journal.look(program, entry) for entry in group]
            for entry, outcome in zip(group, outcomes, strict=True):
                done.note(entry, outcome)
            read += len(group)
            if progress is not None:
                progress(read, 0)
        nothing = not (read or done.left_out)
        if nothing and len(done.failed) == len(paths) == 1:
            raise done.failed[0][1]
        return done

    def _put(
        self,
        program: str,
        group: Sequence[ForeignEntry],
        journal: TakesImports,
        noting: JournalRecord,
    ) -> list[Outcome | Refused]:
        """Write a group, and note what of it is new; what became of each entry."""
        keys = [import_key(program, entry.id) for entry in group]
        noting.put_planned(dict.fromkeys(journal.absent(keys), ""))
        written = journal.put(program, group)
        outcomes = [each.outcome for each in written]
        added = zip(keys, written, strict=True)
        versions = {key: each.version for key, each in added if each.outcome == "new"}
        noting.put_added(versions, updated=outcomes.count("updated"))
        self._counts.add(program, noting.journal, len(versions))
        return outcomes

    def _entries(
        self, importer: Importer, done: ProgramImport, since: datetime | None, dates: Dates | None
    ) -> Iterator[ForeignEntry]:
        seen: set[int] = set()  # hashes: a million ids as they are would take three times as much
        for path in done.paths:
            found = importer.read(path, zone=self._zone)
            while (each := _next(found, path, done)) is not None:
                if isinstance(each, NotTaken):
                    done.leave_out(each.why, each.where, each.count)
                    continue
                if each.month_first is not None:
                    if dates is None:
                        done.leave_out(_TWO_DAYS, f"{each.where}: {each.said}")
                        continue
                    if dates == "month-first":
                        each = replace(each, at=each.month_first)
                if since is not None and each.at is not None and each.at < since:
                    done.leave_out("older than --since", "")
                elif (known := hash(each.id)) in seen:
                    # Else each run would put one in the place of the other, and back.
                    done.leave_out("another with the same id came before it", each.where)
                else:
                    seen.add(known)
                    yield each


def _next(found: Iterator[Read], path: str, done: ProgramImport) -> Read | None:
    """The next of what is read; what breaks off is noted, and what came before it stays."""
    try:
        return next(found, None)
    except CommonplaceError as exc:
        done.failed.append((path, exc))
        return None


def _groups(entries: Iterator[ForeignEntry]) -> Iterator[list[ForeignEntry]]:
    while group := list(islice(entries, _AT_ONCE)):
        yield group
