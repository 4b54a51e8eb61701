"""The files of transcripts as bytes: appended, read, and written again without what was deleted.

Imports little: a hook reads it. Never knows the catalog.
"""

from __future__ import annotations

import json
import os
import stat
import zlib
from typing import NamedTuple

from commonplace.core.files import make_folder, sync_folder, translated
from commonplace.core.plain_files import open_plain
from commonplace.journals.transcripts.message import is_client, parse_line, session_name, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.journals.transcripts.message import Message

SUFFIX = ".jsonl"

TOMBSTONES = "deleted.jsonl"
"""The name of the file of what was deleted for good, beside the catalog."""

LAST = 10**9
"""Above the number of every message."""

_YEAR_LENGTH = 4


class StoreState(NamedTuple):
    """What of a store is not as it should be: its files against its catalog.

    Attributes:
        sessions: How many sessions there are.
        broken: Files with lines that hold no message, and how many.
        unread: How many files are other than the catalog knows them.
        twice: Files of a session that has another file.
        open_to_others: Files and folders that others may read.
    """

    sessions: int
    broken: dict[str, int]
    unread: int
    twice: list[str]
    open_to_others: list[str]


class Line(NamedTuple):
    """A line of a file; message is None where it holds none."""

    start: int
    content: bytes
    message: Message | None

    @property
    def crc(self) -> int:
        """The checksum of what stands in it."""
        return zlib.crc32(self.content.rstrip(b"\n"))


class Tombstone(NamedTuple):
    """What was deleted: id is empty for a whole session, n its message's number."""

    client: str
    session: str
    id: str
    n: int


class LineRow(NamedTuple):
    """Where a message lies in its file, and the checksum of its line."""

    n: int
    start: int
    length: int
    crc: int


class FoundFile(NamedTuple):
    """A file of messages that lies in the folder."""

    client: str
    session: str
    year: str
    size: int
    mtime_ns: int


def path_of(folder: str, client: str, year: str, session: str) -> str:
    """Where a session's file lies."""
    return os.path.join(folder, client, year, f"{session}{SUFFIX}")


def list_years(folder: str) -> Iterator[tuple[str, str, os.DirEntry[str]]]:
    """The folders of files, each with its client and its year."""
    for client in _folders_in(folder):
        if is_client(client.name):
            for year in _folders_in(client.path):
                if len(year.name) == _YEAR_LENGTH and year.name.isdigit():
                    yield client.name, year.name, year


def find_year(folder: str, client: str, session: str) -> str:
    """The folder that a session's file lies in, the first of several; empty for none."""
    years = (year for owner, year, _ in list_years(folder) if owner == client)
    return next(
        (x for x in years if read_size(path_of(folder, client, x, session)) is not None), ""
    )


def list_files(folder: str) -> Iterator[FoundFile]:
    """The files of messages below the folder; links and foreign names are passed over."""
    for client, year, place in list_years(folder):
        with translated(place.path), os.scandir(place.path) as entries:
            for entry in entries:
                session = entry.name.removesuffix(SUFFIX)
                is_ours = entry.name.endswith(SUFFIX) and session_name(session) == session
                if is_ours and entry.is_file(follow_symlinks=False):
                    found = entry.stat(follow_symlinks=False)
                    yield FoundFile(client, session, year, found.st_size, found.st_mtime_ns)


def read_size(path: str) -> tuple[int, int] | None:
    """Size and mtime of a file; None where it is not there, or a link, a folder or a pipe is."""
    with translated(path):
        try:
            found = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
    return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def read_lines(path: str, start: int = 0) -> list[Line]:
    """The lines of a file from an offset on, broken ones too. Raises: Unavailable, Denied."""
    with translated(path), os.fdopen(open_plain(path, os.O_RDONLY), "rb") as file:
        file.seek(start)
        content = file.readlines()
    lines = []
    for each in content:
        lines.append(Line(start, each, parse_line(each)))
        start += len(each)
    return lines


