"""Entries named as people name them: `3` of the last list, `-1` for the newest, a ref's beginning.

Never guesses: what fits two entries is an error that names both.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError, Invalid, NotFound
from commonplace.core.files import make_folder, replace_file
from commonplace.core.owner_folders import make_owner_folder, owner_folder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from commonplace.app import App
    from commonplace.config.table import Settings

_FILE = "last-list"
_LOOKED_AT = 500
"""Among so many of the newest entries the beginning of a ref is looked for."""
_SHORTEST = 4
_PATHS = ("/", ".", "~", "\\")


def remember(refs: Iterable[str], read: Settings) -> None:
    """Keep the refs of the list that was just shown, for `open 3`; never fails a command."""
    with suppress(CommonplaceError):
        make_folder(read.home)
        make_owner_folder(read.home / "users", read.owner)
        replace_file(_file(read), "".join(f"{ref}\n" for ref in refs).encode())


def whole_ref(app: App, named: str) -> str:
    """The ref that is meant; what is no short form of one stays as it is.

    Args:
        app: Looks for the newest entries, where those are meant.
        named: A number in the last list, `-1` for the newest entry, or the beginning of a ref.

    Raises:
        NotFound: The list or the journals have no such entry.
        Invalid: Two entries begin like that.
    """
    listed = _listed(app.settings)
    if re.fullmatch(r"\d{1,3}", named):
        if not 0 < int(named) <= len(listed):
            raise NotFound(
                f"The last list has no entry {named}.",
                hint=f"It has {len(listed)}; run `commonplace list` for a new one.",
            )
        return listed[int(named) - 1]
    if re.fullmatch(r"-\d{1,3}", named):
        newest = newest_refs(app, -int(named))
        if not newest or len(newest) < -int(named):
            raise NotFound(f"There is no entry {named}.", hint="Use -1 for the newest.")
        return newest[-1]
    if len(named) < _SHORTEST:
        return named
    found = _beginning_with(named, listed)
    if not found and not named.startswith(_PATHS):
        found = _beginning_with(named, newest_refs(app, _LOOKED_AT))
    if len(found) > 1:
        raise Invalid(
            f"{named!r} is the beginning of {len(found)} refs: {found[0]}, {found[1]}.",
            hint="Give more of it.",
        )
    return found[0] if found else named


def newest_refs(app: App, count: int) -> list[str]:
    """The refs of the newest entries of all journals, newest first."""
    from commonplace.core.values import Filter

    listed = app.recall.service().list_by_time("", within=Filter(), limit=max(count, 1))
    return [hit.doc.ref for hit in listed.hits]


def _beginning_with(named: str, refs: Iterable[str]) -> list[str]:
    fitting = [ref for ref in refs if named in (ref, ref.partition(":")[2])] or [
        ref for ref in refs if ref.startswith(named) or ref.partition(":")[2].startswith(named)
    ]
    return list(dict.fromkeys(fitting))


def _listed(read: Settings) -> list[str]:
    """The refs of the last list; none where the file is damaged, since any list makes it again."""
    file = _file(read)
    if not file.is_file():
        return []
    with suppress(OSError, UnicodeDecodeError):
        return file.read_text("utf-8").split("\n")[:-1]
    return []


def _file(read: Settings) -> Path:
    return read.home / "users" / owner_folder(read.owner) / _FILE
