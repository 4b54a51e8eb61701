"""Owns how thoughts become files of the private journal, once, under a name nothing else has.

Never says "written" before a file is whole on disk, and never writes two entries under one name.
"""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct

from commonplace.core.errors import CommonplaceError, Conflict, Denied, Invalid, NotFound
from commonplace.core.files import (
    drop_reserved,
    locked,
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
    first_micros,
    from_millis,
    parse_day,
    render_day,
    render_entry,
    render_stem,
    render_successor,
    to_millis,
)
from commonplace.journals.private.gitignore import EVERYTHING, IGNORE
from commonplace.journals.private.keys import Plan, find_plan, key_path, save_plan
from commonplace.journals.private.markdown import SUPERSEDES
from commonplace.journals.private.places import SUFFIX, EntryPlace, lexical_place, read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo
    from pathlib import Path

    from commonplace.journals.private.gitignore import IgnoredDays
    from commonplace.journals.private.project_copies import ProjectCopies
    from commonplace.journals.private.roots import Root


class _Render(Protocol):
    """The text of a file: of an instant, and written down at another one, if that is so."""

    def __call__(self, at: datetime, *, written: datetime | None) -> str: ...


class _Times(NamedTuple):
    """The instant that an entry is of, and when it is written down, where that is another one."""

    at: datetime
    written: datetime | None


LARGEST_WRITE = 10 * 1024 * 1024

_NAMES_TRIED = 10_000


class ThoughtsWritten(Struct, frozen=True, kw_only=True):
    """What a write made.

    Attributes:
        refs: User's first.
        repeated: An earlier call with the key made them.
        notes: Sentences on what was done so that git ignores them.
    """

    refs: tuple[str, ...]
    at: datetime
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


def refuse_large(texts: Iterable[str]) -> None:
    """Raise Invalid when the texts together are over 10 MB."""
    size = sum(len(well_formed(x).encode()) for x in texts)
    if size > LARGEST_WRITE:
        raise Invalid(
            f"The text has {size / (1 << 20):.1f} MB; {LARGEST_WRITE >> 20} MB are allowed.",
            hint="Write it as several entries.",
        )


