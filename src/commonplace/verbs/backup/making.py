"""Makes a backup while other processes write, reads it back, and only then gives it its name.

Never changes a journal, and never writes over a file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import stat
from typing import TYPE_CHECKING

from commonplace.core.errors import Unavailable
from commonplace.core.files import translated
from commonplace.db.sqlite import connect_read_only
from commonplace.db.sqlite import translated as sqlite_translated
from commonplace.journals.git.repo import find_repository
from commonplace.journals.git.run import LONG_TIMEOUT_S
from commonplace.verbs.backup.contents import BackupItem, list_contents
from commonplace.verbs.backup.manifest import (
    FORMAT,
    FileEntry,
    Manifest,
    RepositoryEntry,
    encode_manifest,
    is_kept_config,
)
from commonplace.verbs.backup.reading import read_backup_manifest
from commonplace.verbs.container import MANIFEST, file_chunks, write_archive

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from commonplace.core.clock import Clock
    from commonplace.core.scratch import ScratchFolders
    from commonplace.journals.git.repo import GitRepository
    from commonplace.verbs.backup.manifest import BackupPlace, EntryKind
    from commonplace.verbs.container import ArchiveWriter

_TRIES = 5
_SHALLOW_LIMIT = 1 << 20
_WRITING = {
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_TRUNCATE,
    sqlite3.SQLITE_IOERR_FSYNC,
}


def make_backup(
    target: Path,
    places: Sequence[BackupPlace],
    *,
    scratch_folders: ScratchFolders,
    clock: Clock,
    program: str,
    user_home: Path | None = None,
    with_tokens: bool = False,
    not_included: Sequence[str] = (),
) -> Manifest:
    """Write everything that the places hold into one new file, whole and read back, or nothing.

    Who may connect over HTTP goes along `with_tokens`; `not_included` has what the caller knows to
    be left out, a sentence each; a restore elsewhere finds what lies below the `user_home`.

    Raises:
        Conflict: There is a file of that name.
        Unavailable, Denied, NotFound, Invalid, Corrupted.
    """
    # As it is named, and with its links followed where that is another path.
    homes = (
        [*dict.fromkeys([os.path.abspath(user_home), os.path.realpath(user_home)])]
        if user_home
        else []
    )

    def fill(archive: ArchiveWriter, scratch: Path) -> Manifest:
        writer = _Writer(archive, scratch)
        for place in places:
            writer.add_place(place, with_tokens=with_tokens)
        made = Manifest(
            format=FORMAT,
            program=program,
            made_at=clock().isoformat(),
            files=writer.files,
            repositories=writer.repositories,
            not_included=[*not_included, *writer.left_out],
            user_homes=homes,
            places={each.root: str(each.path) for each in places},
        )
        archive.put(MANIFEST, [encode_manifest(made)])  # last, since it has the hashes
        return made

    return write_archive(target, scratch_folders, fill, read_backup_manifest)


class _Writer:
    """What a backup is made of, as it is written. scratch: a folder for what lies in between."""

    def __init__(self, archive: ArchiveWriter, scratch: Path) -> None:
        self._archive = archive
        self._scratch = scratch
        self.files: list[FileEntry] = []
        self.repositories: list[RepositoryEntry] = []
        self.left_out: list[str] = []

    def add_place(self, place: BackupPlace, *, with_tokens: bool) -> None:
        """Add what lies there."""
        with contextlib.ExitStack() as held:
            for each in list_contents(place, with_tokens=with_tokens):
                # A file may go while the others are written: it is then no part of the backup.
                with contextlib.suppress(FileNotFoundError):
                    self._add(each, held)

    def _add(self, each: BackupItem, held: contextlib.ExitStack) -> None:
        match each.kind:
            case "repository":
                self._add_repository(each, held)
            case "database":
                with self._temp() as temp:
                    copy_database(each.path, temp)
                    self._put(each.name, file_chunks(temp), os.stat(each.path), kind="database")
            case "file":
                self._add_file(each)
            case "other":
                self.left_out.append(f"{each.path!s}: it is a link, or not a plain file.")

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

    def _add_repository(self, each: BackupItem, held: contextlib.ExitStack) -> None:
        # Until the place is done: the work tree that follows is that of this commit.
        repository = held.enter_context(find_repository(each.path).locked())
        head = repository.head()
        refs = _refs_of(repository)
        bundle = f"git/{len(self.repositories)}.bundle" if refs else ""
        if refs:
            with self._temp() as temp:
                repository.git.run(
                    ["bundle", "create", "--quiet", str(temp), "--all"], timeout_s=LONG_TIMEOUT_S
                )
                self._put(bundle, file_chunks(temp), os.stat(temp), kind="bundle")
        self.repositories.append(
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
        size, sha256 = self._archive.put(name, chunks)
        self.files.append(
            FileEntry(
                name=name,
                size=size,
                sha256=sha256,
                mode=stat.S_IMODE(found.st_mode) & 0o777,
                mtime_ns=found.st_mtime_ns,
                kind=kind,
            )
        )

    @contextlib.contextmanager
    def _temp(self) -> Iterator[Path]:
        temp = self._scratch / "part"
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
