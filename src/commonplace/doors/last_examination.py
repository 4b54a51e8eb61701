"""What `doctor` found last, kept so that a page can show it at once: looking takes seconds.

Never decides what is wrong, and never stands for a look that was not taken.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from commonplace.core.errors import CommonplaceError
from commonplace.core.files import replace_file
from commonplace.core.values import HealthReport  # noqa: TC001  msgspec reads it
from commonplace.doors import entry_point

if TYPE_CHECKING:
    from commonplace.app import App

FILE_NAME = "doctor.json"

DUE_AFTER = timedelta(days=1)
"""How old a look is when a running page takes another."""


class Examination(Struct, frozen=True, kw_only=True):
    """A look that was taken. at: when; report: what it found."""

    at: datetime
    report: HealthReport


def keep_examination(app: App, report: HealthReport) -> None:
    """Keep what was found, in an owner's folder that is there; that it cannot be kept is no error.

    What is wrong may be just that nothing can be written there.
    """
    made = Examination(at=app.clock(), report=report)
    if os.path.isdir(app.folder):  # is_dir raises where a folder above is closed
        with suppress(CommonplaceError):
            replace_file(app.folder / FILE_NAME, msgspec.json.encode(made), mode=0o600)


def find_examination(app: App) -> Examination | None:
    """The last look; None where none was kept, or what was kept cannot be read."""
    try:
        return msgspec.json.decode((app.folder / FILE_NAME).read_bytes(), type=Examination)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def examine_if_due(app: App) -> bool:
    """Look for problems where that was not done for a day, and keep it; whether it was done."""
    last = find_examination(app)
    if not os.path.isdir(app.folder) or (
        last is not None and timedelta() <= app.clock() - last.at < DUE_AFTER
    ):
        return False
    keep_examination(app, entry_point("doctor")(app).examine())
    return True