def read_chunks(path: str, places: list[tuple[int, int]]) -> list[bytes] | None:
    """What stands at these starts and lengths; None where the file is gone."""
    chunks = []
    with translated(path):
        try:
            descriptor = open_plain(path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            for start, length in places:
                file.seek(start)
                chunks.append(file.read(length))
    return chunks


def read_messages(path: str, rows: list[LineRow]) -> list[Message] | None:
    """The messages in these lines of a file; None where other ones stand there."""
    chunks = read_chunks(path, [(x.start, x.length) for x in rows])
    if chunks is None:
        return None
    messages = [*map(parse_line, chunks)]
    wrong = any(x is None or x.n != row.n for x, row in zip(messages, rows, strict=True))
    return None if wrong else [x for x in messages if x]


def list_open(folder: str, paths: list[str], found: list[FoundFile]) -> list[str]:
    """Those of these paths, of all folders and of these files of messages that others may read."""
    folders = [x.path for *_, x in list_years(folder)]
    every = [*paths, *folders, *(path_of(folder, x.client, x.year, x.session) for x in found)]
    return [x for x in every if os.path.exists(x) and os.stat(x).st_mode & 0o077]


def append(path: str, content: bytes) -> tuple[int, int, int]:
    """Append whole lines and have them on the disk; where they begin, and size and mtime after.

    What cannot be written whole is taken away again. Raises: Unavailable, Denied, Invalid.
    """
    is_new = make_folder(os.path.dirname(path)) or not os.path.lexists(path)
    with translated(path):
        descriptor = open_plain(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        try:
            start = _cut_torn_line(descriptor)
            try:
                rest = memoryview(content)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, start)
                raise
            found = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if is_new:
            sync_folder(os.path.dirname(path))
    return start, found.st_size, found.st_mtime_ns


def cut_torn_line(path: str) -> None:
    """Take away the beginning of a line that a process left when it was killed.

    A last line that is whole but for its end, as an editor saves it, is kept.

    Raises: Unavailable, Denied.
    """
    with translated(path):
        descriptor = open_plain(path, os.O_RDWR | os.O_APPEND)
        try:
            _cut_torn_line(descriptor)
        finally:
            os.close(descriptor)


def rewrite(path: str, content: bytes) -> None:
    """Put other lines in place of a file's, in one step; without any, remove the file."""
    from pathlib import Path  # a hook never deletes

    from commonplace.core.files import remove_file, remove_leftovers, replace_file

    if content:
        replace_file(Path(path), content)
    else:
        remove_file(Path(path))
        remove_leftovers(Path(path).parent)


def _cut_torn_line(descriptor: int) -> int:
    size = os.fstat(descriptor).st_size
    if not size or _read_at(descriptor, size - 1, 1) == b"\n":
        return size
    step, begin, tail = 65536, size, b""
    while begin and b"\n" not in tail:
        begin = max(0, begin - step)
        tail = _read_at(descriptor, begin, size - begin)
        step *= 4
    last = tail.rpartition(b"\n")[2]
    try:
        json.loads(last)
    except (ValueError, RecursionError):
        os.ftruncate(descriptor, size - len(last))
        return size - len(last)
    return size + os.write(descriptor, b"\n")


def parse_tombstone(line: bytes) -> Tombstone | None:
    """What a line says was deleted; None where it says nothing of the kind."""
    try:
        found = json.loads(line)
        client, session, message_id = found["client"], found["session"], found.get("id", "")
        n = found.get("n", 0)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
    if not all(isinstance(x, str) for x in (client, session, message_id)):
        return None
    if not is_client(client) or session_name(session) != session:
        return None
    n = n if isinstance(n, int) and 0 <= n < LAST else 0
    return Tombstone(client, session, whole(message_id), n)


def _read_at(descriptor: int, start: int, length: int) -> bytes:
    os.lseek(descriptor, start, os.SEEK_SET)  # Windows has no pread
    return os.read(descriptor, length)


def _folders_in(folder: str) -> list[os.DirEntry[str]]:
    with translated(folder):
        try:
            with os.scandir(folder) as entries:
                found = [x for x in entries if x.is_dir(follow_symlinks=False)]
        except (FileNotFoundError, NotADirectoryError):
            return []
    return sorted(found, key=lambda x: x.name)
