"""Where what is brought in is written: the journals, each entry once by the id it had before.

Never writes an entry twice, and never over what was changed or deleted here since.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from msgspec.structs import replace

from commonplace.core.errors import Invalid
from commonplace.core.ids import import_key, key_id
from commonplace.core.text import text_hash
from commonplace.journals.private.copied import Copy, check_copy, digest_of_copy
from commonplace.journals.timeline.entry import (
    KEYS,
    SUPERSEDES,
    TimelineDraft,
    check_time,
    names_of,
    pack_id,
    parse_content,
    render_metadata,
    version_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.clock import Clock
    from commonplace.core.importer import ForeignEntry
    from commonplace.core.redact import Screen
    from commonplace.journals.private.journal import PrivateEntry
    from commonplace.journals.private.ports import ThoughtStore
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.journal import TimelineJournal

Outcome: TypeAlias = str
"""What becomes of an entry, one of `OUTCOMES`; else why it cannot be written, in words that are the
same for all of its kind."""

OUTCOMES = ("new", "there", "updated", "changed here", "deleted here")
"""It is written; it is there as in the original; it was altered there, and is here as it had been
imported; it was altered there and here, and stays; it was deleted here, and does not come back."""

IMPORTED_FROM = "imported_from"
IMPORTED_ID = "imported_id"
IMPORTED_HASH = "imported_hash"
"""Names in an entry's metadata, or its frontmatter: the program, its id there, what it said."""

DEEPEST = 100
"""The deepest metadata of an entry, in levels; without a limit, the Python's would count."""

_TYPE = "memory_type"


class TakesImports(Protocol):
    """A journal that takes entries of other programs."""

    def look(self, program: str, entry: ForeignEntry) -> Outcome:
        """What would become of an entry; writes nothing. Raises: Denied, Unavailable."""

    def absent(self, keys: Sequence[str]) -> list[str]:
        """Those of the import keys whose entry is not there. Raises: Denied, Unavailable."""

    def put(self, program: str, entries: Sequence[ForeignEntry]) -> list[tuple[Outcome, str]]:
        """Write what is new, alter what was changed there alone.

        Returns:
            What became of each, and the version of one that is new, else empty.

        Raises:
            Denied, Unavailable; what was written before stays.
        """


def _screened(entry: ForeignEntry, screen: Screen) -> ForeignEntry | Outcome:
    """An entry as it may be written, or why it may not."""
    if _is_deeper(entry.metadata, DEEPEST):
        return "its metadata is nested too deeply"
    try:
        return replace(
            entry,
            id=screen(entry.id),
            text=screen(entry.text),
            tags=tuple(screen.values(list(entry.tags))),
            kind=screen(entry.kind),
            metadata=screen.values(dict(entry.metadata)),
        )
    except Invalid:
        return "a secret is in it, and secrets.at_write is refuse"


def _is_deeper(value: object, levels: int) -> bool:
    """Whether data has more levels than that; found level by level, without recursion."""
    level = [value]
    for _ in range(levels):
        level = [
            inner
            for each in level
            if isinstance(each, (Mapping, list, tuple))
            for inner in (each.values() if isinstance(each, Mapping) else each)
        ]
        if not level:
            return False
    return any(isinstance(each, (Mapping, list, tuple)) for each in level)


