"""The settings of a call, where it was called, and the screen for all that it shows.

Read once, inside a command; never a journal.
"""

from __future__ import annotations

import os
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace.core.errors import CommonplaceError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.config.table import Settings
    from commonplace.core.redact import Screen

_SETTINGS = "commonplace.settings"
_settings_now: ContextVar[Settings | None] = ContextVar("_settings_now", default=None)


def settings() -> Settings:
    """The settings of this call, read once, with its flags; from here on a log is written, if set.

    Call it inside a command. Raises Invalid for a setting that cannot be meant.
    """
    ctx = click.get_current_context()
    if _SETTINGS not in ctx.meta:
        # First: where the folder is gone, Python 3.13.0 may fail to import `socket`, as logs do.
        cwd = working_folder()
        from commonplace.app.process import ProcessContext
        from commonplace.config.settings import read_settings
        from commonplace.doors.cli.options import given_flags
        from commonplace.doors.logs import set_up_logging

        read = read_settings(flags=given_flags(), cwd=cwd, home=home_folder())
        set_up_logging(read)
        ProcessContext(read).check_owner()
        ctx.meta[_SETTINGS] = read
        _settings_now.set(read)
    found: Settings = ctx.meta[_SETTINGS]
    return found


def working_folder() -> Path:
    """Where the command was called. Raises Unavailable where that folder is gone."""
    try:
        return Path.cwd()
    except OSError as exc:
        raise Unavailable(
            "The working directory is gone.", hint="Change to another folder, then try again."
        ) from exc


def home_folder() -> Path | None:
    """The user's home folder; None where there is none. Raises: Invalid where HOME is none."""
    from commonplace.config.settings import user_home

    return user_home()


def shown_by_settings() -> Callable[[str], str]:
    """The screen of one call: of its settings, else of those that can be read, else the usual."""
    made: tuple[Settings | None, Screen] | None = None

    def shown(text: str) -> str:
        nonlocal made
        read = _settings_now.get()
        if made is None or made[0] is not read:
            made = read, _screen_of(read)
        return made[1].shown(text)

    return shown


def _screen_of(read: Settings | None) -> Screen:
    from commonplace.core.redact import Screen, screen_of

    if read is not None:
        return screen_of(str(read.home), read.secrets.own, read.secrets.at_write)
    from commonplace.config.quick import read_quick

    try:
        return read_quick(os.environ, os.getcwd()).screen()
    except (OSError, ValueError, CommonplaceError):  # what is wrong with them is what is shown
        return Screen()
