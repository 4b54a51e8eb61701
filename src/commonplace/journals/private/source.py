"""Owns how the index follows one root: its mark, its changes, and the vectors beside its entries.

Never raises for a folder that is absent or a file that is broken, and never logs an entry's text.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import time
from typing import TYPE_CHECKING

from commonplace.core.brief_item import OWN
from commonplace.core.clock import local_date, render_date
from commonplace.core.errors import CommonplaceError, NotFound
from commonplace.core.files import remove_file, remove_leftovers, translated, write_derived
from commonplace.core.values import FROM_REPOSITORY, Doc, Drop, Put, superseding_tags
from commonplace.journals.private.embedding import (
    DIMENSIONS,
    MAKER,
    Embedding,
    find_fault_at_a_glance,
    render_embedding,
)
from commonplace.journals.private.format import reference_text, to_millis, turn_of
from commonplace.journals.private.places import (
    SUFFIX,
    EntryPlace,
    Listing,
    day_times,
    is_another_users,
    lexical_place,
    list_day,
    places_of,
    read_entry,
    stamp_of,
)
from commonplace.journals.private.repair import corrupt_sidecars
from commonplace.journals.private.watch import FolderWatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import tzinfo

    from commonplace.core.expiring import Hidden
    from commonplace.core.values import Change, Since, Vector
    from commonplace.journals.private.format import PrivateEntry
    from commonplace.journals.private.journal import PrivateJournal
    from commonplace.journals.private.places import Whose
    from commonplace.journals.private.roots import Root

_log = logging.getLogger(__name__)

JOURNAL = "private"
KIND = "entry"

# Two changes within one tick of a disk's clock leave one mtime: a young folder is counted too.
_RACY_NS = 2_000_000_000
_UNREADABLE = "unreadable"
# No day is called so.
_REPOSITORY = "repository"
_ASKED_BY_A_COMMAND = 2


class RootSource:
    """One root of the private journal, or of another project's, as the index follows it."""

    cheap_mark = True
    """Its mark only asks folders for their times."""
    exact_mark = False
    settles_mark = True
    """Our writers rename whole files into a day's folder; the mark of a young one is passing."""

    def __init__(self, journal: PrivateJournal, root: Root) -> None:
        self._root = root
        self._zone = journal.zone
        self._notices = journal.notices
        self._project_roots = journal.project_roots
        self._ignored = journal.ignored
        self._copies = journal.copies
        self._words = journal.words
        self._offered: dict[str, PrivateEntry] = {}
        self._examined: set[str] = set()
        self._filled: dict[str, int] = {}
        self._watch = FolderWatch(root.path)
        self._asked = 0
        # The times of the folders when last none was young, the mark they made, and since when the
        # system would have reported any change.
        self._settled: tuple[dict[str, int], str, int | None] = ({}, "{}", None)

    @property
    def name(self) -> str:
        """`private:user`, or `private:project@1f2e3d4c`."""
        return self._root.source

    def mark(self) -> str:
        """The mtime of each day folder, as JSON; with the number of entries where it is young.

        Where a repository is around it, also what changes with what that holds.
        """
        days = self._mark_of_days()
        if days in ("{}", _UNREADABLE) or not (token := self._words.token(self._root)):
            return days
        return f"{days[:-1]},{json.dumps(_REPOSITORY)}:{json.dumps(token)}}}"

    def _mark_of_days(self) -> str:
        settled, mark, watch_token = self._settled
        if self._watch.is_unchanged(watch_token):
            return mark
        # A command asks twice, and would only pay for watches: 19 of the 201 ms of `status`.
        self._asked += 1
        watches = settled and self._asked > _ASKED_BY_A_COMMAND
        watch_token = self._watch.token(settled.keys()) if watches else None
        try:
            days = day_times(self._root)
        except FileNotFoundError:
            return "{}"
        except OSError:
            return _UNREADABLE
        if days == settled:
            self._settled = settled, mark, watch_token
            return mark
        now = time.time_ns()  # the disk's own time, not the journal's clock: it judges mtimes
        marks: dict[str, str] = {}
        young = False
        for name, mtime_ns in sorted(days.items()):
            marks[name] = f"{mtime_ns}"
            if now - mtime_ns < _RACY_NS:
                marks[name] += f":{self._count(name)}"
                young = True
        mark = json.dumps(marks, separators=(",", ":"))
        if not young:
            self._settled = days, mark, None
        return mark

    def _count(self, day: str) -> int:
        try:
            return sum(x.endswith(SUFFIX) for x in os.listdir(self._root.path / day))
        except OSError:
            return 0

    def count(self, since: Since) -> tuple[int, int]:
        """How many files of entries there are, and how many of them are filed."""
        with translated(self._root.path):
            days = day_times(self._root)
        return sum(map(self._count, days)), len(since.stamps(f"{self.name}/"))

    def scan(self, since: Since) -> Iterator[Change]:
        """Puts of what is new or altered and drops of what is gone, newest day first.

        Raises: Denied, Unavailable, Invalid where the root is there and cannot be listed.
        """
        self._root.refuse_link()
        if os.path.isdir(self._root.path):
            self._project_roots.record(self._root)
        remove_leftovers(self._root.path)
        before = _parse_mark(since.mark)
        # Taken first: what changes while the notes are read is looked at again.
        token, whose = self._words.token(self._root), self._words.asked()
        known_token = before.pop(_REPOSITORY, "") if before else ""
        self._copies.look(self._root, thorough=before is None)
        # What is filed is asked for before the disk is, here and for each day: else an entry that
        # another process writes and files in between would look like one that has gone.
        known = since.stamps(f"{self.name}/") if before is None else {}
        days = self._days_of_scan(since, before)
        if before is None:
            gone = {x.removeprefix(f"{self.name}/").partition("/")[0] for x in known} - days.keys()
            changed = gone | days.keys()
        else:
            changed = {day for day, mark in days.items() if before.get(day) != mark}
            changed |= before.keys() - days.keys()
            if token != known_token:  # what git holds may be another's word by now
                changed |= days.keys()
        for day in sorted(changed, reverse=True):
            yield from self._scan_day(day, since, whose, is_there=day in days)

    def _days_of_scan(self, since: Since, before: Mapping[str, str] | None) -> dict[str, str]:
        """The day folders and their marks, as the scan's mark has them unless one is gone there."""
        if before is not None and (now := _parse_mark(since.now)) is not None:
            now.pop(_REPOSITORY, None)
            if before.keys() <= now.keys():  # else it may have come back, and been filed, since
                return now
        with translated(self._root.path), contextlib.suppress(FileNotFoundError):
            return {day: str(mtime_ns) for day, mtime_ns in day_times(self._root).items()}
        return {}

    def _scan_day(
        self, day: str, since: Since, whose: Whose, *, is_there: bool
    ) -> Iterator[Change]:
        known = since.stamps(f"{self.name}/{day}/")
        listing = self._listed(day) if is_there else Listing.empty()
        if listing is None:
            return
        present: set[str] = set()
        places = places_of(self._root, day, listing)
        named = zip(places, listing.entries.items(), strict=True)
        for place, (name, stamp) in reversed([*named]):
            ref = place.ref
            present.add(ref)
            is_anothers = is_another_users(listing.owners.get(name))
            if known.get(ref) != stamp + whose(place, is_anothers):
                entry = self._read(place, whose)
                if entry is not None:
                    yield Put(doc_of(entry, self._zone))
        yield from (Drop(ref) for ref in sorted(known.keys() - present))

    def _listed(self, day: str) -> Listing | None:
        folder = self._root.path / day
        try:
            listing = list_day(self._root, day)
        except FileNotFoundError:
            return None
        except OSError as exc:
            self._notices.log(folder, os.strerror(exc.errno or 0))
            return None
        if listing.leftovers:
            remove_leftovers(folder)
        for name in listing.refused:
            self._notices.log(folder / name, "it is not a plain file with a plain name")
        return listing

    def _read(self, place: EntryPlace, whose: Whose | None = None) -> PrivateEntry | None:
        """whose: None where whose word it is is of no use."""
        try:
            return read_entry(place, self._zone, whose)
        except NotFound:
            return None
        except CommonplaceError as exc:
            self._notices.log(place.path, exc.message)
            return None

    def keeps(self, identity: str) -> bool:
        """Whether private-journal-mcp would understand this encoder's vectors."""
        return identity.startswith(MAKER)

    def wanting(self, refs: Sequence[str] | None = None) -> Iterator[tuple[str, str]]:
        """(ref, text) of the entries without an `.embedding`, newest first, or of these refs.

        text: as private-journal-mcp takes it from the file. Blank texts, and folders that cannot
        be written to or that git does not ignore, want nothing. Without refs, a corrupt
        `.embedding` is removed first.
        """
        for place in self._entries_without_vector() if refs is None else self._without_vector(refs):
            entry = self._read(place)
            text = reference_text(entry.raw)[0] if entry else ""
            if entry and text:
                self._offered[place.ref] = entry
                yield place.ref, text

    def _entries_without_vector(self) -> Iterator[EntryPlace]:
        """Skips days in which nothing came or went since each of their entries had its vector."""
        try:
            times = day_times(self._root)
        except OSError:
            return
        now = time.time_ns()
        days = sorted(day for day, mtime_ns in times.items() if self._filled.get(day) != mtime_ns)
        missing = self._ignored.missing(self._root, days)
        for day in reversed(days):
            listing = self._listed(day)
            if day not in missing and listing and os.access(self._root.path / day, os.W_OK):
                removed = self._remove_corrupt(day, listing)
                is_filled = 0 < times[day] <= now - _RACY_NS  # 0: the disk did not say
                for place in places_of(self._root, day, listing):
                    stem = place.path.name.removesuffix(SUFFIX)
                    if stem not in listing.sidecars or place in removed:
                        is_filled = False
                        yield place
                if is_filled:
                    self._filled[day] = times[day]

    def _remove_corrupt(self, day: str, listing: Listing) -> list[EntryPlace]:
        """The entries whose `.embedding` was corrupt; each day is examined once in a process."""
        if day in self._examined:
            return []
        self._examined.add(day)
        removed = []
        found = corrupt_sidecars(self._root, day, listing, fault_of=find_fault_at_a_glance)
        for place, reason in found:
            with contextlib.suppress(CommonplaceError):
                remove_file(place.sidecar)
                self._notices.log(place.sidecar, f"it {reason}, and is made again")
                removed.append(place)
        return removed

    def _without_vector(self, refs: Sequence[str]) -> Iterator[EntryPlace]:
        for ref in refs:
            with contextlib.suppress(CommonplaceError):
                place = lexical_place(ref, (self._root,))
                is_missing = self._ignored.missing(self._root, [place.path.parent.name])
                can_be_kept = os.access(place.path.parent, os.W_OK) and not is_missing
                if can_be_kept and not os.path.lexists(place.sidecar):
                    yield place

    def keep(self, ref: str, vector: Vector, identity: str) -> None:
        """Write the `.embedding` of an entry that has none.

        A vector of another encoder, a text that changed since it was handed over, a lost race
        and a folder that cannot be written to leave things as they are.
        """
        # A sum is finite only where every number is; one by one they take ten times as long.
        fits = vector.shape == (DIMENSIONS,) and math.isfinite(float(vector.sum()))
        if not self.keeps(identity) or not fits:
            return
        place = lexical_place(ref, (self._root,))
        entry = self._offered.pop(ref, None) or self._read(place)
        if entry is None or _stamp_now(place) != entry.stamp:
            return
        text, sections = reference_text(entry.raw)
        if not text:
            return
        content = render_embedding(
            Embedding(
                vector=tuple(vector.tolist()),
                text=text,
                sections=sections,
                timestamp=to_millis(entry.at),
                path=str(place.path),
            )
        )
        try:
            # Not synced: 10 ms an entry here, and a torn one is found and mended by `doctor`.
            write_derived(place.sidecar, content.encode(), mode=0o600)
            if _stamp_now(place) != entry.stamp:  # edited or deleted since: this text is gone
                remove_file(place.sidecar)
        except FileExistsError:
            return
        except CommonplaceError as exc:
            self._notices.log(self._root.path, f"no .embedding can be written: {exc.message}")


