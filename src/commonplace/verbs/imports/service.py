"""Bringing in what another program kept: read one by one, written in groups, each entry once.

Never changes an original. What is stopped or killed goes on where it was, at the next call.
"""

from __future__ import annotations

import os
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, Invalid, NotFound, Unavailable
from commonplace.core.ids import import_key
from commonplace.core.importer import ForeignEntry, NotTaken
from commonplace.verbs.imports.journals import OUTCOMES
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
        counts: How many entries there are of each of `OUTCOMES`.
        changed: Which of them were changed in the original and here.
        undated: How many of the new ones bear no time of their own.
        guessed: Those taken whose encoding was guessed, by what it was guessed to be.
        first_at, last_at: When the first and the last of all were; None for none.
        left_out: What was not taken, by the reason.
        failed: The error of each path that could not be read to its end.
    """

    program: str
    title: str
    into: str
    counts: Counter[str] = field(default_factory=Counter)
    changed: Reason = field(default_factory=Reason)
    undated: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None
    guessed: dict[str, Reason] = field(default_factory=dict)
    left_out: dict[str, Reason] = field(default_factory=dict)
    failed: list[CommonplaceError] = field(default_factory=list)

    @property
    def taken(self) -> int:
        """How many entries are, or would be, written or altered."""
        return self.counts["new"] + self.counts["updated"]

    def leave_out(self, why: str, where: str, count: int = 1) -> None:
        """Count what is not taken."""
        if why not in self.left_out and len(self.left_out) >= _MOST_REASONS:
            why = "for other reasons"
        self.left_out.setdefault(why, Reason()).add(where, count)

    def next_of(self, found: Iterator[Read]) -> Read | None:
        """The next of what is read; what breaks off is noted, and what came before it stays."""
        try:
            return next(found, None)
        except CommonplaceError as exc:
            self.failed.append(exc)
            return None

    def note(self, entries: Sequence[ForeignEntry], outcomes: Sequence[Outcome]) -> None:
        """Count what became of entries."""
        for entry, outcome in zip(entries, outcomes, strict=True):
            if outcome not in OUTCOMES:
                self.leave_out(outcome, entry.where)
                continue
            self.counts[outcome] += 1
            self.undated += outcome == "new" and not entry.is_dated
            if outcome == "changed here":
                self.changed.add(entry.where)
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
        """What is to be read of a program: a path, else where it keeps its entries.

        Raises: NotFound where there is nothing, Unavailable where there is no such importer.
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
                found[name] = importer, [*importer.find(self._home, self._environ)]
            except CommonplaceError as exc:
                failed.append(exc)
            except Exception as exc:
                if name in OURS:
                    raise
                said = f"The importer {name}, which another package adds, failed: {exc}."
                failed.append(Unavailable(said, hint="Update that package, or remove it."))
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

        Into the journal that fits, where none is named; what is older than `since` is left out,
        and so is a date of two days where `dates` does not say which. Without a record of what is
        added it is only looked what would be done. Raises: Invalid, NotFound, Denied, Unavailable
        where the only file cannot be read at all, or the journal not be written to.
        """
        importer = load_importer(program)
        name = into or importer.into
        if name not in self._journals:
            hint = f"Use one of {', '.join(self._journals)}."
            raise Invalid(f"Nothing can be imported into {name}.", hint=hint)
        journal = self._journals[name]()
        done = ProgramImport(program=program, title=importer.title, into=name)
        if record is not None:
            record.begin(program)
        noting = None if record is None else record.into(name)
        read = 0
        entries = self._entries(importer, paths, done, since, dates)
        while group := list(islice(entries, _AT_ONCE)):
            done.note(group, self._put(program, group, journal, noting))
            read += len(group)
            if progress is not None:
                progress(read, 0)
        if not (read or done.left_out) and len(done.failed) == len(paths) == 1:
            raise done.failed[0]
        return done

    def _put(
        self,
        program: str,
        group: Sequence[ForeignEntry],
        journal: TakesImports,
        noting: JournalRecord | None,
    ) -> list[Outcome]:
        """Write a group, and note what of it is new, or only look; what becomes of each entry."""
        if noting is None:
            return [journal.look(program, entry) for entry in group]
        keys = [import_key(program, entry.id) for entry in group]
        noting.put_planned(dict.fromkeys(journal.absent(keys), ""))
        written = journal.put(program, group)
        versions = {key: x[1] for key, x in zip(keys, written, strict=True) if x[0] == "new"}
        outcomes = [outcome for outcome, _ in written]
        noting.put_added(versions, updated=outcomes.count("updated"))
        self._counts.add(program, noting.journal, len(versions))
        return outcomes

    def _entries(
        self,
        importer: Importer,
        paths: Sequence[str],
        done: ProgramImport,
        since: datetime | None,
        dates: Dates | None,
    ) -> Iterator[ForeignEntry]:
        """The entries that come in; what is left out, and what breaks off, is noted in `done`."""
        seen: set[int] = set()  # hashes: a million ids as they are would take three times as much
        for path in paths:
            found = importer.read(path, zone=self._zone)
            while (each := done.next_of(found)) is not None:
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
                    done.leave_out("older than --when", "")
                elif (known := hash(each.id)) in seen:
                    # Else each run would put one in the place of the other, and back.
                    done.leave_out("another with the same id came before it", each.where)
                else:
                    seen.add(known)
                    yield each
