"""Keeps what `doctor` found last, so that a page can show it at once: an examination takes seconds.

Never decides what is wrong, and never reports an examination that did not happen.
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
"""The age at which a running page examines again."""


class Examination(Struct, frozen=True, kw_only=True):
    """An examination by `doctor`. at: when; report: what it found."""

    at: datetime
    report: HealthReport


def keep_examination(app: App, report: HealthReport) -> None:
    """Keep a report in the owner's folder, if that exists; a failure to write is not an error.

    The problem may be just that nothing can be written there.
    """
    made = Examination(at=app.clock(), report=report)
    if os.path.isdir(app.folder):  # is_dir raises where a folder above is closed
        with suppress(CommonplaceError):
            replace_file(app.folder / FILE_NAME, msgspec.json.encode(made), mode=0o600)


def find_examination(app: App) -> Examination | None:
    """The last examination; None where none was kept, or it cannot be read."""
    try:
        return msgspec.json.decode((app.folder / FILE_NAME).read_bytes(), type=Examination)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def examine_if_due(app: App) -> bool:
    """Examine and keep the report, unless that was done within a day; returns whether it was."""
    last = find_examination(app)
    if not os.path.isdir(app.folder) or (
        last is not None and timedelta() <= app.clock() - last.at < DUE_AFTER
    ):
        return False
    keep_examination(app, entry_point("doctor")(app).examine())
    return True