class ThoughtWriter:
    """Writes the entries of one owner; safe beside any number of other processes.

    Args:
        roots: The user's first.
        zone: The owner's.
        keys: Our folder for idempotency keys.
        ignored: What keeps git away.
        random_micros: 0..999, the last digits of a file name.
        copies: Of the notes of projects.
    """

    def __init__(
        self,
        roots: Sequence[Root],
        zone: tzinfo,
        keys: Path,
        ignored: IgnoredDays,
        random_micros: Callable[[], int],
        *,
        copies: ProjectCopies,
    ) -> None:
        self._roots = roots
        self._zone = zone
        self._keys = keys
        self._ignored = ignored
        self._random_micros = random_micros
        self._copies = copies

    def write(
        self, thoughts: Mapping[str, str], at: datetime | None, key: str | None, *, now: datetime
    ) -> ThoughtsWritten:
        """Write checked thoughts, one file a root; the same key twice is one entry.

        Args:
            thoughts: See `checked_thoughts`.
            at: The time that they are of; None for now.
            key: What makes a repeated call the same entry.
            now: When they are written down.

        Raises: Invalid, Denied, Unavailable, Conflict; a ref already written is in the message.
        """
        texts: dict[Root, dict[str, str]] = {x: {} for x in self._roots}
        for field, text in thoughts.items():
            texts[self._roots[-1 if field == "project_notes" else 0]][field] = text
        parts: dict[Root, _Render] = {
            root: partial(render_entry, part, zone=self._zone)
            for root, part in texts.items()
            if part
        }
        for root in parts:
            root.refuse_link()
        times = _times(at, now)
        if key is not None and key.strip():
            return self._write_keyed(parts, times, key)
        refs: list[str] = []
        notes: list[str] = []
        for root, part in parts.items():
            with _listing_what_is_written(refs):
                refs.append(self._write_part(root, part, times, notes).ref)
        return ThoughtsWritten(refs=tuple(refs), at=times.at, notes=tuple(notes))

    def refuse_elsewhere(self, thoughts: Mapping[str, str], root: Root) -> None:
        """Raises: Invalid where a thought belongs elsewhere than in the root of its former."""
        if root.kinds >= {"user", "project"}:
            return
        is_user = "user" in root.kinds
        strange = [name for name in thoughts if (name == "project_notes") == is_user]
        if strange:
            whose = "user's" if is_user else "project's"
            fits = "all but project_notes" if is_user else "project_notes alone"
            raise Invalid(
                f"{', '.join(strange)} cannot take the place of an entry in the {whose} journal.",
                hint=f"Give {fits}, and write the others by themselves.",
            )

    def write_successor(
        self, root: Root, text: str, at: datetime | None, former: str, *, now: datetime
    ) -> ThoughtsWritten:
        """Write an entry that takes the place of another, once; again where that one was deleted.

        Args:
            root: Where both lie.
            text: Of the new one.
            at: The time that it is of; None for now.
            former: The ref of the other.
            now: When it is written down.

        Raises:
            Invalid, Denied, Unavailable, Conflict.
        """
        root.refuse_link()
        part = partial(render_successor, text, zone=self._zone, supersedes=former)
        times = _times(at, now)
        key = f"{SUPERSEDES} {former}"
        plan = find_plan(key_path(self._keys, key))
        if plan is not None and plan.done:
            with contextlib.suppress(CommonplaceError):
                if not os.path.lexists(lexical_place(plan.refs[0], (root,)).path):
                    remove_file(key_path(self._keys, key))
        return self._write_keyed({root: part}, times, key)

    def write_copy(
        self, part: _Render, at: datetime, key: str, *, now: datetime
    ) -> ThoughtsWritten:
        """Write a file of the user's that another program had, once.

        Raises: Invalid, Denied, Unavailable, Conflict.
        """
        root = self._roots[0]
        root.refuse_link()
        return self._write_keyed({root: part}, _times(at, now), key)

    def plan_copy(self, ref: str, at: datetime, key: str) -> None:
        """Note that an entry is to be written with a key. Raises: Denied, Unavailable."""
        make_folder(self._keys)
        with locked(self._keys):
            path = key_path(self._keys, key)
            if find_plan(path) is None:
                save_plan(path, Plan(refs=(ref,), millis=to_millis(at)))

    def note_copy(self, ref: str, at: datetime, key: str) -> None:
        """Note that an entry that is there was written with a key. Raises: Denied, Unavailable."""
        make_folder(self._keys)
        with locked(self._keys):
            plan = Plan(refs=(ref,), millis=to_millis(at), done=True)
            save_plan(key_path(self._keys, key), plan)

    def find_planned(self, key: str, *, unfinished: bool = False) -> str:
        """The ref of what a key wrote; empty where it has written nothing whole.

        unfinished: also of what it was about to write when its process was killed.
        """
        plan = find_plan(key_path(self._keys, key))
        return plan.refs[0] if plan is not None and (plan.done or unfinished) else ""

    def release(self, keys: Sequence[str]) -> None:
        """Let keys write again. Raises: Denied, Unavailable."""
        make_folder(self._keys)
        with locked(self._keys):
            for key in keys:
                remove_file(key_path(self._keys, key))

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

    def _write_keyed(
        self, parts: Mapping[Root, _Render], times: _Times, key: str
    ) -> ThoughtsWritten:
        make_folder(self._keys)
        with locked(self._keys):
            return self._write_once(parts, times, key_path(self._keys, key))

    def _write_part(self, root: Root, part: _Render, times: _Times, notes: list[str]) -> EntryPlace:
        content = part(times.at, written=times.written).encode()
        while True:  # a name lost here was won by another write
            place = self._free_place(root, times.at)
            with contextlib.suppress(FileExistsError):
                self._write_file(place, content, notes)
                return place

    def _free_place(self, root: Root, at: datetime) -> EntryPlace:
        """A name of this time that nothing has yet, not even an `.embedding` left alone."""
        day, start = render_day(at, self._zone), first_micros(at, self._random_micros())
        for tried in range(_NAMES_TRIED):
            stem = render_stem(at, self._zone, (start + tried) % 1_000_000)
            place = EntryPlace(root=root, relative=f"{day}/{stem}{SUFFIX}")
            if not os.path.lexists(place.path) and not os.path.lexists(place.sidecar):
                return place
        raise Conflict(
            f"{_NAMES_TRIED} file names for {at.isoformat()} are taken.",
            hint="Write with another time.",
        )

    def _write_file(self, place: EntryPlace, content: bytes, notes: list[str]) -> None:
        notes += put_file(place, content, self._ignored)
        self._copies.mirror(place)

    def _write_once(
        self, parts: Mapping[Root, _Render], times: _Times, path: Path
    ) -> ThoughtsWritten:
        plan = find_plan(path)
        if plan is None:
            refs = tuple(self._free_place(x, times.at).ref for x in parts)
            written = to_millis(times.written) if times.written else 0
            plan = Plan(refs=refs, millis=to_millis(times.at), written=written)
            save_plan(path, plan)
        at, repeated = from_millis(plan.millis), True
        written_at = from_millis(plan.written) if plan.written else None
        notes: list[str] = []
        if not plan.done:
            planned = [x.partition(":")[2].partition("/")[0] for x in plan.refs]
            if planned != [x.scope for x in parts]:
                raise Conflict(
                    "This idempotency key was used for thoughts that belong elsewhere.",
                    hint="Use a new key for a new entry.",
                )
            for number, (root, part) in enumerate(parts.items()):
                place = lexical_place(plan.refs[number], (root,))
                if os.path.lexists(place.path) and not drop_reserved(place.path):
                    continue
                repeated = False
                content = part(at, written=written_at).encode()
                with _listing_what_is_written(plan.refs[:number]):
                    while not self._write_or_match(place, content, notes):
                        place = self._free_place(root, at)
                        plan = plan.moved(number, place.ref)
                        save_plan(path, plan)
            with contextlib.suppress(CommonplaceError):  # without it, what is there says as much
                save_plan(path, plan.finished())
        return ThoughtsWritten(refs=plan.refs, at=at, repeated=repeated, notes=tuple(notes))

    def _write_or_match(self, place: EntryPlace, content: bytes, notes: list[str]) -> bool:
        """Write the file, or find it written by a twin of this call; False: the name is taken."""
        try:
            self._write_file(place, content, notes)
        except FileExistsError:
            return read_bytes(place)[0] == content
        return True


def put_file(place: EntryPlace, content: bytes, ignored: IgnoredDays) -> list[str]:
    """Write a new file in its day folder, which a deletion may take away until it is there.

    Returns:
        Notes on what was done so that git ignores it.

    Raises:
        FileExistsError, Denied, Unavailable.
    """
    notes = []
    for _ in range(3):
        _make_day(place)
        if note := ignored.ensure(place.root, place.path.parent.name):
            notes.append(note)
        remove_leftovers(place.path.parent)
        with contextlib.suppress(NotFound):
            write_new(place.path, content, mode=0o600)
            return notes
    write_new(place.path, content, mode=0o600)
    return notes


def _times(at: datetime | None, now: datetime) -> _Times:
    """Both times in whole milliseconds, as a frontmatter has them. Raises: Invalid."""
    of, written = (from_millis(to_millis(_checked_at(x))) for x in (at or now, now))
    return _Times(of, None if of == written else written)


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
