"""Owns bringing weights into the cache: fetched from the hub or copied from a folder, checked.

Never puts a file under its final name before its hash is right, and sends no token and no text.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import shutil
import ssl
import urllib.error
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from commonplace.core.errors import Conflict, Invalid, NotFound, Unavailable
from commonplace.core.files import make_folder, translated
from commonplace.inference.encoder.hashes import Hashes
from commonplace.inference.encoder.profiles import (
    Profile,
    WeightFile,
    Weights,
    cache_folder,
    read_weights,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Progress: TypeAlias = "Callable[[str, int, int], None]"
"""Told the file's name, the bytes here, and the bytes in all (0 while unknown)."""

_HUB = "https://huggingface.co"
_BLOCK = 1 << 20
_TIMEOUT_S = 30.0
_LOCK_WAIT_S = 600.0
_OFFLINE = (
    "Go online and run it again, what was fetched is kept; or copy the files with "
    "`commonplace model fetch --from FOLDER`, or name their folder in the settings."
)


def fetch(
    profile: Profile,
    home: Path,
    *,
    endpoint: str | None = None,
    progress: Callable[[str, int, int], None] = lambda _name, _done, _total: None,
) -> Weights:
    """Download what is not in the cache yet, at the pinned revision, and return the weights.

    Goes on where an earlier attempt broke off. Several processes may call it at once: one of them
    downloads, the others wait for it.

    Args:
        profile: the encoder whose weights to fetch.
        home: the folder that holds the cache.
        endpoint: the hub's address; None for `HF_ENDPOINT`, as for the hub's own tools.
        progress: called with a file's name, the bytes here, and the bytes in all (0 while unknown).

    Raises:
        Unavailable: offline, or the disk is full.
        NotFound: the hub does not have the file.
        Invalid: what came is not the published file.
        Conflict: another process downloads, and took too long.
    """
    endpoint = endpoint or os.environ.get("HF_ENDPOINT", "").rstrip("/") or _HUB
    folder = cache_folder(profile, home)
    with _alone(folder):
        for file in (profile.model, profile.tokenizer):
            place = _Place(file=file, folder=folder, revision=profile.revision)
            if place.is_right():
                progress(file.paths[0], place.final.stat().st_size, place.final.stat().st_size)
                continue
            _download(profile, place, endpoint, progress)
        return _fetched(profile, home, origin="the hub")


def copy_weights(
    profile: Profile,
    source: Path,
    home: Path,
    *,
    progress: Callable[[str, int, int], None] = lambda _name, _done, _total: None,
) -> Weights:
    """Copy the files of a profile from a folder into the cache, checked like downloaded ones.

    Raises Invalid when the folder does not hold them whole, Unavailable when the disk fails.
    """
    folder = cache_folder(profile, home)
    with _alone(folder):
        given = read_weights(profile, source, origin="a folder", hashes=Hashes(home))
        if not isinstance(given, Weights):
            raise Invalid(
                f"In the folder {{place}}: {given.reason}.",
                hint="Name a folder with the published files.",
                place=source,
            )
        pairs = ((profile.model, given.model), (profile.tokenizer, given.tokenizer))
        for file, path in pairs:
            place = _Place(file=file, folder=folder, revision=profile.revision)
            size = path.stat().st_size
            progress(file.paths[0], 0, size)
            make_folder(place.final.parent)
            shutil.copyfile(path, place.part)
            place.keep()
            progress(file.paths[0], size, size)
        return _fetched(profile, home, origin="a folder")


class _Place(Struct, frozen=True, kw_only=True):
    """Where one file ends up, and where it grows until it is whole."""

    file: WeightFile
    folder: Path
    revision: str

    @property
    def final(self) -> Path:
        return self.folder / self.file.paths[0]

    @property
    def part(self) -> Path:
        # Bears the revision: what was begun for another one is not gone on with.
        return self.final.with_name(f".{self.final.name}.{self.revision[:8]}.part")

    def is_right(self) -> bool:
        """Whether the final file is there with the published hash; without one, there at all."""
        if not self.final.is_file():
            return False
        return self.file.sha256 in (None, _sha256(self.final))

    def keep(self) -> None:
        """Give the whole file its final name, durably. Raises Invalid if it is the wrong one."""
        if self.file.sha256 not in (None, _sha256(self.part)):
            self.part.unlink()
            raise Invalid(
                f"What came as {self.file.paths[0]} is not the published file: its sha256 differs.",
                hint="Run it again; if it stays so, the source is not to be trusted.",
            )
        with self.part.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(self.part, self.final)


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
    from filelock import FileLock, Timeout

    make_folder(folder)
    with translated(folder):
        lock = FileLock(folder / ".lock", timeout=_LOCK_WAIT_S)
        try:
            lock.acquire()
        except Timeout as exc:
            hint = "Wait for it, or end it."
            raise Conflict(
                "Another process is filling the folder {place}.", hint=hint, place=folder
            ) from exc
        try:
            yield
        finally:
            lock.release()


