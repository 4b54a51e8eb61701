"""Entries named as people name them: `3` of the last list, `-1` for the newest, a ref's beginning.

Never guesses: what fits two entries is an error that names both.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import click

from commonplace.core.errors import CommonplaceError, Denied, Invalid, NotFound
from commonplace.core.files import make_folder, replace_file
from commonplace.core.owner_folders import make_owner_folder, owner_folder
from commonplace.core.refs import bare_ref, look_up
from commonplace.journals.table import JOURNAL_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from commonplace.app import App
    from commonplace.config.table import Settings
    from commonplace.core.values import EditableText, Filter
    from commonplace.verbs.recall.service import EntriesOfTime

_Found = TypeVar("_Found")

NO_ENTRIES = "There are no entries yet."
FIRST_STEP = "Log what you do: `commonplace log …`."

_FILE = "last-list"
_LOOKED_AT = 500
"""Among so many of the newest entries the beginning of a ref is looked for."""
_SHORTEST = 4
_PATHS = ("/", ".", "~", "\\")
_NUMBER = re.compile(r"\d{1,3}")
_FROM_THE_END = re.compile(r"-\d{1,3}")
_UUID_OF_REF = re.compile(
    rf"\b((?:{'|'.join(JOURNAL_NAMES)}):(?:[^\s#]*[/#])?[0-9a-f]{{8}}-[0-9a-f]{{4}})"
    r"-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)
_START = 19
"""Place of the time at which a process started, in Linux's line about it, behind its name."""

_MARK = "\ufdd0"
"""Stands before `-1` while click parses; Unicode has no such sign in any text."""


def keep_list(refs: Iterable[str], read: Settings) -> None:
    """Keep the refs of the list that was just shown, for `open 3`; never fails a command."""
    with suppress(CommonplaceError):
        make_folder(read.home)
        make_owner_folder(read.home / "users", read.owner)
        lines = "".join(f"{line}\n" for line in (terminal_session(), *refs))
        replace_file(_file(read), lines.encode("utf-8", "replace"))


def is_older_than_list(named: str, entry: EditableText, read: Settings) -> bool:
    """Whether a number leads to an entry that the last list did not show, nor was written since.

    The person who typed it may mean another. Where no list was shown, none is older.
    """
    listed = _listed(read)
    if listed is None or not (is_number(named) or _FROM_THE_END.fullmatch(named)):
        return False
    written = entry.written.timestamp() if entry.written else 0.0
    return entry.ref not in listed and written < _file(read).stat().st_mtime


class ShortRefCommand(click.Command):
    """A command that takes a ref: `-1`, which click would read as an option, is an argument."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it, with arguments such as `-1` hidden from its parser."""
        hidden = [_MARK + word if _FROM_THE_END.fullmatch(word) else word for word in args]
        rest = super().parse_args(ctx, hidden)
        ctx.params = {name: _shown(value) for name, value in ctx.params.items()}
        return rest


def as_typed(complaint: str) -> str:
    """What click says of the words of a command, without our mark, which it may have quoted."""
    return complaint.replace(repr(_MARK).strip("'"), "").replace(_MARK, "")


def _shown(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_shown(each) for each in value)
    return value.removeprefix(_MARK) if isinstance(value, str) else value


def shortened(text: str) -> str:
    """The text with a beginning of 48 bits in place of each UUID in a ref, for a terminal.

    Such a beginning is one millisecond's, or drawn by lot: `whole_ref` finds the entry by it.
    """
    return _UUID_OF_REF.sub(r"\1", text)


def is_number(named: str) -> bool:
    """Whether this is a number in the last list."""
    return _NUMBER.fullmatch(named) is not None


def find_entry(
    app: App, named: str, read: Callable[[str], _Found], *, within: Filter | None = None
) -> _Found:
    """What `read` gives for the entry that a person named, by its ref or a short form of it.

    Args:
        app: As for `whole_ref`.
        named: As for `whole_ref`. A whole ref, or whatever else `read` knows, goes before a
            beginning.
        read: Takes a ref; it may also alter what is there, but nothing where it raises.
        within: As for `whole_ref`.

    Raises:
        As `read` and `whole_ref`.
    """
    named = app.names_behind(named)
    if is_number(named) or _FROM_THE_END.fullmatch(named):
        return read(whole_ref(app, named, within=within))
    try:
        return look_up(named, read)
    except (Invalid, NotFound, Denied):
        whole = whole_ref(app, named, within=within)
        if whole == named:
            raise
    return read(whole)


def whole_ref(app: App, named: str, *, within: Filter | None = None) -> str:
    """The ref that is meant; what is no short form of one stays as it is.

    Args:
        app: Looks for the newest entries, where those are meant.
        named: A number in the last list, `-1` for the newest entry, or the beginning of a ref.
        within: The entries that can be meant (default: all), of one journal, say.

    Raises:
        NotFound: The list or the journals have no such entry.
        Invalid: Two entries begin like that, or the number is that of another journal's entry.
    """
    from commonplace.core.values import Filter

    named = app.names_behind(named)
    within = within or Filter()
    if not within.journals:
        _refuse_name(bare_ref(named).rstrip(":"))
    listed = _listed(app.settings)
    if is_number(named):
        return _numbered(int(named), listed, within.journals)
    if _FROM_THE_END.fullmatch(named):
        return _from_the_end(app, named, within)
    bare = bare_ref(named)
    if len(bare) < _SHORTEST:
        return named
    leads = ["", *(f"{each}:" for each in within.journals)]
    leads += [f"{lead}{kind}/" for lead in leads[1:] for kind in within.kinds]
    found = _beginning_with(bare, leads, listed or ())
    if not found and not named.startswith(_PATHS):
        found = _beginning_with(bare, leads, _newest_refs(app, _LOOKED_AT, within))
    if len(found) > 1:
        raise Invalid(
            f"{named!r} is the beginning of {len(found)} refs: {found[0]}, {found[1]}.",
            hint="Give more of it.",
        )
    return found[0] if found else named


