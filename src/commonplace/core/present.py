"""Judges whether the clock may be believed, before anything is deleted because its time has come.

Looks only at when files that other programs wrote were last changed; never reads one, and writes
one small file of ours.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from itertools import chain, islice
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.clock import render_instant
from commonplace.core.errors import CommonplaceError, Conflict
from commonplace.core.files import make_folder, replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import tzinfo
    from pathlib import Path

    from commonplace.core.clock import Clock

_DAY_S = 86_400.0
_AGAIN_S = 31 * _DAY_S
"""How long the first look at a present that nothing bears out counts for a later one."""

_MOST_FILES = 20_000
AFTER_DOUBT = (
    "Set the clock right; or `commonplace expire --now` if it is, or try again on a later day."
)

SYSTEM = "/etc"
"""Looked into where a machine has no file of its user: a container's start writes there."""


class Present(Struct, frozen=True, kw_only=True):
    """The present by the clock, and whether anything but the clock bears it out.

    Attributes:
        clock: Which may be wrong.
        note: A file of ours: when a present that nothing bears out was first seen.
        home: The user's home folder, whose own entries count; None where there is none.
        deep: Folders of other programs of which every file counts: those of clients' sessions.
        ours: Gives the files and folders that we write to, which count nowhere, nor do the folders
            above them.
        zone: In which the present is named to people.
    """

    clock: Clock
    zone: tzinfo
    note: Path
    home: Path | None
    deep: tuple[str, ...]
    ours: Callable[[], Iterable[Path]]

    def is_borne_out(self) -> bool:
        """Whether what is deleted for good by the clock may be deleted now; notes what it saw.

        It may where the present lies no more than a day beyond the newest file of another program,
        or where one that did was seen on an earlier day and has gone on since: on a machine that
        nothing else writes to, all goes a day later.
        """
        now = self.clock().timestamp()
        if self._has_file_of(now - _DAY_S):
            return True
        first = self._read_note()
        if first is None or not first <= now < first + _AGAIN_S:
            self._write_note(now)
            return False
        return now - first >= _DAY_S

    def refuse_unless_borne_out(self, what: str) -> None:
        """Raise Conflict where the clock may not be believed. what: is not done then."""
        if not self.is_borne_out():
            raise Conflict(f"{what}: {self.doubt()}", hint=AFTER_DOUBT)

    def doubt(self) -> str:
        """What speaks against the clock, in a sentence."""
        now = render_instant(self.clock(), self.zone)
        return f"the clock says {now}, and no other program wrote a file in the day before."

    def vouch(self) -> None:
        """Believe the clock from now on for a month, since a person says that it is right."""
        self._write_note(self.clock().timestamp() - _DAY_S)

    def _has_file_of(self, at: float) -> bool:
        """Whether another program wrote a file at a time or later."""
        ours = [os.path.realpath(path) for path in self.ours()]
        found = islice(self._times(ours), _MOST_FILES)
        first = next(found, None)
        if first is None:
            return any(time >= at for time in _times_in(SYSTEM, ours, deep=False))
        return any(time >= at for time in chain((first,), found))

    def _times(self, ours: list[str]) -> Iterator[float]:
        if self.home is not None:
            yield from _times_in(os.path.realpath(self.home), ours, deep=False)
        for folder in self.deep:
            yield from _times_in(os.path.realpath(folder), ours, deep=True)

    def _read_note(self) -> float | None:
        with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
            return float(json.loads(self.note.read_bytes())["since"])
        return None

    def _write_note(self, now: float) -> None:
        with suppress(CommonplaceError):  # then nothing is deleted, as long as it cannot be written
            make_folder(self.note.parent)
            replace_file(self.note, json.dumps({"since": now}).encode())


def _times_in(folder: str, ours: list[str], *, deep: bool) -> Iterator[float]:
    """When each entry of a folder was changed, less ours and what holds something of ours."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            path = os.path.join(folder, entry.name)
            if any(f"{each}{os.sep}".startswith(f"{path}{os.sep}") for each in ours):
                continue
            if any(path.startswith(f"{each}-") for each in ours):  # beside a database of ours
                continue
            with suppress(OSError):
                if deep and entry.is_dir(follow_symlinks=False):
                    yield from _times_in(path, ours, deep=True)
                else:
                    yield entry.stat(follow_symlinks=False).st_mtime
