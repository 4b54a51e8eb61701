"""Owns downloads from the hub, file by file, at the pinned revision; continues one that broke off.

Sends no token and no text, and never gives up while each attempt brings more.
"""

from __future__ import annotations

from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

from commonplace.core.errors import Invalid, NotFound, Unavailable
from commonplace.core.files import make_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import httpx2

    from commonplace.inference.encoder.cached_file import CachedFile, Progress
    from commonplace.inference.encoder.profiles import Profile

HUB = "https://huggingface.co"

_BLOCK = 1 << 20
_TIMEOUT_S = 30.0
_OFFLINE = (
    "Go online and run it again, what was fetched is kept; or copy the files with "
    "`commonplace model fetch --from FOLDER`, or name their folder in the settings."
)


def download(profile: Profile, place: CachedFile, endpoint: str, progress: Progress) -> None:
    """Download one file to its final name, in as many tries as bring more of it.

    Raises:
        Unavailable: the hub does not answer, or not to the end.
        NotFound: it does not have the file.
        Invalid: what came is not the published file.
    """
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
            # What a power cut left of an earlier attempt has holes: once more from the start.
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


def _stream(url: str, place: CachedFile, progress: Progress) -> bool:
    """Append what one request brings to the part; whether the file is whole now.

    Raises NotFound, or Unavailable when no more came than was there before.
    """
    import httpx2

    before = here = place.part.stat().st_size if place.part.exists() else 0
    asked = {"User-Agent": "commonplace", "Accept-Encoding": "identity"}
    if here:
        asked["Range"] = f"bytes={here}-"
    name = place.file.paths[0]
    is_broken = False
    with _answered(url, asked, name) as answer:
        if answer.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            if answer.headers.get("Content-Range") == f"bytes */{before}":
                return True
            place.part.unlink()
            return False
        if answer.status_code != HTTPStatus.PARTIAL_CONTENT:
            here = 0
        total = here + int(answer.headers.get("Content-Length") or 0)
        with place.part.open("ab" if here else "wb") as file:
            try:
                for block in answer.iter_raw():
                    file.write(block)
                    here += len(block)
                    progress(name, here, max(total, here))
            except httpx2.HTTPError:
                is_broken = True
    if not is_broken and here >= total:
        return True
    if here <= before:
        raise Unavailable(f"The connection broke off at byte {here:,} of {name}.", hint=_OFFLINE)
    return False


@contextmanager
def _answered(url: str, headers: Mapping[str, str], name: str) -> Iterator[httpx2.Response]:
    """The hub's answer: 200, or to a range also 206 and 416. Raises for any other."""
    import httpx2

    good = {HTTPStatus.OK}
    if "Range" in headers:
        good |= {HTTPStatus.PARTIAL_CONTENT, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE}
    try:
        with httpx2.stream(
            "GET", url, headers=headers, timeout=_TIMEOUT_S, follow_redirects=True
        ) as answer:
            if answer.status_code == HTTPStatus.NOT_FOUND:
                raise NotFound(f"The hub has no {name}.")
            if answer.status_code not in good:
                message = f"The hub answered {answer.status_code} when asked for {name}."
                raise Unavailable(message, hint=_OFFLINE)
            yield answer
    except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
        raise Unavailable(f"The hub cannot be reached for {name} ({exc}).", hint=_OFFLINE) from exc
