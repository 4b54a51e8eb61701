"""Owns chronicle's Markdown tree: one file for each entry, in folders by day, written in place.

Never follows a link out of the tree, and never writes without chronicle's own lock.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import re
import stat
import time
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from commonplace.core.digest import blake2b_hex
from commonplace.core.errors import Conflict, Invalid, NotFound, Unavailable, has_changed
from commonplace.core.expiring import nothing_hidden
from commonplace.core.files import (
    drop_reserved,
    make_folder,
    remove_file,
    remove_leftovers,
    replace_file,
    sync_folder,
    translated,
    write_new,
)
from commonplace.core.plain_files import (
    end_lock,
    open_plain,
    open_regular,
    rename_over,
    take_lock,
)
from commonplace.core.plain_yaml import parse_yaml, render_yaml
from commonplace.core.standstill import PROCESS
from commonplace.core.text import storable
from commonplace.db.sqlite import BUSY_S
from commonplace.journals.chronicle.entry_stamps import (
    TICK_NS,
    EntryStamps,
    LocalWrites,
    SeenEvent,
)
from commonplace.journals.chronicle.event import (
    JOURNAL,
    Changes,
    Event,
    Mention,
    ambiguous_id,
    changed,
    count_tags,
    held_of,
    links_to,
    relinked,
    successors_among,
    written_apart,
)
from commonplace.journals.chronicle.times import (
    from_instant,
    local_of,
    parse_created,
    parse_timestamp,
    render_utc,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import tzinfo
    from pathlib import Path

    from commonplace.core.expiring import Hidden
    from commonplace.core.project_folders import ProjectFolders
    from commonplace.journals.chronicle.event import (
        EventDraft,
        EventQuery,
        TagCount,
        UnlessSaid,
    )
    from commonplace.journals.chronicle.words import Words

SUFFIX = ".md"
_LOCK = ".lock"
_LARGEST_FILE = 64 * 1024 * 1024
_SLUG_WORDS, _SLUG_BYTES = 5, 60
_SHORT_ID = 8

SURVEYED = 500
"""How many files are looked at for the newest entries of a project."""

# Chronicle's own folders are for everybody to read; a new tree is its owner's alone.
_FOLDER_MODE = 0o700
_NOT_PLAIN = re.compile(r"[^a-z0-9]+")
_DATE_PART = re.compile(r"[0-9]{2}|[0-9]{4}")


class _File(NamedTuple):
    """A file as it lies there; equal stats mean equal content."""

    path: str
    size: int
    mtime_ns: int
    inode: int


class ChronicleTree:
    """The entries in one folder, there or not.

    Thread-safe: files already read are kept by their stat, and a race reads one twice.

    Args:
        zone: Of the dates that name the folders of what is written.
        patience_s: How long the lock of others is waited for.
        hidden: Gives the refs that no reader may see.
    """

    def __init__(
        self,
        path: Path,
        *,
        zone: tzinfo,
        patience_s: float = BUSY_S,
        hidden: Hidden = nothing_hidden,
    ) -> None:
        self.path = path
        self._hidden = hidden
        self.local_writes = LocalWrites()
        self._zone = zone
        self._patience_s = patience_s
        self._read_files: dict[str, tuple[_File, Event | str]] = {}

    def close(self) -> None:
        """Forget what was read; may be called twice."""
        self._read_files = {}

    def find(self, wanted: str) -> Event:
        """The one entry with this id, or whose id alone begins so. Raises: NotFound, Invalid."""
        return self._find(wanted)[0]

    def _find(self, wanted: str) -> tuple[Event, str]:
        events = list(self._events())
        for spelled in dict.fromkeys((wanted, wanted.lower())):
            whole = [x for x in events if x[0].id == spelled]
            if whole:
                return whole[0]
        begun = [x for x in events if x[0].id.startswith((wanted, wanted.lower()))]
        if len(begun) > 1:
            raise ambiguous_id(wanted, [event.id for event, _ in begun])
        if not begun:
            raise NotFound(
                f"No entry {JOURNAL}:{wanted}.", hint="List or search to see the ids there are."
            )
        return begun[0]

    def newest(self, limit: int, question: EventQuery) -> list[Event]:
        """The newest entries that are asked for, newest first. Raises: Denied, Unavailable."""
        return heapq.nlargest(limit, self._matching(question), key=_place_of)

    def newest_of(self, project: ProjectFolders, limit: int) -> list[Event]:
        """The newest entries of a project that no later one took the place of, newest first.

        Of the SURVEYED files with the latest days. Raises: Denied, Unavailable.
        """
        seen = self.read_many([*islice(self._latest(), SURVEYED)])
        seen.sort(key=_place_of, reverse=True)
        links = {tag for event in seen for tag in event.tags}
        return [*islice(held_of(seen, project, links), limit)]

    def _latest(self) -> Iterator[str]:
        """The paths of the entries, those of the latest day first."""
        for year in sorted(_dated(str(self.path)), reverse=True) if self._is_there() else ():
            for month in sorted(_dated(year), reverse=True):
                for day in sorted(_dated(month), reverse=True):
                    with contextlib.suppress(OSError):
                        names = sorted(os.listdir(day), reverse=True)
                        yield from (os.path.join(day, x) for x in names if x.endswith(SUFFIX))

    def oldest(self, limit: int, after: tuple[int, int]) -> list[Event]:
        """The entries after an (instant, place), oldest first. Raises: Denied, Unavailable."""
        later = (event for event, _ in self._events() if _place_of(event) > after)
        return heapq.nsmallest(limit, later, key=_place_of)

    def _matching(self, question: EventQuery) -> Iterator[Event]:
        """The entries that are asked for, in no order."""
        for event, _ in self._events():
            here = question.directory in {None, event.directory}
            within = (question.start,) <= _place_of(event) < question.below
            if here and within and question.tags.admits(event.folded):
                yield event

    def mentions(self, words: Words, question: EventQuery) -> list[Mention]:
        """The entries asked for that bear every word, newest first. Raises: Denied, Unavailable."""
        events = sorted(self._matching(question), key=_place_of, reverse=True)
        among = words.among(
            (number, " ".join([event.message, *event.own_tags]))
            for number, event in enumerate(events)
        )
        return [Mention(events[number].ref, events[number].instant) for number in among]

    def find_successors(self, ids: Sequence[str]) -> dict[str, Event]:
        """The newest entry that took the place of each, by its id. Raises: Denied, Unavailable."""
        return successors_among((event for event, _ in self._events()), ids) if ids else {}

    def after(self, event: Event) -> Event | None:
        """The entry that follows this one in time. Raises: Denied, Unavailable."""
        here = (event.instant, event.place)
        later = (x for x, _ in self._events() if (x.instant, x.place) > here)
        return min(later, key=lambda x: (x.instant, x.place), default=None)

    def add(self, draft: EventDraft, *, unless: UnlessSaid | None = None) -> tuple[Event, bool]:
        """Write an entry's file; (what was there, True) where its id is taken, or it is needless.

        Raises: Denied, Unavailable, Invalid.
        """
        with self._locked():
            there = [x for x, _ in self._events() if x.id == draft.id]
            if unless is not None:
                there += filter(unless.is_same, self._matching(unless.question))
            if there:
                return max(there, key=_place_of), True
            return self._put(draft), False

    def add_all(self, drafts: Sequence[EventDraft], *, on_added: Callable[[Event], None]) -> int:
        """Write the files of entries, less those whose id is taken; how many were written.

        on_added: called with each once it is written. Raises: as add; those before stay.
        """
        added = 0
        with self._locked():
            taken = {x.id for x, _ in self._events()}
            for draft in drafts:
                if draft.id not in taken:
                    on_added(self._put(draft))
                    taken.add(draft.id)
                    added += 1
        return added

    def stamp_for(self, draft: EventDraft) -> str:
        """The stamp that an entry will have."""
        return blake2b_hex(_render(draft))

    def _put(self, draft: EventDraft) -> Event:
        path = self._path_of(draft)
        self._refuse_link(path.parent)
        make_folder(path.parent, _FOLDER_MODE)
        drop_reserved(path)
        try:
            write_new(path, _render(draft), mode=0o600)
        except FileExistsError as exc:
            raise _name_is_taken(path) from exc
        event = self._read(str(path))
        assert isinstance(event, Event)
        return event

    def _refuse_link(self, folder: Path) -> None:
        """An entry behind a link would be in no list: chronicle follows none either."""
        inside = os.path.join(os.path.realpath(self.path), folder.relative_to(self.path))
        if os.path.realpath(folder) != inside:
            raise Invalid(
                "The folder {place} is reached through a link, and links are not followed.",
                hint="Put the folder itself there, or make the whole tree a link.",
                place=folder,
            )

    def _path_of(self, draft: EventDraft) -> Path:
        year, month, day = local_of(draft.instant, self._zone).date().isoformat().split("-")
        first = " ".join(draft.message.split()[:_SLUG_WORDS]).encode()[:_SLUG_BYTES]
        words = first.decode("utf-8", "ignore").lower()
        slug = _NOT_PLAIN.sub("-", words).strip("-") or "untitled"
        name = f"{slug}-{draft.id[:_SHORT_ID]}{SUFFIX}"
        return self.path / year / month / day / name

    def erase(self) -> None:
        """Nothing: an entry is a file, and leaves as one."""

    def edit(self, wanted: str, changes: Changes, *, expected: str | None) -> Event:
        """Change an entry; its file moves where its words or its day ask for another name.

        Raises: NotFound, Conflict where it is not `expected` any more, Invalid, Unavailable.
        """
        with self._locked():
            event, old = self._current(wanted, expected)
            draft = changed(event, changes)
            new = self._path_of(draft)
            if str(new) == old or (changes.instant is None and changes.message is None):
                new = type(new)(old)
            else:
                # First the name, then what is in it: a process killed between leaves one entry.
                self._refuse_link(new.parent)
                make_folder(new.parent, _FOLDER_MODE)
                if os.path.lexists(new):  # no other process makes it now: we hold the lock
                    raise _name_is_taken(new)
                with translated(new):
                    rename_over(old, new)
                    sync_folder(new.parent)
                self._remove_empty(type(new)(old).parent)
            replace_file(new, _render(draft))
            edited = self._read(str(new))
            assert isinstance(edited, Event)
            return edited

    def delete(self, wanted: str, *, expected: str | None) -> Event:
        """Remove an entry's file, and the folders that are empty then. Raises: as edit."""
        with self._locked():
            event, path = self._current(wanted, expected)
            self._close_chain([event])
            self._remove(path)
            return event

    def delete_all(self, stamps: Mapping[str, str]) -> list[Event]:
        """Remove the files of entries, less those whose stamp is another by now; what is gone.

        Raises: as edit; those before are gone then.
        """
        with self._locked():
            doomed = [x for x in self._events() if stamps.get(x[0].id) == x[0].stamp]
            self._close_chain([event for event, _ in doomed])
            for _, path in doomed:
                self._remove(path)
        return [event for event, _ in doomed]

    def _close_chain(self, doomed: Sequence[Event]) -> None:
        """Link the entries that replaced some that go to the entries that those had replaced.

        Done before they go: a process that is killed in between leaves two with one former entry.
        """
        links = links_to(doomed)
        for later, path in list(self._events()) if links else ():
            for link, event in links.items():
                tags = relinked(later, link, event)
                if tags != later.tags:
                    draft = changed(later, Changes(tags=tags))
                    replace_file(type(self.path)(path), _render(draft))

    def _current(self, wanted: str, expected: str | None) -> tuple[Event, str]:
        event, path = self._find(wanted)
        if expected is not None and event.stamp != expected:
            raise has_changed(event.ref)
        return event, path

    def _remove(self, path: str) -> None:
        file = type(self.path)(path)
        remove_file(file)
        self._remove_empty(file.parent)

    def _remove_empty(self, folder: Path) -> None:
        """Remove the folders that nothing is left in."""
        while folder != self.path:
            remove_leftovers(folder)
            try:
                os.rmdir(folder)
            except OSError:  # others lie in it
                return
            folder = folder.parent

    def tags(self) -> list[TagCount]:
        """All tags, most frequent first."""
        return count_tags((x.tags, 1) for x, _ in self._events())

    def get(self, identity: str) -> Event | None:
        """The entry with just this id, if there is one that can be read."""
        return next((x for x, _ in self._events() if x.id == identity), None)

    def get_many(self, identities: Sequence[str]) -> list[Event]:
        """The entries with just these ids that there are, in no order."""
        wanted = frozenset(identities)
        return [x for x, _ in self._events() if x.id in wanted]

    def changed_ns(self) -> int:
        """The present: an edit in place leaves no trace in the folders, so none is ever settled."""
        return time.time_ns()

    def files_state(self) -> str:
        """A token of the folders' mtimes: every file put under a name or removed changes one.

        Two changes within one tick of a disk's clock leave one mtime: of the folders that changed
        last it holds the files as well.
        """
        times: dict[str, int] = {}
        level = [str(self.path)]
        for _ in range(4):  # the tree, its years, months and days
            for path in level:
                with contextlib.suppress(OSError):
                    times[path] = os.stat(path).st_mtime_ns
            level = sorted(x for folder in level for x in _dated(folder))
        newest = max(times.values(), default=0)
        stamps = []
        for path, mtime_ns in times.items():
            files = _files_in(path) if newest - mtime_ns <= TICK_NS else []
            stamps.append("\0".join([path, str(mtime_ns), *files, ""]).encode("utf-8", "replace"))
        return blake2b_hex(*stamps)

    def mark(self) -> str:
        """The state of the folders; edits in place without a rename are found by a whole pass."""
        return self.files_state() if self._is_there() else "absent"

    def _is_there(self) -> bool:
        """Whether there is a tree. Raises: Invalid for a file, Denied, Unavailable."""
        try:
            with translated(self.path):
                found = os.stat(self.path)
        except NotFound:
            return False
        if not stat.S_ISDIR(found.st_mode):
            raise Invalid(
                "{place} is a file, and a Markdown tree is a folder.",
                hint="Check data_dir in chronicle's config.json, or CHRONICLE_DB_PATH.",
                place=self.path,
            )
        return True

    def count(self) -> int:
        """How many files there are, each with an entry unless it is broken."""
        return sum(x.endswith(SUFFIX) for *_, files in os.walk(self.path) for x in files)

    def read_stamps(self) -> EntryStamps:
        """One pass over all files; reads those that changed. Raises: Denied, Unavailable."""
        stamps = EntryStamps({}, [])
        for path, event in self._entries():
            if isinstance(event, Event):
                stamps.seen[event.ref] = SeenEvent(event.instant, event.stamp, path)
            else:
                stamps.unreadable.append((os.path.relpath(path, self.path), event))
        return stamps

    def read_many(self, keys: Sequence[object]) -> list[Event]:
        """The entries of files; what is gone or broken by now is left out."""
        hidden, found = self._hidden(), (self._read(str(key)) for key in keys)
        return [x for x in found if isinstance(x, Event) and x.ref not in hidden]

    def _events(self) -> Iterator[tuple[Event, str]]:
        for path, event in self._entries():
            if isinstance(event, Event):
                yield event, path

    def _entries(self) -> Iterator[tuple[str, Event | str]]:
        """Every file of the tree with its entry, or with why it holds no entry."""
        if not self._is_there():
            return
        hidden = self._hidden()
        known, self._read_files = self._read_files, {}
        for parent, folders, files in os.walk(self.path):
            folders.sort()
            for path in (os.path.join(parent, x) for x in sorted(files) if x.endswith(SUFFIX)):
                if path in known:
                    self._read_files[path] = known[path]
                event = self._read(path)
                if event and not (isinstance(event, Event) and event.ref in hidden):
                    yield path, event

    def _read(self, path: str) -> Event | str:
        """A file's entry, or why it holds none; empty where there is no file any more."""
        try:
            found = os.lstat(path)
        except OSError:
            self._read_files.pop(path, None)
            return ""
        file = _File(path, found.st_size, found.st_mtime_ns, found.st_ino)
        held = self._read_files.get(path)
        if held is None or held[0] != file:
            try:
                held = file, _event_of(_content(path, found), found.st_mtime_ns)
            except Invalid as exc:
                held = file, exc.message
            except OSError as exc:  # nothing to keep: a mode may change without the stat
                return f"It cannot be read: {os.strerror(exc.errno or 0)}."
            self._read_files[path] = held
        return held[1]

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold chronicle's lock on the tree against its other writers."""
        make_folder(self.path, _FOLDER_MODE)
        with translated(self.path / _LOCK):
            descriptor = open_plain(self.path / _LOCK, os.O_RDWR | os.O_CREAT, mode=0o644)
        try:
            if take_lock(descriptor, waits_s=self._patience_s) is False:
                raise Unavailable(
                    "The lock {place} is held by another process.",
                    hint="Try again, or end the process that holds it.",
                    place=self.path / _LOCK,
                )
            PROCESS.refuse()
            yield
        finally:
            end_lock(descriptor)
            os.close(descriptor)


