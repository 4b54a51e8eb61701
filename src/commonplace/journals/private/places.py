"""Owns the way from a ref or a path to the bytes of one entry, and the listing of day folders.

Never opens what lies outside a root: every text is hostile until parsed, every link is suspect.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import unicodedata
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from commonplace.core.errors import CommonplaceError, Denied, Invalid, NotFound
from commonplace.core.files import is_leftover, translated
from commonplace.core.text import opening
from commonplace.journals.private.format import (
    EPOCH,
    PrivateEntry,
    decode,
    entry_at,
    parse_day,
    parse_entry,
    turn_of,
    version_of,
    written_of,
)
from commonplace.journals.private.markdown import (
    FRONTMATTER_LIMIT,
    SUPERSEDED_BY,
    SUPERSEDES,
    parse_frontmatter,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import tzinfo
    from pathlib import Path

    from commonplace.journals.private.roots import Root

Whose: TypeAlias = "Callable[[EntryPlace, bool], str]"
"""Says whose word a note is; given whether another user of the system owns its file."""
ReadsFile: TypeAlias = "Callable[..., tuple[bytes, os.stat_result]]"
"""Reads a file, as `read_bytes` does."""

LARGEST_FILE = 32 * 1024 * 1024
LONGEST_PATH = 4096
SUFFIX = ".md"
SIDECAR = ".embedding"

SCHEME = "private:"
_ENCODED = re.compile(r"%(?:2e|2f|5c|00|25)", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:")
_USUAL_NAME = re.compile(r"[0-9a-zA-Z_-]+\.md")
_UNKNOWN_NS = 0
_LIST_HINT = "Use a ref or a path that a search or a list has shown."
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_BENEATH = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
# Bytes asked for at least: a read makes room for all that it may bring, and of 1 MB that takes
# 12 of the 17 us that a note takes.
_LEAST_READ = 1 << 16


class EntryPlace(Struct, frozen=True, kw_only=True):
    """Where one entry lies: a root, and the file's path below it with `/` and `.md`."""

    root: Root
    relative: str

    @property
    def ref(self) -> str:
        """Its address: `private:user/2026-11-21/23-19-45-015109`."""
        return f"{SCHEME}{self.root.scope}/{self.relative.removesuffix(SUFFIX)}"

    @property
    def path(self) -> Path:
        """Its absolute path, as it is shown."""
        return self.root.path / self.relative

    @property
    def sidecar(self) -> Path:
        """The absolute path of its `.embedding`."""
        return self.root.path / (self.relative.removesuffix(SUFFIX) + SIDECAR)


class Listing(Struct, frozen=True, kw_only=True):
    """What lies in a day folder.

    Attributes:
        entries: Name with `.md` to stamp, empty where the disk does not give it.
        sidecars: Stems that have an `.embedding`.
        refused: What looks like an entry and is not read (a link, a name that no ref can hold).
        leftovers: Whether temps of writes, running or killed, lie there.
        owners: The user of the system, by number, who owns the file of each entry.
    """

    entries: dict[str, str]
    sidecars: frozenset[str]
    refused: tuple[str, ...]
    leftovers: bool = False
    owners: dict[str, int] = {}

    @classmethod
    def empty(cls) -> Listing:
        """A folder that is not there."""
        return cls(entries={}, sidecars=frozenset(), refused=())


def parse_place(text: str, roots: Sequence[Root]) -> EntryPlace:
    """The place a ref or a path names, with all links followed and inside a root.

    A relative path is read below each root, never below the working directory.
    Raises: Invalid, Denied, NotFound; each names the reason.
    """
    refuse_malformed(text)
    if text.startswith(SCHEME):
        place = lexical_place(text, roots)
        return _resolved(str(place.path), (place.root,), text)
    if not text.endswith(SUFFIX):
        raise Invalid(f"{_shown(text)} is not a {SUFFIX} file.", hint=_LIST_HINT)
    if os.path.isabs(text):
        return _resolved(text, roots, text)
    found = [x for x in roots if os.path.lexists(x.path / text)]
    return _resolved(str((found or roots)[0].path / text), roots, text)


def lexical_place(ref: str, roots: Sequence[Root]) -> EntryPlace:
    """The place a ref of ours names, whether it exists or not; touches no disk.

    Raises: Invalid, Denied, NotFound when no root of this scope is open here.
    """
    refuse_malformed(ref)
    scope, _, relative = ref.removeprefix(SCHEME).partition("/")
    if not ref.startswith(SCHEME) or not relative:
        raise Invalid(f"{_shown(ref)} is not a ref of the private journal.", hint=_LIST_HINT)
    root = next((x for x in roots if x.scope == scope), None)
    if root is None:
        raise NotFound(
            f"{_shown(ref)} lies in a journal that is not open here.",
            hint="Open the project it belongs to.",
        )
    return EntryPlace(root=root, relative=relative.removesuffix(SUFFIX) + SUFFIX)


