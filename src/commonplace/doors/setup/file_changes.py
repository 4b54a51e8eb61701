"""Plans and makes the changes of a client's files: ours put in, ours taken out.

Never writes before every file of the client could be planned, and never over a change of another.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, Conflict, Invalid, NotFound
from commonplace.core.files import (
    make_folder,
    regular_file,
    remove_file,
    replace_file,
    sync_folder,
    translated,
    write_new,
)
from commonplace.doors.setup.allowing import Rule, note_file, parse_note, render_note
from commonplace.doors.setup.clients import SERVER
from commonplace.doors.setup.files import ClientFile, OwnFile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

_BOM = b"\xef\xbb\xbf"
_STAMP = re.compile(r"\.backup-\d{8}T\d{12}Z")


class Change(Struct, frozen=True, kw_only=True):
    """A planned change of a client's file.

    Args:
        before: Its content; None where there is no file yet.
        after: What is to be written; None to delete the file.
        needs_backup: Whether the content of before would be lost without a copy.
        stale: Backups that hold nothing which the file does not hold after the change.
    """

    file: Path
    before: bytes | None
    after: bytes | None
    needs_backup: bool
    stale: tuple[Path, ...] = ()


def read_text(file: Path) -> str:
    """The text of a file; empty where there is none, or it cannot be read."""
    try:
        return (_content(file) or b"").decode("utf-8-sig")
    except (UnicodeDecodeError, CommonplaceError):
        return ""


def plan_setup(files: Sequence[ClientFile]) -> list[Change]:
    """The changes that put what is ours into a client's files; empty where all is there already.

    Raises:
        Invalid: A file cannot be edited safely; the hint has what to add to it.
        Conflict: A file of the user's own has the name of one of ours.
    """
    changes = []
    for each in files:
        before = _content(each.path)
        text = ""
        try:
            text = (before or b"").decode("utf-8-sig")
            after = each.with_ours(text)
        except UnicodeDecodeError as exc:
            raise _not_editable(f"{each.path} is not UTF-8 text.", each, text) from exc
        except Invalid as exc:
            raise _not_editable(exc.message, each, text) from exc
        except RecursionError as exc:
            raise _not_editable(_too_deep(each), each, text) from exc
        # The note goes first: rules without it would be taken for the user's own.
        changes += _note_changes(each, text, after)
        if after != text:
            own = [part for part in each.parts if isinstance(part, OwnFile)]
            is_known = any(text in part.others for part in own)
            changes.append(
                Change(
                    file=each.path,
                    before=before,
                    after=None if own and not after else _encoded(after, before),
                    needs_backup=before is not None and not is_known,
                )
            )
    return changes


def plan_removal(files: Sequence[ClientFile]) -> list[Change]:
    """The changes that take what is ours out of a client's files; empty where nothing is there.

    A file in which nothing else was changed since becomes byte for byte what it was, or is deleted
    if it was not there: a backup with ours put in gives what the file holds now.

    Raises:
        Invalid: A file cannot be edited safely; the hint says what to take out of it.
    """
    changes = []
    for each in files:
        before = _content(each.path)
        text = read_text(each.path)
        present = each.present(text)
        if before is None or not present:
            changes += _note_changes(each, text, text)
            continue
        try:
            change = _restored(each, before) or _cut(each, before)
            left = (change.after or b"").decode("utf-8-sig")
            changes += [change, *_note_changes(each, text, left)]
        except (Invalid, RecursionError) as exc:
            labels = ", ".join(dict.fromkeys(part.label for part in present))
            hint = f"Take out of it yourself: {labels}. Then run this again."
            message = exc.message if isinstance(exc, Invalid) else _too_deep(each)
            raise Invalid(message, hint=hint) from exc
    return changes


def write_change(change: Change, *, now: datetime) -> Path | None:
    """Make a planned change; a link stays a link, and a mode stays as it was.

    Returns:
        The backup of the file as it was, where one is needed.

    Raises:
        Conflict: The file has changed since it was read.
    """
    if _content(change.file) != change.before:
        raise Conflict(f"{change.file} has just been changed by another.", hint="Try again.")
    target = Path(os.path.realpath(change.file))
    backup = None
    if change.needs_backup and change.before is not None:
        stamp = f"{now:%Y%m%dT%H%M%S%fZ}"
        backup = change.file.with_name(f"{change.file.name}.backup-{stamp}")
        write_new(backup, change.before, mode=target.stat().st_mode & 0o777)
    if change.after is None:
        remove_file(target)
        _remove_if_empty(change.file.parent)
    else:
        make_folder(target.parent)
        replace_file(target, change.after)
    for path in change.stale:
        remove_file(path)
    return backup


def _note_changes(each: ClientFile, before: str, after: str) -> list[Change]:
    """The change of the note that says which rules of a file are ours; none where it stays."""
    rules = [part for part in each.parts if isinstance(part, Rule)]
    if not rules:
        return []
    note = note_file(each.path)
    held = _content(note)
    noted = parse_note((held or b"").decode("utf-8", "replace"))
    # Of a server of another name it says the same as before.
    others = noted - {rule.label for rule in rules}
    ours = [
        rule.label
        for rule in rules
        if rule.stands(after) and (rule.label in noted or not rule.stands(before))
    ]
    labels = [*sorted(others), *ours]
    if frozenset(labels) == noted:
        return []
    text = render_note(labels).encode() if labels else None
    return [Change(file=note, before=held, after=text, needs_backup=False)]


def _restored(each: ClientFile, now: bytes) -> Change | None:
    """The change back to what the file was before ours came into it; None where that is unknown."""
    backups = {path: _content(path) or b"" for path in _list_backups(each.path)}
    is_own = any(isinstance(part, OwnFile) for part in each.parts)
    for former in [*backups.values(), None]:
        if _is_with_ours(each, former, now):
            stale = [
                path
                for path, content in backups.items()
                if not is_own and (content == former or _is_with_ours(each, former, content))
            ]
            # A file of ours that setup would write in another way was edited, or is of another
            # version: the user finds it in the backup.
            text = now.decode("utf-8-sig")
            is_edited = is_own and each.with_ours(text) != text
            return Change(
                file=each.path,
                before=now,
                after=former,
                needs_backup=is_edited,
                stale=tuple(stale),
            )
    return None


def _is_with_ours(each: ClientFile, former: bytes | None, now: bytes) -> bool:
    """Whether a content is another one, which has nothing of ours, with ours put in."""
    try:
        text = (former or b"").decode("utf-8-sig")
        held = now.decode("utf-8-sig")
        if each.present(text):
            return False
        as_held = replace(each, parts=tuple(each.present(held)))
        return _encoded(as_held.with_ours(text), former) == now
    except (UnicodeDecodeError, CommonplaceError):
        return False


def _cut(each: ClientFile, before: bytes) -> Change:
    left = each.without_ours(before.decode("utf-8-sig"))
    after = None if left is None else _encoded(left, before)
    return Change(file=each.path, before=before, after=after, needs_backup=True)


def _list_backups(file: Path) -> list[Path]:
    """The backups that setup kept of a file, oldest first."""
    with translated(file.parent):
        beside = sorted(file.parent.iterdir())
    length = len(file.name)
    return [
        path
        for path in beside
        if path.name.startswith(file.name) and _STAMP.fullmatch(path.name[length:])
    ]


def _remove_if_empty(folder: Path) -> None:
    """Remove a folder of a skill of ours that nothing is left in."""
    with translated(folder):
        if folder.name.startswith(SERVER) and not any(folder.iterdir()):
            folder.rmdir()
            sync_folder(folder.parent)


def _encoded(text: str, former: bytes | None) -> bytes:
    mark = _BOM if (former or b"").startswith(_BOM) else b""
    return mark + text.encode()


def _content(file: Path) -> bytes | None:
    try:
        with regular_file(file) as opened:
            return opened.read()
    except NotFound:
        return None


def _too_deep(each: ClientFile) -> str:
    return f"{each.path} cannot be edited: its values are nested too deeply."


def _not_editable(message: str, each: ClientFile, text: str) -> Invalid:
    return Invalid(message, hint=f"Add this to it yourself:\n{each.block(text)}")