def _name_is_taken(path: Path) -> Conflict:
    return Conflict(
        "A file {place} is there already, with another entry.",
        hint="Move it, then try again.",
        place=path,
    )


def _place_of(event: Event) -> tuple[int, int]:
    return event.instant, event.place


def _content(path: str, found: os.stat_result) -> str:
    """A file's text. Raises Invalid for what is not a plain file of a sane size, OSError."""
    if not stat.S_ISREG(found.st_mode):
        raise Invalid("It is not a plain file.")
    if found.st_size > _LARGEST_FILE:
        raise Invalid("It is too large.")
    with open_regular(path, follows_links=False) as file:
        return file.read().decode("utf-8", "replace")


def _event_of(content: str, mtime_ns: int) -> Event:
    """A file's entry; equal contents have equal stamps. Raises Invalid."""
    fields, message = parse_file(content)
    identity, tags = _text(fields.get("id")), fields.get("tags", ())
    if not identity:
        raise Invalid("It has no id.")
    instant = parse_timestamp(_text(fields.get("timestamp")))
    return Event(
        id=identity,
        at=from_instant(instant),
        nanos=instant % 1000,
        message=message,
        tags=(tags,) if isinstance(tags, str) and tags else tuple(x for x in tags if x),
        hostname=_text(fields.get("hostname")),
        username=_text(fields.get("username")),
        directory=_text(fields.get("working_directory")),
        stamp=blake2b_hex(content.encode()),
        place=mtime_ns,
        written=written_apart(instant, _written(fields.get("written")) or instant),
    )