def refuse_malformed(text: str) -> None:
    """Raise Invalid or Denied for what is neither a ref nor a path of any entry."""
    hint = _LIST_HINT
    if not text or not text.strip():
        raise Invalid("The path is empty.", hint=hint)
    if len(text) > LONGEST_PATH:
        raise Invalid(
            f"The path has {len(text)} characters; {LONGEST_PATH} are allowed.", hint=hint
        )
    if not _is_plain(text):
        raise Invalid(f"{_shown(text)} holds a control character.", hint=hint)
    if _ENCODED.search(text):
        raise Invalid(f"{_shown(text)} holds a percent-encoded character.", hint=hint)
    if os.sep == "/" and ("\\" in text or _DRIVE.match(text)):
        raise Invalid(f"{_shown(text)} is a path of another system.", hint=hint)
    if text.startswith(("~", "//")):
        raise Denied(f"{_shown(text)} is neither absolute nor below a journal.", hint=hint)
    if any(part in {".", ".."} for part in text.replace(os.sep, "/").split("/")):
        raise Denied(f"{_shown(text)} climbs with `..` or `.`.", hint=hint)
    if "//" in text:
        raise Invalid(f"{_shown(text)} holds an empty name.", hint=hint)


def _is_plain(name: str) -> bool:
    if name.isascii():
        return name.isprintable()
    return not any(unicodedata.category(x) in {"Cc", "Cs", "Zl", "Zp"} for x in name)


def _shown(text: str) -> str:
    return repr(opening(text, 200))  # two lines


def _resolved(path: str, roots: Sequence[Root], asked: str) -> EntryPlace:
    """The place of an absolute path; containment is judged first, existence stays hidden."""
    real = os.path.realpath(path)
    for root in roots:
        if os.path.abspath(path).startswith(f"{root.path}{os.sep}"):
            root.refuse_link()
    own = [(x.real(), x) for x in roots if x.link() is None]
    inside = [(x, root) for x, root in own if real.startswith(x.rstrip(os.sep) + os.sep)]
    if not inside:
        raise Denied(f"{_shown(asked)} lies outside the journal's folders.", hint=_LIST_HINT)
    real_root, root = max(inside, key=lambda pair: len(pair[0]))
    if not real.endswith(SUFFIX):
        raise Denied(f"{_shown(asked)} leads to something that is not an entry.", hint=_LIST_HINT)
    if not os.path.lexists(real):
        raise NotFound(f"There is no entry {_shown(asked)}.", hint=_LIST_HINT)
    return EntryPlace(root=root, relative=os.path.relpath(real, real_root).replace(os.sep, "/"))


def find_linked(ref: str, root: Root) -> str:
    """A ref that a frontmatter names, while its entry is there; anybody may have written it."""
    with contextlib.suppress(CommonplaceError):
        return parse_place(ref, (root,)).ref if ref.startswith(SCHEME) else ""
    return ""


def read_bytes(place: EntryPlace, limit: int = LARGEST_FILE) -> tuple[bytes, os.stat_result]:
    """The file's bytes, at most `limit` and one more, and its status; no link is followed.

    Raises: NotFound, Denied (a link, or no regular file), Unavailable.
    """
    place.root.refuse_link()
    if (hidden := place.root.hidden()) and place.ref in hidden:
        raise NotFound(f"There is no entry {_shown(place.ref)}: it has expired.")
    with translated(place.path):
        return _read_opened(_open_beneath(place.root.real(), place.relative), place, limit)


@contextlib.contextmanager
def reading_day(root: Root, day: str) -> Iterator[ReadsFile]:
    """What reads files of one day folder, as `read_bytes` does: the way to it is walked once.

    That way takes two thirds of a read, and `doctor` reads two files for each entry.
    """
    descriptor, hidden = None, root.hidden()
    if _BENEATH:
        with contextlib.suppress(CommonplaceError, OSError):  # `read_bytes` says so of each file
            root.refuse_link()
            descriptor = _open_beneath(root.real(), day, os.O_DIRECTORY)
    if descriptor is None:
        yield read_bytes
        return

    def read(place: EntryPlace, limit: int = LARGEST_FILE) -> tuple[bytes, os.stat_result]:
        if hidden and place.ref in hidden:
            raise NotFound(f"There is no entry {_shown(place.ref)}: it has expired.")
        name = place.relative.rpartition("/")[2]
        try:
            opened = os.open(name, _READ_FLAGS | os.O_NOFOLLOW, dir_fd=descriptor)
            return _read_opened(opened, place, limit)
        except OSError:
            with translated(place.path):
                raise

    try:
        yield read
    finally:
        os.close(descriptor)