class IntoTimeline:
    """Writes into a timeline, many in one transaction; the key of an entry makes its id.

    Args:
        journal: The timeline.
        clock: The present, for an entry without a time.
    """

    def __init__(self, journal: TimelineJournal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock

    def look(self, program: str, entry: ForeignEntry) -> Outcome:
        """See `TakesImports.look`."""
        draft = self._draft(program, entry)
        if isinstance(draft, str):
            return draft
        made = key_id(KEYS, self._journal.owner, draft.key)
        there = self._journal.find(made)
        if there is not None:
            return _outcome(there, draft)
        if self._journal.database.ask("find_tombstone", id=pack_id(made)):
            return "deleted here"
        return "new"

    def absent(self, keys: Sequence[str]) -> list[str]:
        """See `TakesImports.absent`."""
        return self._journal.absent(keys)

    def put(self, program: str, entries: Sequence[ForeignEntry]) -> list[tuple[Outcome, str]]:
        """See `TakesImports.put`."""
        drafts = [self._draft(program, entry) for entry in entries]
        fits = [draft for draft in drafts if isinstance(draft, TimelineDraft)]
        added = iter(self._journal.add_many(fits) if fits else ())
        done: list[tuple[Outcome, str]] = []
        for draft in drafts:
            if isinstance(draft, str):
                done.append((draft, ""))
                continue
            one = next(added)
            if one.is_new:
                done.append(("new", version_of(one.entry)))
                continue
            outcome = _outcome(one.entry, draft)
            if outcome == "updated":
                self._journal.update(
                    one.entry.id,
                    content=draft.content,
                    metadata=draft.metadata,
                    expected=version_of(one.entry),
                )
            done.append((outcome, ""))
        return done

    def _draft(self, program: str, original: ForeignEntry) -> TimelineDraft | Outcome:
        entry = _screened(original, self._journal.screen)
        if isinstance(entry, str):
            return entry
        metadata = {
            # What another program calls so is no link between entries here.
            **{name: value for name, value in entry.metadata.items() if name != SUPERSEDES},
            **({_TYPE: entry.kind} if entry.kind else {}),
            **({"tags": list(entry.tags)} if entry.tags else {}),
            IMPORTED_FROM: program,
            IMPORTED_ID: entry.id,
        }
        # By what is going to be read back, so that it can be compared with it.
        metadata[IMPORTED_HASH] = _digest_in(entry.text, metadata)
        try:
            content = parse_content(entry.text)
        except Invalid:
            blank = not entry.text.strip()
            return "there is no text in it" if blank else "it is longer than 1 MB"
        try:
            render_metadata(metadata)
        except Invalid:
            return "what belongs to it is longer than 64 KB, or no JSON"
        try:
            at = check_time(entry.at or self._clock())
        except Invalid:
            return "its time lies at an end of the calendar"
        return TimelineDraft(
            content=content, at=at, metadata=metadata, key=import_key(program, original.id)
        )


def _digest_in(text: str, metadata: Mapping[str, object]) -> str:
    """What differs whenever its text, its kind or its tags do, in more than white space."""
    kind = metadata.get(_TYPE)
    parts = (kind if isinstance(kind, str) else "", ", ".join(names_of(metadata, "tags")))
    return text_hash("\0".join((*parts, " ".join(text.split()))))


def _outcome(there: TimelineEntry, draft: TimelineDraft) -> Outcome:
    """What becomes of an original whose entry is there."""
    if there.status == "deleted":
        return "deleted here"
    was = there.metadata.get(IMPORTED_HASH)
    if was == draft.metadata[IMPORTED_HASH]:
        return "there"
    return "updated" if was == _digest_in(there.content, there.metadata) else "changed here"


class IntoPrivate:
    """Writes into the user's private journal, one file for each entry, with its origin.

    Args:
        journal: The private journal.
        screen: What every text goes through that is written.
        clock: The present, for an entry without a time.
    """

    def __init__(self, journal: ThoughtStore, screen: Screen, clock: Clock) -> None:
        self._journal = journal
        self._screen = screen
        self._clock = clock

    def look(self, program: str, entry: ForeignEntry) -> Outcome:
        """See `TakesImports.look`."""
        copy = self._copy(program, entry)
        if isinstance(copy, str):
            return copy
        return _outcome_of_copy(self._journal.find_copy(import_key(program, entry.id)), copy)

    def absent(self, keys: Sequence[str]) -> list[str]:
        """See `TakesImports.absent`."""
        return [key for key in keys if self._journal.find_written_copy(key) is None]

    def put(self, program: str, entries: Sequence[ForeignEntry]) -> list[tuple[Outcome, str]]:
        """See `TakesImports.put`."""
        return [self._put(program, entry) for entry in entries]

    def _put(self, program: str, entry: ForeignEntry) -> tuple[Outcome, str]:
        copy = self._copy(program, entry)
        if isinstance(copy, str):
            return copy, ""
        key = import_key(program, entry.id)
        there = self._journal.find_copy(key)
        outcome = _outcome_of_copy(there, copy)
        if outcome == "new":
            written = self._journal.write_copy(copy, key)
            if written.repeated:  # another import has written it since
                return "there", ""
            return outcome, written.entries[0].version
        if outcome == "updated" and not isinstance(there, str):
            self._journal.update_copy(there, copy)
        return outcome, ""

    def _copy(self, program: str, original: ForeignEntry) -> Copy | Outcome:
        entry = _screened(original, self._screen)
        if isinstance(entry, str):
            return entry
        copy = Copy(
            text=entry.text,
            at=entry.at or self._clock(),
            program=program,
            id=entry.id,
            kind=entry.kind,
            tags=entry.tags,
        )
        return check_copy(copy) or copy


def _outcome_of_copy(there: PrivateEntry | Literal["never", "deleted here"], copy: Copy) -> Outcome:
    """What becomes of an original, by what its key has written before."""
    if there == "never":
        return "new"
    if there == "deleted here":
        return there
    was, now = digest_of_copy(there)
    if was == copy.digest:
        return "there"
    return "updated" if was == now else "changed here"
