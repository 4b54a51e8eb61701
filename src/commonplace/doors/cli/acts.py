"""What was written in this terminal, so that `undo` can take back the newest of it.

Refs and versions, never a word of an entry. Noted around the write: of a command that was killed
in between it is known that something may have been written.
"""

from __future__ import annotations

import os
import platform
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from commonplace.core.errors import CommonplaceError
from commonplace.core.files import locked, make_folder, replace_file
from commonplace.core.owner_folders import make_owner_folder, owner_folder
from commonplace.doors.cli.short_refs import terminal_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from commonplace.app import App
    from commonplace.config.table import Settings

_FOLDER = "acts"
_NO_TERMINAL = "no-terminal"
_KEPT = 200
"""How many are kept in a terminal, the newest."""


class Act(Struct, frozen=True, kw_only=True):
    """Something that a command wrote, or began to write.

    Attributes:
        at: When, in seconds since 1970.
        who: As `this_terminal` gives it.
        refs: The version of each entry that was written, by its ref; empty for an import, and the
            version for an edit of which nothing was kept.
        journal: Whose entries they are.
        is_import: Whether it was an import, whose entries its journal or its record knows.
        record: Of an import from another program; empty for none.
        is_done: False until the command had written.
    """

    at: float
    who: str
    refs: dict[str, str] = field(default_factory=dict)
    journal: str = ""
    is_import: bool = False
    record: str = ""
    is_done: bool = True


def this_terminal() -> str:
    """The user, the machine and the terminal of this call; the same for all without a terminal."""
    return f"{os.environ.get('USER', '')}@{platform.node()}{terminal_name()}"


@contextmanager
def noting(
    app: App, journal: str, *, is_import: bool = False, record: str = ""
) -> Iterator[Callable[[Mapping[str, str] | None], None]]:
    """Note what is written inside, once it is given; None where it added nothing.

    Never fails a write: what cannot be noted is not taken back.

    Args:
        app: Of this call.
        journal: That is written in.
        is_import: As `Act` has it.
        record: Likewise.
    """
    begun = Act(
        at=app.clock().timestamp(),
        who=this_terminal(),
        journal=journal,
        is_import=is_import,
        record=record,
        is_done=False,
    )
    with suppress(CommonplaceError):
        _put(app.settings, None, begun)

    def note(refs: Mapping[str, str] | None) -> None:
        with suppress(CommonplaceError):
            if refs is None:
                forget(app.settings, begun)
            else:
                done = msgspec.structs.replace(begun, refs=dict(refs), is_done=True)
                _put(app.settings, begun, done)

    try:
        yield note
    except (CommonplaceError, SystemExit):
        if not record:  # which says itself how much was written
            note(None)  # refused: nothing was
        raise


def note_edit(app: App, refs: Mapping[str, str]) -> None:
    """Note an edit that no former text tells of, lest `undo` takes back what was before it.

    refs: as `Act` has them.
    """
    at = app.clock().timestamp()
    for ref, version in refs.items():
        journal = ref.partition(":")[0]
        with suppress(CommonplaceError):
            made = Act(at=at, who=this_terminal(), refs={ref: version}, journal=journal)
            _put(app.settings, None, made)


def read(settings: Settings) -> list[Act]:
    """What is known of this terminal, the newest last; a line that is damaged is left out."""
    return _read(_path(settings))


def read_others(settings: Settings) -> list[Act]:
    """What is known of all other terminals, in no order."""
    who, found = this_terminal(), []
    with suppress(OSError):
        for path in _path(settings).parent.iterdir():
            found += [each for each in _read(path) if each.who != who]
    return found


def _read(path: Path) -> list[Act]:
    found = []
    with suppress(OSError):
        for line in path.read_bytes().splitlines():
            with suppress(msgspec.MsgspecError):
                found.append(msgspec.json.decode(line, type=Act))
    return found


def forget(settings: Settings, act: Act) -> None:
    """Forget an act, which is taken back or left nothing. Raises: Unavailable, Denied."""
    _put(settings, act, None)


def _put(settings: Settings, former: Act | None, act: Act | None) -> None:
    """Put an act in the place of a former one; None for none. Raises: Unavailable, Denied."""
    path = _path(settings)
    make_folder(settings.home)
    make_owner_folder(settings.home / "users", settings.owner)
    make_folder(path.parent)
    with locked(path.parent):  # all programs without a terminal share one file
        acts = [each for each in read(settings) if each != former]
        acts += [act] if act is not None else []
        lines = b"".join(msgspec.json.encode(each) + b"\n" for each in acts[-_KEPT:])
        replace_file(path, lines)


def _path(settings: Settings) -> Path:
    name = terminal_name() or _NO_TERMINAL
    return settings.home / "users" / owner_folder(settings.owner) / _FOLDER / name
