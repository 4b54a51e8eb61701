"""The user's editor: a text opened in it, and kept where what follows fails.

Never loses what was typed, and never writes it where it belongs: a command does that.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.doors.cli.frame import text_from_editor, text_input

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from commonplace.app import App


@contextmanager
def edited_text(app: App, before: str, words: tuple[str, ...]) -> Iterator[str]:
    """The new text: the words given, else stdin, else what the editor leaves of the old one.

    Args:
        app: Its home keeps what was written in an editor, where what is done inside fails.
        before: The old text.
        words: Of the command line.

    Raises:
        Invalid: Nothing was saved in the editor, or what was given is not UTF-8.
    """
    if words or not sys.stdin.isatty():
        yield text_input(" ".join(words) if words else None)
        return
    edited = text_from_editor(before)
    if edited is None:
        raise Invalid("Nothing was changed.", hint="Save before you leave the editor.")
    with kept_if_refused(app, edited):
        yield edited


@contextmanager
def kept_if_refused(app: App, text: str) -> Iterator[None]:
    """Keep what was written in an editor where what follows fails.

    Args:
        app: Whose home keeps it.
        text: What was written.
    """
    try:
        yield
    except BaseException:
        try:
            message = f"What you wrote is kept in {_draft(app, text)}."
        except CommonplaceError:
            message = f"What you wrote:\n{text}"
        click.echo(message, err=True)
        raise


def _draft(app: App, text: str) -> Path:
    """The new file that holds a text now. Raises: Unavailable, Denied."""
    from commonplace.core.clock import utc_now
    from commonplace.core.files import make_folder, write_new

    folder = app.settings.home / "drafts"
    make_folder(folder)
    path = folder / f"{utc_now():%Y%m%dT%H%M%S%f}.md"
    write_new(path, text.encode("utf-8", "surrogateescape"))
    return path
