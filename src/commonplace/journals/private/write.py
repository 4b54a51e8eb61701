"""Owns how thoughts become files of the private journal, once, under a name nothing else has.

Never says "written" before a file is whole on disk, and never writes two entries under one name.
"""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, Conflict, Denied, Invalid, NotFound
from commonplace.core.files import (
    drop_reserved,
    make_folder,
    remove_file,
    remove_leftovers,
    translated,
    write_new,
)
from commonplace.core.text import nearest, well_formed
from commonplace.journals.private.format import (
    EARLIEST,
    HEADINGS,
    LATEST,
    PrivateEntry,
    first_micros,
    from_millis,
    parse_day,
    render_day,
    render_file,
    render_stem,
    render_thoughts,
    to_millis,
    written_line,
)
from commonplace.journals.private.gitignore import EVERYTHING, IGNORE
from commonplace.journals.private.keys import Plan
from commonplace.journals.private.markdown import SUPERSEDES
from commonplace.journals.private.places import (
    SUFFIX,
    EntryPlace,
    entry_in,
    lexical_place,
    read_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from commonplace.journals.private.gitignore import IgnoredDays
    from commonplace.journals.private.keys import EntryKeys
    from commonplace.journals.private.project_copies import ProjectCopies
    from commonplace.journals.private.roots import Root

_NAMES_TRIED = 10_000


class NewText(NamedTuple):
    """What is to be written: the text below the frontmatter, and further lines of that."""

    body: str
    lines: str = ""


class EntryTimes(NamedTuple):
    """The instant that an entry is of, and when it is written down, where that is another one."""

    at: datetime
    written: datetime | None


LARGEST_WRITE = 10 * 1024 * 1024


class ThoughtsWritten(Struct, frozen=True, kw_only=True):
    """What a write made.

    Attributes:
        refs: User's first.
        entries: Of these refs; one that an earlier call made may be gone by now.
        repeated: An earlier call with the key made them.
        notes: Sentences on what was done so that git ignores them.
    """

    refs: tuple[str, ...]
    at: datetime
    entries: tuple[PrivateEntry, ...] = ()
    repeated: bool = False
    notes: tuple[str, ...] = ()


def checked_thoughts(thoughts: Mapping[str, str]) -> dict[str, str]:
    """The fields that hold something, in the order of the file. Raises: Invalid."""
    for field, text in thoughts.items():
        if field not in HEADINGS:
            near = nearest(field, list(HEADINGS))
            raise Invalid(
                f"{field!r} is not a thought category.",
                hint=f"Use {near}." if near else f"Use one of: {', '.join(HEADINGS)}.",
            )
        if not isinstance(text, str):
            raise Invalid(f"{field} must be a text.", hint="Give a string, or leave it out.")
    kept = {x: thoughts[x] for x in HEADINGS if x in thoughts and thoughts[x].strip()}
    if not kept:
        raise Invalid(
            "At least one thought category must be provided.",
            hint=f"Fill one of: {', '.join(HEADINGS)}.",
        )
    refuse_large(kept.values())
    return kept


def refuse_elsewhere(thoughts: Mapping[str, str], kinds: frozenset[str]) -> None:
    """Raises: Invalid where a thought belongs elsewhere than in a root of these kinds."""
    if kinds >= {"user", "project"}:
        return
    is_user = "user" in kinds
    strange = [name for name in thoughts if (name == "project_notes") == is_user]
    if strange:
        whose = "user's" if is_user else "project's"
        fits = "all but project_notes" if is_user else "project_notes alone"
        raise Invalid(
            f"{', '.join(strange)} cannot take the place of an entry in the {whose} journal.",
            hint=f"Give {fits}, and write the others by themselves.",
        )


def checked_text(text: str) -> str:
    """A text that is to take an entry's place. Raises: Invalid where it is empty or over 10 MB."""
    if not text.strip():
        raise Invalid("The new text is empty.", hint="Delete the entry instead.")
    refuse_large([text])
    return text


def refuse_large(texts: Iterable[str]) -> None:
    """Raise Invalid when the texts together are over 10 MB."""
    size = sum(len(well_formed(x).encode()) for x in texts)
    if size > LARGEST_WRITE:
        raise Invalid(
            f"The text has {size / (1 << 20):.1f} MB; {LARGEST_WRITE >> 20} MB are allowed.",
            hint="Write it as several entries.",
        )


def render_new(text: NewText, times: EntryTimes, zone: tzinfo) -> bytes:
    """The file of a new entry."""
    lines = text.lines + written_line(times.written)
    return render_file(text.body, times.at, zone, lines).encode()


class ThoughtWriter(Struct, frozen=True, kw_only=True):
    """Writes the entries of one owner; safe beside any number of other processes.

    Attributes:
        roots: The user's first.
        ignored: What keeps git away.
        random_micros: 0..999, the last digits of a file name.
        copies: Of the notes of projects.
        is_noted: Whether something is still noted of a ref, as when an entry that is gone expires.
    """

    roots: Sequence[Root]
    zone: tzinfo
    keys: EntryKeys
    ignored: IgnoredDays
    random_micros: Callable[[], int]
    copies: ProjectCopies
    is_noted: Callable[[str], bool]

    def write(
        self, thoughts: Mapping[str, str], at: datetime | None, key: str | None, *, now: datetime
    ) -> ThoughtsWritten:
        """Write checked thoughts, one file a root; the same key twice is one entry.

        They are of `at`, or of `now`, at which they are written down.
        Raises: Invalid, Denied, Unavailable, Conflict; a ref already written is in the message.
        """
        fields: dict[Root, dict[str, str]] = {x: {} for x in self.roots}
        for field, thought in thoughts.items():
            fields[self.roots[-1 if field == "project_notes" else 0]][field] = thought
        texts = {root: NewText(render_thoughts(x)) for root, x in fields.items() if x}
        times = entry_times(at, now)
        if key is not None and key.strip():
            return self.write_keyed(texts, times, key)
        for root in texts:
            root.refuse_link()
        entries: list[PrivateEntry] = []
        notes: list[str] = []
        for root, text in texts.items():
            content = render_new(text, times, self.zone)
            with _listing_what_is_written([x.ref for x in entries]):
                while True:  # a name lost here was won by another write
                    place = self._free_place(root, times.at)
                    with contextlib.suppress(FileExistsError):
                        entries.append(self._write_file(place, content, notes))
                        break
        refs = tuple(entry.ref for entry in entries)
        return ThoughtsWritten(refs=refs, at=times.at, entries=tuple(entries), notes=tuple(notes))

    def write_successor(
        self, root: Root, text: str, at: datetime | None, former: str, *, now: datetime
    ) -> ThoughtsWritten:
        """Write an entry that takes the place of another, once; again where that one was deleted.

        Raises: Invalid, Denied, Unavailable, Conflict.
        """
        key = f"{SUPERSEDES} {former}"
        plan = self.keys.find(key)
        if plan is not None and plan.done:
            with contextlib.suppress(CommonplaceError):
                if not os.path.lexists(lexical_place(plan.refs[0], (root,)).path):
                    remove_file(self.keys.path_of(key))
        new = NewText(text.strip("\n"), f"{SUPERSEDES}: {former}\n")
        return self.write_keyed({root: new}, entry_times(at, now), key)

    def write_copy(
        self, text: NewText, at: datetime, key: str, *, now: datetime
    ) -> ThoughtsWritten:
        """Write a file of the user's that another program had, once.

        Raises: Invalid, Denied, Unavailable, Conflict.
        """
        return self.write_keyed({self.roots[0]: text}, entry_times(at, now), key)

    def write_file(self, place: EntryPlace, content: bytes) -> bool:
        """Write the file of an exported entry under its own name; False where that is taken.

        Raises: Denied, Unavailable.
        """
        if os.path.lexists(place.path) and not drop_reserved(place.path):
            return False
        try:
            self._write_file(place, content, [])
        except FileExistsError:
            return False
        return True

    def _free_place(self, root: Root, at: datetime) -> EntryPlace:
        """A name of this time that nothing has yet, not even an `.embedding` left alone.

        Nor is it that of an entry which is gone while its copy or its end is kept: the new entry
        would get them.
        """
        day, start = render_day(at, self.zone), first_micros(at, self.random_micros())
        for tried in range(_NAMES_TRIED):
            stem = render_stem(at, self.zone, (start + tried) % 1_000_000)
            place = EntryPlace(root=root, relative=f"{day}/{stem}{SUFFIX}")
            if os.path.lexists(place.path) or os.path.lexists(place.sidecar):
                continue
            if not self.copies.has(place) and not self.is_noted(place.ref):
                return place
        raise Conflict(
            f"{_NAMES_TRIED} file names for {at.isoformat()} are taken.",
            hint="Write with another time.",
        )

    def _write_file(self, place: EntryPlace, content: bytes, notes: list[str]) -> PrivateEntry:
        """The entry that was written, made of what was written."""
        status, said = put_file(place, content, self.ignored)
        notes += said
        self.copies.keep(place, content, status)
        return entry_in(place, content, status, self.zone)

    def write_keyed(
        self, texts: Mapping[Root, NewText], times: EntryTimes, key: str
    ) -> ThoughtsWritten:
        """Write texts, one file a root, at the places that the first call with a key planned."""
        for root in texts:
            root.refuse_link()
        entries: list[PrivateEntry] = []
        notes: list[str] = []
        with self.keys.locked():
            plan = self._planned(texts, times, key)
            written = from_millis(plan.written) if plan.written else None
            times = EntryTimes(from_millis(plan.millis), written)
            for number, (root, text) in enumerate(() if plan.done else texts.items()):
                place = lexical_place(plan.refs[number], (root,))
                if os.path.lexists(place.path) and not drop_reserved(place.path):
                    continue
                content = render_new(text, times, self.zone)
                with _listing_what_is_written(plan.refs[:number]):
                    while (entry := self._write_or_match(place, content, notes)) is None:
                        place = self._free_place(root, times.at)
                        plan = plan.moved(number, place.ref)
                        self.keys.save(key, plan)
                    entries.append(entry)
            if not plan.done:
                with contextlib.suppress(CommonplaceError):  # what is there says as much
                    self.keys.save(key, replace(plan, done=True))
        return ThoughtsWritten(
            refs=plan.refs,
            at=times.at,
            entries=tuple(entries),
            repeated=not entries,
            notes=tuple(notes),
        )

    def _planned(self, texts: Mapping[Root, NewText], times: EntryTimes, key: str) -> Plan:
        """Where the first call with a key writes, or wrote. Raises: Conflict."""
        plan = self.keys.find(key)
        if plan is None:
            refs = tuple(self._free_place(x, times.at).ref for x in texts)
            written = to_millis(times.written) if times.written else 0
            plan = Plan(refs=refs, millis=to_millis(times.at), written=written)
            self.keys.save(key, plan)
        scopes = [x.partition(":")[2].partition("/")[0] for x in plan.refs]
        if not plan.done and scopes != [x.scope for x in texts]:
            raise Conflict(
                "This idempotency key was used for thoughts that belong elsewhere.",
                hint="Use a new key for a new entry.",
            )
        return plan

    def _write_or_match(
        self, place: EntryPlace, content: bytes, notes: list[str]
    ) -> PrivateEntry | None:
        """Write the file, or find it written by a twin of this call; None: the name is taken."""
        try:
            return self._write_file(place, content, notes)
        except FileExistsError:
            there, status = read_bytes(place)
            return entry_in(place, there, status, self.zone) if there == content else None


def put_file(
    place: EntryPlace, content: bytes, ignored: IgnoredDays
) -> tuple[os.stat_result, list[str]]:
    """Write a new file in its day folder, which a deletion may take away until it is there.

    Returns:
        The file's status, and notes on what was done so that git ignores it.

    Raises:
        FileExistsError, Denied, Unavailable.
    """
    notes, path = [], place.path
    for _ in range(3):
        _make_day(place)
        if note := ignored.ensure(place.root, path.parent.name):
            notes.append(note)
        remove_leftovers(path.parent)
        with contextlib.suppress(NotFound):
            return write_new(path, content, mode=0o600), notes
    return write_new(path, content, mode=0o600), notes


def entry_times(at: datetime | None, now: datetime) -> EntryTimes:
    """Both times in whole milliseconds, as a frontmatter has them. Raises: Invalid."""
    of, written = (from_millis(to_millis(_checked_at(x))) for x in (at or now, now))
    return EntryTimes(of, None if of == written else written)


def _checked_at(at: datetime) -> datetime:
    if at.tzinfo is None:
        raise Invalid(f"The time {at} has no zone.", hint="Add one, such as Z or +02:00.")
    if not EARLIEST <= at < LATEST:
        raise Invalid(f"The time {at} is out of range.", hint="Use a year from 1971 to 2199.")
    return at.astimezone(UTC)


def _make_day(place: EntryPlace) -> None:
    """Make the folders of a place, closed to others; a new project's is ignored by git."""
    root, day = place.root.path, place.path.parent
    place.root.refuse_link()
    make_folder(root)
    if "user" not in place.root.kinds:
        remove_leftovers(root)
        # Git keeps away from a root that holds no day yet; one in use is its owner's affair.
        ignore = root / IGNORE
        with translated(root):
            is_used = os.path.lexists(ignore) or any(parse_day(x) for x in os.listdir(root))
        if not is_used:
            with contextlib.suppress(FileExistsError):
                write_new(ignore, EVERYTHING, mode=0o600)
    if os.path.islink(day):
        raise Denied(
            f"{day} is a symbolic link; entries are not written through it.",
            hint="Replace it by a folder.",
        )
    make_folder(day)


@contextlib.contextmanager
def _listing_what_is_written(refs: Sequence[str]) -> Iterator[None]:
    """Name what is already written in an error that comes after it."""
    try:
        yield
    except CommonplaceError as exc:
        if not refs:
            raise
        written = f"Already written: {', '.join(refs)}."
        raise exc.extended(written, hint="Then write only what is missing.") from exc