def _written(field: str | list[str] | None) -> int | None:
    return parse_created(_text(field)) if field else None


def _text(value: str | list[str] | None) -> str:
    return value if isinstance(value, str) else ""


def _render(draft: EventDraft) -> bytes:
    fields = {
        "id": draft.id,
        "timestamp": render_utc(draft.instant),
        "hostname": draft.hostname,
        "username": draft.username,
        "working_directory": draft.directory,
        "tags": draft.tags,
    }
    if written_apart(draft.instant, draft.written):
        fields["written"] = render_utc(draft.written)
    return storable(render_file(fields, draft.message)).encode()


def _files_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as names:
            return sorted(f"{x.name}\0{x.inode()}" for x in names)
    except OSError:
        return []


def _dated(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as names:
            return [
                x.path
                for x in names
                if _DATE_PART.fullmatch(x.name) and x.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return []


_FENCE = "---"


def parse_file(text: str) -> tuple[dict[str, str | list[str]], str]:
    """The fields of a file and its message, as chronicle itself reads them; null is empty.

    Raises: Invalid where there is no frontmatter, or it is not a mapping of texts and lists.
    """
    trimmed = text.strip()
    rest = trimmed.removeprefix(_FENCE)
    close = rest.find(f"\n{_FENCE}", 0 if rest.startswith(("\n", "\r\n")) else 1)
    if rest == trimmed or close < 0:
        raise Invalid("It has no frontmatter.")
    found = parse_yaml(rest[:close])
    if not isinstance(found, dict):
        raise Invalid("Its frontmatter is not a mapping of keys to values.")
    fields: dict[str, str | list[str]] = {}
    for key, value in found.items():
        if isinstance(value, list):
            fields[key] = [each for each in value if isinstance(each, str)]
        elif value is None or isinstance(value, str):
            fields[key] = value or ""
    return fields, rest[close + len(_FENCE) + 1 :].strip()


def render_file(fields: Mapping[str, str | Sequence[str]], message: str) -> str:
    """A file as chronicle reads one; empty fields are left out."""
    filled = {
        key: value if isinstance(value, str) else list(value)
        for key, value in fields.items()
        if value
    }
    return f"{_FENCE}\n{render_yaml(filled)}{_FENCE}\n\n{message}\n"