def _read_opened(descriptor: int, place: EntryPlace, limit: int) -> tuple[bytes, os.stat_result]:
    """As `read_bytes`, of a file that is open; it is closed then."""
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Denied(
                "The file {place} is not a regular file.", hint=_LIST_HINT, place=place.path
            )
        parts: list[bytes] = []
        rest = limit + 1
        room = max(status.st_size + 1, _LEAST_READ)
        while rest > 0 and (part := os.read(descriptor, min(rest, room))):
            parts.append(part)
            rest -= len(part)
            if limit + 1 - rest == status.st_size:  # more was asked for: this is its end
                break
        return b"".join(parts), status
    finally:
        os.close(descriptor)


def _open_beneath(real_root: str, relative: str, kind: int = 0) -> int:
    """Open folder by folder, following no link: a swap after the check gains nothing."""
    flags = _READ_FLAGS | kind
    if not _BENEATH:
        path = os.path.join(real_root, *relative.split("/"))
        if os.path.realpath(path) != path:
            raise Denied("The file {place} is reached through a link.", hint=_LIST_HINT, place=path)
        return os.open(path, flags | getattr(os, "O_BINARY", 0))
    *folders, name = relative.split("/")
    with contextlib.ExitStack() as opened:
        at = os.open(real_root, flags | os.O_DIRECTORY)
        opened.callback(os.close, at)
        for folder in folders:
            at = os.open(folder, flags | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            opened.callback(os.close, at)
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=at)


def read_entry(place: EntryPlace, zone: tzinfo, whose: Whose | None = None) -> PrivateEntry:
    """The entry at a place.

    Raises: NotFound, Denied, Unavailable, Invalid when over 32 MB.
    """
    content, status = read_bytes(place)
    if len(content) > LARGEST_FILE:
        raise Invalid(
            f"The file {{place}} is larger than {LARGEST_FILE >> 20} MB.",
            hint="Split the file.",
            place=place.path,
        )
    return entry_in(place, content, status, zone, whose)


def entry_in(
    place: EntryPlace,
    content: bytes,
    status: os.stat_result,
    zone: tzinfo,
    whose: Whose | None = None,
) -> PrivateEntry:
    """The entry that a file with this content and status is; reads no file."""
    raw = decode(content)
    parsed = parse_entry(raw)
    return PrivateEntry(
        ref=place.ref,
        scope=place.root.scope,
        path=place.path,
        at=_at(place, parsed.frontmatter, status, zone),
        headings=parsed.headings,
        text=parsed.text,
        raw=raw,
        stamp=stamp_of(status),
        version=version_of(content),
        supersedes=parsed.frontmatter.get(SUPERSEDES, ""),
        superseded_by=parsed.frontmatter.get(SUPERSEDED_BY, ""),
        written=written_of(parsed.frontmatter, zone),
        whose=whose(place, is_another_users(status.st_uid)) if whose else "",
    )


def read_at(place: EntryPlace, zone: tzinfo) -> datetime:
    """When the entry at a place was written, from the beginning of its file alone."""
    content, status = read_bytes(place, FRONTMATTER_LIMIT)
    return _at(place, parse_frontmatter(decode(content)), status, zone)


def read_turn(place: EntryPlace, zone: tzinfo) -> tuple[datetime, int, str]:
    """What orders the entry at a place among others: its time, its turn and its ref, as an index.

    Raises: as `read_at`.
    """
    content, status = read_bytes(place, FRONTMATTER_LIMIT)
    keys = parse_frontmatter(decode(content))
    return _at(place, keys, status, zone), turn_of(written_of(keys, zone)), place.ref


def read_changed(place: EntryPlace, zone: tzinfo) -> datetime | None:
    """When a file was last changed, if that alone gives its entry a time; else None.

    Raises: NotFound, Denied, Unavailable.
    """
    content, status = read_bytes(place, FRONTMATTER_LIMIT)
    *folders, name = place.relative.removesuffix(SUFFIX).split("/")
    keys, day = parse_frontmatter(decode(content)), folders[-1] if folders else ""
    first, other = (entry_at(keys, day, name, x, zone) for x in (EPOCH, _read_mtime(status)))
    return None if first == other else other