class GoneNotesSource:
    """The notes that are gone from their projects, by their refs; a `Source` without an index."""

    name = f"{JOURNAL}:gone"
    cheap_mark = False
    exact_mark = False

    def __init__(self, journal: PrivateJournal, hidden: Hidden) -> None:
        self._journal = journal
        self._hidden = hidden

    def mark(self) -> str:
        """An empty mark: all of it is read each time."""
        return ""

    def scan(self, since: Since) -> Iterator[Change]:
        """A put of each note; the proof of forgetting names a copy that cannot be read."""
        hidden = self._hidden()
        try:
            for _, place in self._journal.recovery.gone_places():
                if place.ref not in hidden:
                    yield Put(doc_of(read_entry(place, self._journal.zone), self._journal.zone))
        except CommonplaceError as exc:
            _log.warning("Copies of notes that are gone could not be read: %s", exc)


def _stamp_now(place: EntryPlace) -> str:
    try:
        return stamp_of(os.lstat(place.path))
    except OSError:
        return ""


def sources_of(journal: PrivateJournal) -> list[RootSource]:
    """What the index follows: one source for each distinct root."""
    return [RootSource(journal, root) for root in journal.roots]


def other_sources_of(journal: PrivateJournal) -> list[RootSource]:
    """Sources of the owner's other projects, as far as their roots are known and there."""
    own = {root.scope for root in journal.roots}
    return [
        RootSource(journal, root) for root in journal.project_roots.each() if root.scope not in own
    ]


def doc_of(entry: PrivateEntry, zone: tzinfo) -> Doc:
    """What the index holds of an entry."""
    return Doc(
        ref=entry.ref,
        journal=JOURNAL,
        scope=entry.scope,
        kind=KIND,
        at=entry.at,
        text=entry.text,
        stamp=entry.stamp + entry.whose,
        headings=entry.headings,
        # What came along says nothing of what still holds of the owner's.
        tags=superseding_tags(entry.supersedes) if entry.word == OWN else (FROM_REPOSITORY,),
        dated=render_date(local_date(entry.at, zone)),
        written=entry.written,
        turn=turn_of(entry.written),
    )


def _parse_mark(mark: str | None) -> dict[str, str] | None:
    try:
        found = json.loads(mark) if mark else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
