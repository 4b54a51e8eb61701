"""What was written in this terminal, so that `undo` can take back the newest of it.

Refs and versions, never a word of an entry. Noted around the write: of a command that was killed
in between it is known that something may have been written.
"""

from __future__ import annotations

import os
import platform
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Struct

from commonplace.core.errors import CommonplaceError
from commonplace.core.files import locked, make_folder, replace_file
from commonplace.core.owner_folders import make_owner_folder, owner_folder
from commonplace.doors.cli.short_refs import terminal_name, terminal_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from commonplace.app import App
    from commonplace.config.table import Settings
    from commonplace.verbs.imports.records import ImportRecord

_FOLDER = "acts"
_NO_TERMINAL = "no-terminal"
_KEPT = 200
"""How many are kept in a terminal, the newest."""


class _Noted(Struct, frozen=True, kw_only=True, tag_field="act"):
    """What all acts have.

    Attributes:
        at: When, in seconds since 1970.
        who: As `this_terminal` gives it.
        journal: Whose entries they are; empty for those of several.
    """

    at: float
    who: str
    journal: str


class WriteBegun(_Noted, frozen=True, kw_only=True, tag="begun"):
    """A command that began to write; what it wrote is not known until it has."""


class EntriesWritten(_Noted, frozen=True, kw_only=True, tag="written"):
    """Entries that a command wrote. versions: of each, by its ref."""

    versions: dict[str, str]


class EditNotKept(_Noted, frozen=True, kw_only=True, tag="edit"):
    """An edit of which no former text is kept. ref: of the entry."""

    ref: str


class ImportMade(_Noted, frozen=True, kw_only=True, tag="import"):
    """An import, to its end or not.

    Attributes:
        record: The id of its record, which says what it added.
        owner: Into whose journals; empty for those of who imported.
    """

    record: Annotated[str, Meta(pattern=r"\A[0-9a-f-]{36}\Z")]
    owner: str = ""


Act: TypeAlias = WriteBegun | EntriesWritten | EditNotKept | ImportMade
"""Something that a command wrote, or began to write."""


def this_terminal() -> str:
    """The user, the machine and the terminal of this call; the same for all without a terminal."""
    session = f" {terminal_session()}".rstrip()  # another terminal may have the name next
    return f"{os.environ.get('USER', '')}@{platform.node()}{terminal_name()}{session}"


@contextmanager
def noting(app: App, journal: str) -> Iterator[Callable[[Mapping[str, str]], None]]:
    """Note what is written inside, once it is given: the versions of entries by ref, or none.

    Never fails a write: what cannot be noted is not taken back.
    """
    here = _here(app, journal)
    begun = WriteBegun(**here)
    _note(app.settings, None, begun)

    def note(versions: Mapping[str, str]) -> None:
        done = EntriesWritten(**here, versions=dict(versions)) if versions else None
        _note(app.settings, begun, done)

    try:
        yield note
    except (CommonplaceError, SystemExit):
        note({})  # refused: nothing was
        raise


@contextmanager
def noting_import(app: App, journal: str, *, own: Settings | None = None) -> Iterator[ImportRecord]:
    """Note an import, whose record says what it adds; one that adds nothing is not noted.

    own: The settings of who imports, and takes it back, where the app is another owner's.
    """
    record, own = app.import_records().new(), own or app.settings
    owner = "" if own.owner == app.settings.owner else app.settings.owner
    made = ImportMade(**_here(app, journal), record=record.id, owner=owner)
    with ExitStack() as stack:
        with suppress(CommonplaceError):  # where nothing can be noted it is imported all the same
            stack.enter_context(record.held())
        _note(own, None, made)
        try:
            yield record
        finally:
            if record.is_empty:
                with suppress(CommonplaceError):
                    record.remove()
                _note(own, made, None)


def note_written(app: App, ref: str, version: str) -> None:
    """Note an entry that an edit wrote in the place of another."""
    here = _here(app, ref.partition(":")[0])
    _note(app.settings, None, EntriesWritten(**here, versions={ref: version}))


def note_edits(app: App, refs: Sequence[str]) -> None:
    """Note edits that no former text tells of, lest `undo` takes back what was before them."""
    for ref in refs:
        made = EditNotKept(**_here(app, ref.partition(":")[0]), ref=ref)
        _note(app.settings, None, made)


def _here(app: App, journal: str) -> dict[str, Any]:
    """What all acts have, of one in this terminal now."""
    return {"at": app.clock().timestamp(), "who": this_terminal(), "journal": journal}


def read(settings: Settings) -> list[Act]:
    """What is known of this terminal, the newest last; a line that is damaged is left out."""
    found: list[Act] = []
    with suppress(OSError):
        for line in _path(settings).read_bytes().splitlines():
            with suppress(msgspec.MsgspecError):
                found.append(msgspec.json.decode(line, type=Act))
    return found


def forget(settings: Settings, act: Act) -> None:
    """Forget an act, which is taken back or left nothing. Raises: Unavailable, Denied."""
    _put(settings, act, None)


def _note(settings: Settings, former: Act | None, act: Act | None) -> None:
    with suppress(CommonplaceError):
        _put(settings, former, act)


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
