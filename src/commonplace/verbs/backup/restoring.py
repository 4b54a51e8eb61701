"""Gives a backup back: into places where nothing is, checked whole before the first byte.

Never writes over anything, and puts nothing under a final name before all of it is on the disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.core.errors import Conflict, Unavailable
from commonplace.core.files import make_folder, regular_file, sync_folder, translated
from commonplace.core.plain_files import rename_over
from commonplace.core.scratch import clear_scratch_folders, scratch_folder
from commonplace.journals.git.repo import init_repository
from commonplace.journals.git.run import LONG_TIMEOUT_S
from commonplace.verbs.backup.contents import KEY, is_passing, list_contents
from commonplace.verbs.backup.reading import open_backup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from commonplace.verbs.backup.manifest import (
        BackupPlace,
        FileEntry,
        Manifest,
        RepositoryEntry,
    )
    from commonplace.verbs.backup.reading import Backup


def restore_backup(
    source: Path,
    places: Sequence[BackupPlace],
    *,
    kept: Sequence[BackupPlace] = (),
    relocated: Callable[[Backup], Backup] = lambda backup: backup,
) -> Manifest:
    """Give a backup back into places where nothing is yet.

    Killed at any moment, it leaves places that are whole or empty; asked again, it takes those that
    hold what the backup holds for done.
    What is `kept` stays as it is, less what a killed restore left beside it. Our folder goes last:
    it makes a restored home visible.

    Raises:
        Conflict: Something else lies in a place.
        Invalid: The file is no backup, damaged, or made to do harm.
        Unavailable, Denied, NotFound.
    """
    with open_backup(source) as held:
        held.check()
        backup = relocated(held)
        # Without what killed processes had left where it was made.
        files = [each for each in backup.manifest.files if not is_passing(each.name)]
        backup = backup.altered(replace(backup.manifest, files=files), {})
        for place in (*places, *kept):
            # Beside those as well that were done when the process was killed.
            clear_scratch_folders(place.path.parent)
        wanted = {each.name.partition("/")[0] for each in backup.manifest.files}
        wanted |= {each.name.partition("/")[0] for each in backup.manifest.repositories}
        due = [
            place
            for place in sorted(places, key=lambda each: each.root == "home")
            if place.root in wanted and not _is_restored(backup, place)
        ]
        with contextlib.ExitStack() as undo:
            ready = [(place, undo.enter_context(_prepared(backup, place))) for place in due]
            for place, scratch in ready:
                _publish(scratch, place)
        return backup.manifest


def _is_restored(backup: Backup, place: BackupPlace) -> bool:
    """Whether the place holds the backup's files already. Raises: Conflict for anything else."""
    found = {each.name: each for each in list_contents(place, with_tokens=True)}
    found.pop(f"home/{KEY}", None)
    if not found:
        return False
    held = {e.name: e for e in backup.manifest.files if _is_in(e.name, place)}
    held.pop(f"home/{KEY}", None)
    files = {name: each for name, each in found.items() if each.kind in {"file", "database"}}
    same = files.keys() == held.keys() and all(
        _hash_of(each.path) == held[name].sha256 for name, each in files.items()
    )
    if same:
        return True
    first = min(found)
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    raise Conflict(
        f"There is something already where the backup's part {place.root!r} goes: "
        f"{found[first].path}{more}.",
        hint="Move it away, or set HOME and COMMONPLACE_HOME to other folders.",
    )


def _is_in(name: str, place: BackupPlace) -> bool:
    return name == place.root or name.startswith(f"{place.root}/")


def _hash_of(path: Path) -> str:
    with regular_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def _prepared(backup: Backup, place: BackupPlace) -> Iterator[Path]:
    """A folder beside the place that holds its part, all of it on the disk; gone at the end."""
    make_folder(place.path.parent)
    with scratch_folder(place.path.parent) as scratch:
        with translated(scratch):
            folders = {scratch}
            for each in backup.manifest.files:
                if _is_in(each.name, place):
                    folders.update(_write(backup, each, scratch))
            for folder in folders:
                sync_folder(folder)
        for repository in backup.manifest.repositories:
            if _is_in(repository.name, place):
                _make_repository(backup, repository, scratch)
        yield scratch


def _write(backup: Backup, each: FileEntry, scratch: Path) -> Iterator[Path]:
    path = scratch.joinpath(*each.name.split("/"))
    make_folder(path.parent)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, each.mode & 0o777 | 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(backup.chunks(each))
        file.flush()
        os.fsync(file.fileno())
    with contextlib.suppress(OverflowError, ValueError):
        os.utime(path, ns=(each.mtime_ns, each.mtime_ns))
    yield path.parent


def _make_repository(backup: Backup, each: RepositoryEntry, scratch: Path) -> None:
    folder = scratch.joinpath(*each.name.split("/"))
    repository = init_repository(folder)
    git = repository.git
    if each.shallow:
        with translated(folder):
            (repository.common_dir / "shallow").write_text(each.shallow, "ascii")
    if each.bundle:
        bundle = scratch / "bundle"
        entry = next(e for e in backup.manifest.files if e.name == each.bundle)
        with translated(bundle), open(bundle, "wb") as file:
            file.writelines(backup.chunks(entry))
        git.run(["bundle", "unbundle", str(bundle)], timeout_s=LONG_TIMEOUT_S)
        os.unlink(bundle)
        lines = "".join(f"create {ref} {commit}\n" for ref, commit in each.refs.items())
        git.run(["update-ref", "--stdin"], stdin=lines.encode())
    for key, text in each.config:
        git.run(["config", "--local", "--add", key, text])
    if each.branch:
        git.run(["symbolic-ref", "HEAD", each.branch])
    elif each.commit:
        git.run(["update-ref", "--no-deref", "HEAD", each.commit])
    if each.commit:
        git.run(["read-tree", "HEAD"], timeout_s=LONG_TIMEOUT_S)


def _publish(scratch: Path, place: BackupPlace) -> None:
    """Move a scratch_folder part to its place, where nothing is but what can be made again."""
    part = scratch / place.root
    with translated(place.path):
        if part.is_file():
            try:
                os.link(part, place.path)
            except FileExistsError as exc:
                raise Conflict(
                    "{place} was made while the backup was restored.",
                    hint="Move it away, then try again.",
                    place=place.path,
                ) from exc
        elif not os.path.isdir(place.path):
            os.rename(part, place.path)
        else:
            # Journals last: until `users` is there, nothing of a home is.
            for child in sorted(part.iterdir(), key=lambda each: each.name == "users"):
                _move(child, place.path / child.name)
        sync_folder(place.path.parent)


def _move(child: Path, target: Path) -> None:
    if child.name == KEY or not os.path.isdir(target):
        rename_over(child, target)
        return
    # An index, a ledger: what an earlier command made, and the journals make again.
    aside = child.parent.parent / "aside"
    make_folder(aside)
    os.rename(target, aside / target.name)
    try:
        os.rename(child, target)
    except OSError as exc:
        os.rename(aside / target.name, target)
        raise Unavailable("{place} cannot be restored.", hint="Try again.", place=target) from exc