def _download(
    profile: Profile, place: _Place, endpoint: str, progress: Callable[[str, int, int], None]
) -> None:
    """Bring one file to its final name; goes on after a break as long as each try brings more."""
    make_folder(place.final.parent)
    for path in place.file.paths:
        url = f"{endpoint.rstrip('/')}/{profile.repository}/resolve/{profile.revision}/{path}"
        resumed = place.part.exists()
        try:
            while not _stream(url, place, progress):
                pass
            place.keep()
        except NotFound:
            continue
        except Invalid:
            # What lay there from an earlier attempt may be the wrong half: once more from nothing.
            if not resumed:
                raise
            while not _stream(url, place, progress):
                pass
            place.keep()
        return
    raise NotFound(
        f"The hub has no {place.file.paths[0]} of {profile.repository} at its pinned revision.",
        hint="Check the hub's address (HF_ENDPOINT).",
    )


def _stream(url: str, place: _Place, progress: Callable[[str, int, int], None]) -> bool:
    """One request: append what comes to the part; whether the file is whole now.

    Raises NotFound, or Unavailable when no more came than was there before.
    """
    before = here = place.part.stat().st_size if place.part.exists() else 0
    asked = {"User-Agent": "commonplace", "Accept-Encoding": "identity"}
    if here:
        asked["Range"] = f"bytes={here}-"
    request = urllib.request.Request(url, headers=asked)  # noqa: S310  the address is the user's own
    name = place.file.paths[0]
    with _answered(request, name) as answer:
        if answer.status == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            if answer.headers.get("Content-Range") == f"bytes */{before}":
                return True
            place.part.unlink()
            return False
        if answer.status != http.HTTPStatus.PARTIAL_CONTENT:
            here = 0
        total = here + int(answer.headers.get("Content-Length") or 0)
        with place.part.open("ab" if here else "wb") as file:
            while block := _read(answer):
                file.write(block)
                here += len(block)
                progress(name, here, max(total, here))
    if block is not None and here >= total:
        return True
    if here <= before:
        raise Unavailable(f"The connection broke off at byte {here:,} of {name}.", hint=_OFFLINE)
    return False


@contextmanager
def _answered(request: urllib.request.Request, name: str) -> Iterator[http.client.HTTPResponse]:
    """The hub's answer: 200, or to a range also 206 and 416. Raises for any other."""
    try:
        try:
            answer = urllib.request.urlopen(request, timeout=_TIMEOUT_S, context=_tls())  # noqa: S310  the address is the user's own
        except urllib.error.HTTPError as exc:
            answer = exc
    except (urllib.error.URLError, TimeoutError, http.client.HTTPException, ConnectionError) as exc:
        said = getattr(exc, "reason", exc)
        raise Unavailable(f"The hub cannot be reached for {name} ({said}).", hint=_OFFLINE) from exc
    with answer:
        if answer.status == http.HTTPStatus.NOT_FOUND:
            raise NotFound(f"The hub has no {name}.")
        good = [http.HTTPStatus.OK]
        if request.has_header("Range"):
            good += [
                http.HTTPStatus.PARTIAL_CONTENT,
                http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
            ]
        if answer.status not in good:
            message = f"The hub answered {answer.status} when asked for {name}."
            raise Unavailable(message, hint=_OFFLINE)
        yield answer


def _read(answer: http.client.HTTPResponse) -> bytes | None:
    """The next block; empty at the end, None where the connection broke."""
    try:
        return answer.read(_BLOCK)
    except (http.client.IncompleteRead, OSError):
        return None


def _tls() -> ssl.SSLContext:
    # The system's own certificates, which a Python from python.org on a Mac does not look at.
    with contextlib.suppress(ImportError):
        import truststore

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return ssl.create_default_context()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
