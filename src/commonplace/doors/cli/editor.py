"""The user's editor: a text opened in it, and kept where the command then fails.

Never loses what was saved, and never writes it where it belongs: a command does that.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from commonplace.core.drafts import open_draft, open_draft_aside
from commonplace.core.errors import CommonplaceError, Invalid, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from commonplace.core.drafts import Draft

_DRAFT = "commonplace.draft"
_MTIME_STEP_S = 2
"""The coarsest step in which a file system keeps times, FAT's: so a quick save is seen."""


def text_from_editor(
    before: str, home: Callable[[], Path], *, extension: str = ".md"
) -> str | None:
    """What the user's editor leaves of a text; None where it saved nothing, or left no file.

    Args:
        before: What the editor begins with.
        home: Our folder, in which the text is a draft from the start; may raise our errors.
        extension: Of the file it opens.

    Raises:
        Invalid: What it saved is not UTF-8.
        Unavailable: The editor cannot be run, or failed.
    """
    before += "" if before.endswith("\n") or not before else "\n"
    draft, is_ours = _opened(home, before.encode("utf-8", "replace"), extension)
    path = draft.path
    made = path.stat()
    os.utime(path, (made.st_atime, made.st_mtime - _MTIME_STEP_S))
    opened_at = path.stat().st_mtime_ns
    try:
        click.edit(filename=str(path))
    except click.ClickException as exc:
        # click says it as `NAME: Editing failed`, with an errno where it did not start.
        name, _, why = exc.message.partition(": Editing failed")
        raise _unusable(name, "cannot be started" if why else "ended with an error") from exc
    except ValueError as exc:  # its words cannot be parted
        command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
        raise _unusable(command, f"cannot be started: {exc}") from exc
    finally:
        content = _keep_saved(draft, is_ours, before, opened_at)
    if content is None:
        return None
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as exc:
        raise Invalid(
            "The editor saved a text that is not UTF-8.", hint="Let it save UTF-8, then try again."
        ) from exc


def end_draft(ctx: click.Context, *, is_done: bool) -> str:
    """Remove what was saved for a command that is done, and keep it for another.

    Returns:
        Where it is kept, as a sentence, or the text itself; empty where nothing is.
    """
    draft, is_ours = ctx.meta.pop(_DRAFT, (None, False))
    if draft is None:
        return ""
    if is_done:
        draft.drop()
        return ""
    if is_ours:
        draft.leave()
        return f"What you wrote is kept in {draft.path}."
    from commonplace.core.fence import visible

    text = draft.path.read_text("utf-8", "backslashreplace")
    draft.drop()
    return f"What you wrote:\n{visible(text)}"


def _unusable(name: str, why: str) -> Unavailable:
    return Unavailable(
        f"The editor {name} {why.rstrip('.')}.",
        hint="Try again, or name another in EDITOR, as in `export EDITOR=nano`.",
    )


def _opened(home: Callable[[], Path], content: bytes, extension: str) -> tuple[Draft, bool]:
    """A draft, and whether it is in our home; else it is among temporary files. Raises: OSError."""
    try:
        return open_draft(home(), content, extension=extension), True
    except CommonplaceError:
        return open_draft_aside(content, extension=extension), False


def _keep_saved(draft: Draft, is_ours: bool, before: str, opened_at: int) -> bytes | None:
    """What the editor saved, kept until the command ends; None where it saved nothing."""
    content = None
    with suppress(FileNotFoundError):
        if draft.path.stat().st_mtime_ns != opened_at:
            content = draft.path.read_bytes()
    if content and content.strip() and content != before.encode("utf-8", "replace"):
        click.get_current_context().meta[_DRAFT] = draft, is_ours
    else:
        draft.drop()
    return content
