"""The user's editor: a text opened in it, and kept where the command then fails.

Never loses what was saved, and never writes it where it belongs: a command does that.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace.core.errors import CommonplaceError, Invalid, Unavailable
from commonplace.core.files import make_folder, translated, write_new

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SAVED = "commonplace.saved"
_MTIME_STEP_S = 2
"""The coarsest step in which a file system keeps times, FAT's: so a quick save is seen."""


def text_from_editor(before: str, *, extension: str = ".md") -> str | None:
    """What the user's editor leaves of a text; None where it saved nothing, or left no file.

    Args:
        before: What the editor begins with.
        extension: Of the file it opens.

    Raises:
        Invalid: What it saved is not UTF-8.
        Unavailable: The editor cannot be run, or failed.
    """
    before += "" if before.endswith("\n") or not before else "\n"
    with _temporary(before.encode("utf-8", "replace"), extension) as path:
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
            content = _keep_saved(path, before, opened_at)
    if content is None:
        return None
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as exc:
        raise Invalid(
            "The editor saved a text that is not UTF-8.", hint="Let it save UTF-8, then try again."
        ) from exc


def keep_what_was_saved(ctx: click.Context, home: Callable[[], Path]) -> str:
    """Keep what was saved in an editor for a command that fails.

    Args:
        ctx: Of the command line.
        home: The folder below which it is kept; may raise our errors.

    Returns:
        Where it is kept, as a sentence, or the text itself; empty where nothing was saved.
    """
    saved = ctx.meta.pop(_SAVED, None)
    if saved is None:
        return ""
    content, extension = saved
    try:
        return f"What you wrote is kept in {_draft(home(), content, extension)}."
    except CommonplaceError:
        from commonplace.core.fence import visible

        return f"What you wrote:\n{visible(content.decode('utf-8', 'backslashreplace'))}"


def _unusable(name: str, why: str) -> Unavailable:
    return Unavailable(
        f"The editor {name} {why.rstrip('.')}.",
        hint="Try again, or name another in EDITOR, as in `export EDITOR=nano`.",
    )


@contextmanager
def _temporary(content: bytes, extension: str) -> Iterator[Path]:
    """A file for an editor, which looks older than it is; removed at the end."""
    descriptor, name = tempfile.mkstemp(prefix="editor-", suffix=extension)
    path = Path(name)
    try:
        with translated(path), os.fdopen(descriptor, "wb") as file:
            file.write(content)
        made = path.stat()
        os.utime(path, (made.st_atime, made.st_mtime - _MTIME_STEP_S))
        yield path
    finally:
        path.unlink(missing_ok=True)


def _keep_saved(path: Path, before: str, opened_at: int) -> bytes | None:
    """What the editor saved, noted for a command that fails; None where it saved nothing."""
    try:
        if path.stat().st_mtime_ns == opened_at:
            return None
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    if content.strip() and content != before.encode("utf-8", "replace"):
        click.get_current_context().meta[_SAVED] = content, path.suffix
    return content


def _draft(home: Path, content: bytes, extension: str) -> Path:
    """The new file that holds a text now. Raises: Unavailable, Denied, Invalid."""
    from commonplace.core.clock import utc_now

    folder = home / "drafts"
    make_folder(folder)
    path = folder / f"{utc_now():%Y%m%dT%H%M%S%f}{extension}"
    write_new(path, content)
    return path