def _read_mtime(status: os.stat_result) -> datetime:
    try:
        return EPOCH + timedelta(microseconds=status.st_mtime_ns // 1000)
    except OverflowError:
        return EPOCH


def _at(
    place: EntryPlace, keys: Mapping[str, str], status: os.stat_result, zone: tzinfo
) -> datetime:
    *folders, name = place.relative.removesuffix(SUFFIX).split("/")
    return entry_at(keys, folders[-1] if folders else "", name, _read_mtime(status), zone)


def is_another_users(number: int | None) -> bool:
    """Whether a file of the system's user of this number is another's; None is nobody's."""
    return number is not None and hasattr(os, "getuid") and number != os.getuid()


def stamp_of(status: os.stat_result) -> str:
    """A token that changes with the file: its size and its mtime in nanoseconds."""
    return f"{status.st_size}:{status.st_mtime_ns}"


def list_days(root: Root) -> list[str]:
    """The day folders of a root by name, oldest first, links left out. Raises OSError."""
    return sorted(day_times(root))


def list_places(root: Root) -> Iterator[EntryPlace]:
    """The places of a root's entries, by day and name. Raises: NotFound, Denied, Unavailable."""
    with translated(root.path):
        days = list_days(root)
    for day in days:
        with translated(root.path / day):
            listing = list_day(root, day)
        yield from places_of(root, day, listing)


def day_times(root: Root) -> dict[str, int]:
    """The mtime_ns of each day folder of a root by name, in no order. Raises OSError.

    Every search asks this of every root, so it is one pass over bare numbers.
    """
    _raise_at_link(root)
    times: dict[str, int] = {}
    with _scanned(root.path) as names:
        for name in names:
            if not _names_day(name.name):
                continue
            try:
                if name.is_dir(follow_symlinks=False):
                    times[name.name] = name.stat(follow_symlinks=False).st_mtime_ns
            except FileNotFoundError:
                continue
            except OSError:
                # One that the disk refuses is still there, and hides no other.
                times[name.name] = _UNKNOWN_NS
    return times


def _raise_at_link(root: Root) -> None:
    if link := root.link():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(link))


@contextlib.contextmanager
def _scanned(folder: Path) -> Iterator[Iterator[os.DirEntry[str]]]:
    """What lies in a folder, each to be asked for its status without walking the path again."""
    if os.scandir not in os.supports_fd:
        with os.scandir(folder) as names:
            yield names
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with os.scandir(descriptor) as names:
            yield names
    finally:
        os.close(descriptor)


@lru_cache(maxsize=8192)
def _names_day(name: str) -> bool:
    return parse_day(name) is not None


def list_day(root: Root, day: str) -> Listing:
    """What lies in a day folder; hidden names are nobody's. Raises OSError."""
    entries: dict[str, str] = {}
    sidecars: set[str] = set()
    refused: list[str] = []
    leftovers = False
    owners: dict[str, int] = {}
    _raise_at_link(root)
    hidden = root.hidden()
    with _scanned(root.path / day) as names:
        for name in names:
            if name.name.startswith("."):
                leftovers = leftovers or is_leftover(name.name)
                continue
            if name.name.endswith(SIDECAR):
                sidecars.add(name.name.removesuffix(SIDECAR))
            elif name.name.endswith(SUFFIX):
                if not _can_be_named(root, day, name.name):
                    refused.append(name.name)
                    continue
                if hidden and EntryPlace(root=root, relative=f"{day}/{name.name}").ref in hidden:
                    continue
                try:
                    if not name.is_file(follow_symlinks=False):
                        refused.append(name.name)
                        continue
                    status = name.stat(follow_symlinks=False)
                    entries[name.name] = stamp_of(status)
                    owners[name.name] = status.st_uid
                except FileNotFoundError:
                    continue
                except OSError:  # as in `day_times`
                    entries[name.name] = ""
    return Listing(
        entries=dict(sorted(entries.items())),
        sidecars=frozenset(sidecars),
        refused=tuple(sorted(refused)),
        leftovers=leftovers,
        owners=owners,
    )


def _can_be_named(root: Root, day: str, name: str) -> bool:
    """Whether the ref of a file leads back to it, and so can be shown and read."""
    if _USUAL_NAME.fullmatch(name):
        return True
    place = EntryPlace(root=root, relative=f"{day}/{name}")
    try:
        return lexical_place(place.ref, (root,)) == place
    except CommonplaceError:
        return False


def places_of(root: Root, day: str, listing: Listing) -> Iterator[EntryPlace]:
    """The places of a day folder's entries, by name."""
    return (EntryPlace(root=root, relative=f"{day}/{name}") for name in listing.entries)