def _refuse_name(named: str) -> None:
    """Refuse the name of a journal: it begins all its refs, so the newest would be a guess."""
    if named in JOURNAL_NAMES:
        raise Invalid(
            f"{named} is a journal, not an entry.",
            hint=f"`commonplace list -j {named}` lists its entries; `{named} --help` says more.",
        )


def _from_the_end(app: App, named: str, within: Filter) -> str:
    if not int(named):
        raise NotFound(f"There is no entry {named}.", hint="The newest is -1.")
    newest = _newest_refs(app, -int(named), within)
    if not newest:
        raise NotFound(NO_ENTRIES, hint=FIRST_STEP)
    if len(newest) < -int(named):
        raise NotFound(f"There is no entry {named}.", hint=f"The oldest is -{len(newest)}.")
    return newest[-1]


def _numbered(number: int, listed: Sequence[str] | None, journals: Sequence[str]) -> str:
    """The entry of the last list under a number, which counts from 1; None before any list."""
    if listed is None:
        raise NotFound(
            f"No list was shown in this terminal yet, so there is no entry {number} of one.",
            hint="List entries first: `commonplace list` or `commonplace recall WORDS`.",
        )
    if not listed:
        raise NotFound(
            f"The last list was empty, so it has no entry {number}.",
            hint="Run `commonplace list` for a new one.",
        )
    if not 0 < number <= len(listed):
        raise NotFound(
            f"The last list has no entry {number}.",
            hint=f"It has {len(listed)}; run `commonplace list` for a new one.",
        )
    ref = listed[number - 1]
    journal = ref.partition(":")[0]
    if journals and journal not in journals:
        raise Invalid(
            f"Entry {number} of the last list is {ref}, which is not of {journals[0]}.",
            hint=f"Use `commonplace open`, `edit` or `delete`, or list {journals[0]} first.",
        )
    return ref


def _newest_refs(app: App, count: int, within: Filter) -> list[str]:
    """The refs of the newest entries that a filter admits, newest first."""
    return [hit.doc.ref for hit in newest_entries(app, "", within, max(count, 1)).hits]


def newest_entries(app: App, when: str, within: Filter, limit: int) -> EntriesOfTime:
    """The newest entries of a time: what was written or said, unless a journal is named.

    A summary bears the end of its period, so it would stand before all that it repeats; what a
    client noted by itself was never written here.
    """
    service = app.recall.service()
    kept = within if within.journals else service.written(within)
    return service.list_by_time(when, within=kept, limit=limit)


def _beginning_with(named: str, leads: Sequence[str], refs: Iterable[str]) -> list[str]:
    """The refs that begin like this, whole or behind one of the leads; one that is it, alone.

    What goes on with `#` is a part of what was named whole, and not meant.
    """
    parts = f"{named}#"
    by_name = {ref: _names(ref, leads) for ref in refs}
    fitting = [ref for ref, names in by_name.items() if named in names]
    return fitting or [
        ref
        for ref, names in by_name.items()
        if any(name.startswith(named) and not name.startswith(parts) for name in names)
    ]


def _names(ref: str, leads: Sequence[str]) -> list[str]:
    """What an entry may be called: its ref, and the ref without its journal."""
    if len(leads) == 1:
        return [ref, ref.partition(":")[2]]
    return [ref.removeprefix(lead) for lead in leads if ref.startswith(lead)]


def _listed(read: Settings) -> list[str] | None:
    """The refs of the last list, None before any; empty for a damaged file, which a list mends.

    That of another terminal, which had the same name before, is none.
    """
    try:
        session, *refs = _file(read).read_text("utf-8").split("\n")[:-1]
        return refs if session == terminal_session() else None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        return []


def _file(read: Settings) -> Path:
    """Where the last list of this terminal is kept, or of all programs that have none."""
    return read.home / "users" / owner_folder(read.owner) / f"{_FILE}{terminal_name()}"


def terminal_session() -> str:
    """What tells a terminal from the next one of the same name: its first process, and its start.

    The start is known on Linux alone; empty where there is no terminal, or on Windows.
    """
    if not terminal_name():
        return ""
    leader = os.getsid(0)
    with suppress(OSError, IndexError), open(f"/proc/{leader}/stat", "rb") as file:
        return f"{leader}-{int(file.read().rpartition(b')')[2].split()[_START])}"
    return str(leader)


def terminal_name() -> str:
    """The name of the terminal that the command was called on, as part of a file's; else empty."""
    for stream in (0, 1, 2):
        with suppress(OSError, AttributeError):  # no terminal; Windows, where they have no names
            return re.sub(r"\W+", "-", os.ttyname(stream).removeprefix("/dev"))
    return ""
