"""Makes a backup while other processes write, reads it back, and only then gives it its name.

Never changes a journal, and never writes over a file.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import sqlite3
import stat
import zipfile
from typing import TYPE_CHECKING, BinaryIO

from msgspec.structs import replace

from commonplace.core.errors import Conflict, Unavailable
from commonplace.core.files import publish_new, translated
from commonplace.db.sqlite import connect_read_only
from commonplace.db.sqlite import translated as sqlite_translated
from commonplace.journals.git.repo import find_repository
from commonplace.journals.git.run import LONG_TIMEOUT_S
from commonplace.verbs.backup.archive import MANIFEST
from commonplace.verbs.backup.contents import BackupItem, list_contents
from commonplace.verbs.backup.manifest import (
    FORMAT,
    FileEntry,
    Manifest,
    RepositoryEntry,
    encode_manifest,
    is_kept_config,
)
from commonplace.verbs.backup.reading import open_backup

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from commonplace.core.clock import Clock
    from commonplace.core.staging import Stages
    from commonplace.journals.git.repo import GitRepository
    from commonplace.verbs.backup.manifest import BackupPlace, EntryKind

CHUNK = 1 << 20
_TRIES = 5
_SHALLOW_LIMIT = 1 << 20
_WRITING = {
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_TRUNCATE,
    sqlite3.SQLITE_IOERR_FSYNC,
}
_EPOCH = (1980, 1, 1, 0, 0, 0)


def make_backup(
    target: Path,
    places: Sequence[BackupPlace],
    *,
    stages: Stages,
    clock: Clock,
    program: str,
    user_home: Path | None = None,
    with_tokens: bool = False,
    not_included: Sequence[str] = (),
) -> Manifest:
    """Write everything that the places hold into one new file, whole and read back, or nothing.

    Args:
        target: The file; nothing may be there.
        places: What is backed up.
        stages: Notes where it is made; what killed processes left is removed first.
        clock: Says when.
        program: The version of this program.
        user_home: Below which a restore elsewhere finds what the paths in it lead to.
        with_tokens: Whether who may connect over HTTP goes along.
        not_included: What the caller knows to be left out, a sentence each.

    Raises:
        Conflict: There is a file of that name.
        Unavailable, Denied, NotFound, Invalid, Corrupted.
    """
    target = target.absolute()
    if os.path.lexists(target):
        raise _taken(target)
    stages.clear()
    with translated(target), stages.beside(target.parent) as stage:
        temp = stage / "backup.zip"
        descriptor = os.open(temp, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w+b") as file:
            with contextlib.closing(_Writer(file, target, stage)) as writer:
                for place in places:
                    writer.add_place(place, with_tokens=with_tokens)
                made = writer.finish(
                    Manifest(
                        format=FORMAT,
                        program=program,
                        made_at=clock().isoformat(),
                        files=[],
                        repositories=[],
                        not_included=[*not_included],
                        user_homes=_names_of(user_home),
                        places={each.root: str(each.path) for each in places},
                    )
                )
            file.flush()
            os.fsync(file.fileno())
        with open_backup(temp) as written:
            if written.manifest != made:
                raise _unlike_what_was_written(target)
        try:
            publish_new(temp, target)
        except FileExistsError as exc:
            raise _taken(target) from exc
        return made


def _names_of(user_home: Path | None) -> list[str]:
    """A home as it is named, and with its links followed where that is another path."""
    if user_home is None:
        return []
    return [*dict.fromkeys([os.path.abspath(user_home), os.path.realpath(user_home)])]


class _Writer:
    """The file that is being written. stage: a folder for what lies in between."""

    def __init__(self, file: BinaryIO, target: Path, stage: Path) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True)
        self._target = target
        self._stage = stage
        self._files: list[FileEntry] = []
        self._repositories: list[RepositoryEntry] = []
        self._left_out: list[str] = []

    def close(self) -> None:
        """Give up what is not finished; may be called twice."""
        # On a full disk its end cannot be written; left open, it would be tried once more, and a
        # traceback printed, when the object goes.
        with contextlib.suppress(OSError, ValueError):
            self._zip.close()

    def add_place(self, place: BackupPlace, *, with_tokens: bool) -> None:
        """Add what lies there."""
        with contextlib.ExitStack() as held:
            for each in list_contents(place, with_tokens=with_tokens):
                # A file may go while the others are written: it is then no part of the backup.
                with contextlib.suppress(FileNotFoundError):
                    self._add(each, held)

    def finish(self, manifest: Manifest) -> Manifest:
        """Write what the file says of itself, last, since it has the hashes."""
        made = replace(
            manifest,
            files=self._files,
            repositories=self._repositories,
            not_included=[*manifest.not_included, *self._left_out],
        )
        self._zip.writestr(zipfile.ZipInfo(MANIFEST, _EPOCH), encode_manifest(made))
        self._zip.close()
        return made

    def _add(self, each: BackupItem, held: contextlib.ExitStack) -> None:
        match each.kind:
            case "repository":
                self._add_repository(each, held)
            case "database":
                self._add_database(each)
            case "file":
                self._add_file(each)
            case "other":
                self._left_out.append(f"{each.path!s}: it is a link, or not a plain file.")

    def _add_file(self, each: BackupItem) -> None:
        for _ in range(_TRIES):
            content, found = _read_unchanged(each.path)
            if content is not None:
                self._put(each.name, iter((content,)), found)
                return
        raise Unavailable(
            "The file {place} changes each time it is read.",
            hint="Try again when the program that writes to it has ended.",
            place=each.path,
        )

    def _add_database(self, each: BackupItem) -> None:
        with self._temp() as temp:
            copy_database(each.path, temp)
            self._put(each.name, _chunks(temp), os.stat(each.path), kind="database")

    def _add_repository(self, each: BackupItem, held: contextlib.ExitStack) -> None:
        # Until the place is done: the work tree that follows is that of this commit.
        repository = held.enter_context(find_repository(each.path).locked())
        head = repository.head()
        refs = _refs_of(repository)
        bundle = f"git/{len(self._repositories)}.bundle" if refs else ""
        if refs:
            with self._temp() as temp:
                repository.git.run(
                    ["bundle", "create", "--quiet", str(temp), "--all"], timeout_s=LONG_TIMEOUT_S
                )
                self._put(bundle, _chunks(temp), os.stat(temp), kind="bundle")
        self._repositories.append(
            RepositoryEntry(
                name=each.name,
                bundle=bundle,
                branch=head.branch,
                commit=head.commit,
                refs=refs,
                config=_config_of(repository),
                shallow=_shallow_of(repository),
            )
        )

    def _put(
        self,
        name: str,
        chunks: Iterator[bytes],
        found: os.stat_result,
        *,
        kind: EntryKind = "file",
    ) -> None:
        with self._zip.open(zipfile.ZipInfo(name, _EPOCH), "w", force_zip64=True) as entry:
            for chunk in chunks:
                entry.write(chunk)
        size, sha256 = self._read_back(name)
        self._files.append(
            FileEntry(
                name=name,
                size=size,
                sha256=sha256,
                mode=stat.S_IMODE(found.st_mode) & 0o777,
                mtime_ns=found.st_mtime_ns,
                kind=kind,
            )
        )

    def _read_back(self, name: str) -> tuple[int, str]:
        """The size and hash of an entry, read while it lies in memory still. Raises: Unavailable.

        The zip module compares its CRC-32, counted from what was written, with what is read.
        """
        digest, size = hashlib.sha256(), 0
        try:
            with self._zip.open(name) as entry:
                while chunk := entry.read(CHUNK):
                    digest.update(chunk)
                    size += len(chunk)
        except (zipfile.BadZipFile, EOFError) as exc:
            raise _unlike_what_was_written(self._target) from exc
        return size, digest.hexdigest()

    @contextlib.contextmanager
    def _temp(self) -> Iterator[Path]:
        temp = self._stage / "part"
        try:
            yield temp
        finally:
            for side in ("", "-wal", "-shm", "-journal"):
                with contextlib.suppress(OSError):
                    os.unlink(f"{temp}{side}")


def copy_database(path: Path, copy: Path) -> None:
    """Copy a database as it is at one moment, while others write; the copy's pages are checked.

    Raises: Corrupted, Unavailable.
    """
    source = connect_read_only(path)
    try:
        with sqlite_translated(path), contextlib.closing(sqlite3.connect(copy)) as made:
            made.execute("PRAGMA synchronous = OFF")
            with _copy_named():
                source.backup(made)
            # One file, wherever it is opened: the copy has no -wal to lose.
            made.execute("PRAGMA journal_mode = DELETE")
            problems = made.execute("PRAGMA quick_check(1)").fetchone()[0]
    finally:
        source.close()
    if problems != "ok":
        raise Unavailable(
            "The database {place} is damaged, so nothing was backed up.",
            hint="Examine it with `commonplace doctor`, or copy the file as it is.",
            place=path,
        )


@contextlib.contextmanager
def _copy_named() -> Iterator[None]:
    """Say of what cannot be written that it is the copy, the one that is written to.

    Raises: OSError.
    """
    try:
        yield
    except sqlite3.OperationalError as exc:
        if exc.sqlite_errorcode == sqlite3.SQLITE_FULL:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from exc
        if exc.sqlite_errorcode in _WRITING:
            raise OSError(errno.EIO, os.strerror(errno.EIO)) from exc
        raise


def _read_unchanged(path: Path) -> tuple[bytes | None, os.stat_result]:
    # Whole in memory: entries and transcripts are small, and what is large is a database.
    with open(path, "rb") as file:
        before = os.fstat(file.fileno())
        content = file.read()
        after = os.fstat(file.fileno())
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return (content if same and len(content) == after.st_size else None), after


def _chunks(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _refs_of(repository: GitRepository) -> dict[str, str]:
    out = repository.git.run(["for-each-ref", "--format=%(objectname) %(refname)"]).out.decode()
    pairs = (line.split(" ", 1) for line in out.splitlines())
    return {name: commit for commit, name in pairs}


def _config_of(repository: GitRepository) -> list[tuple[str, str]]:
    ran = repository.git.run(["config", "--local", "--list", "-z"], statuses=(0, 1))
    pairs = (line.partition("\n") for line in ran.out.decode(errors="replace").split("\0"))
    return [(key, text) for key, _, text in pairs if is_kept_config(key) and "\n" not in text]


def _shallow_of(repository: GitRepository) -> str:
    if not repository.is_shallow:
        return ""
    path = repository.common_dir / "shallow"
    with translated(path), open(path, "rb") as file:
        return file.read(_SHALLOW_LIMIT).decode("ascii", "replace")


def _unlike_what_was_written(target: Path) -> Unavailable:
    return Unavailable(
        "What was written for {place} is not what is read from there.",
        hint="Check the disk, or name a file on another one.",
        place=target,
    )


def _taken(target: Path) -> Conflict:
    return Conflict("There is already a file {place}.", hint="Name another file.", place=target)
