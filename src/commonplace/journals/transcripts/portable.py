"""Converts the kept messages of sessions into items of an export, and items into sessions.

Never changes a session that is there, and knows nothing of the clients' own files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping  # noqa: TC003  a struct reads it at run time
from contextlib import suppress
from datetime import datetime  # noqa: TC003  a struct reads it at run time
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import Conflict, Invalid
from commonplace.core.files import make_folder, remove_leftovers, write_new
from commonplace.core.import_notes import NOT_NOTED
from commonplace.core.portable import PortableItem
from commonplace.core.text import opening
from commonplace.journals.transcripts import files
from commonplace.journals.transcripts.message import (
    JOURNAL,
    Message,
    instant_of,
    parse_line,
    parse_ref,
    ref_of,
    render_line,
    time_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from commonplace.core.import_notes import NotesImport
    from commonplace.journals.transcripts.ports import AddsSessions, SessionStore

_YEARS = range(1, 10_000)
_SAME = ("role", "text", "parent", "cwd", "branch", "tools", "sidechain", "kept")
"""What is called the same in a message and in an item."""


class PortableMessage(PortableItem, frozen=True, kw_only=True):
    """A message of a session; its ref names client, session and number.

    Attributes:
        year: The year that names the folder of the session's file.
        role: user, assistant or tool.
        text: What was said.
        source: The client's own id of the message; `parent` is that of the one it follows.
        cwd: The working directory of the session then.
        branch: The git branch then.
        tools: Names of the tools that were called.
        sidechain: Whether it is of the conversation with a sub-agent.
        kept: When it was copied here, where that was more than a day after it was said.
    """

    year: int
    role: str
    text: str
    source: str
    parent: str = ""
    cwd: str = ""
    branch: str = ""
    tools: tuple[str, ...] = ()
    sidechain: bool = False
    kept: str = ""

    def page_text(self) -> str:
        """What was said."""
        return self.text

    def page_facts(self) -> Mapping[str, str]:
        """Who said it, and where."""
        return {"Said by": self.role, "Tools": ", ".join(self.tools), "Folder": self.cwd}


def is_left_of(kept: Sequence[Message | None], given: Sequence[Message]) -> bool:
    """Whether a session is what was given, without what was deleted of it since.

    kept: None for a line that is broken.
    """
    ids = {each.id for each in kept if each}
    return bool(ids) and [*kept] == [each for each in given if each.id in ids]


class SessionFiles:
    """Takes sessions of an export into files; implements `AddsSessions`."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._cleared: set[Path] = set()

    def holds(self, client: str, session: str, year: int) -> bool:
        """Whether there is a file of its name; see the port."""
        return os.path.lexists(self._path_of(client, session, year))

    def add_session(self, client: str, session: str, year: int, messages: Sequence[Message]) -> int:
        """Write a session's file whole, or not at all; see the port."""
        file = self._path_of(client, session, year)
        content = b"".join(render_line(client, each) for each in messages)
        if file.parent not in self._cleared:
            remove_leftovers(file.parent)  # of an import that was killed
            self._cleared.add(file.parent)
        if not os.path.lexists(file):
            make_folder(file.parent)
            with suppress(FileExistsError):  # a hook was faster
                write_new(file, content)
                return len(messages)
        if not is_left_of([line.message for line in files.read_lines(str(file))], messages):
            raise Conflict(
                "There is another session in {place} already.",
                hint="Move the file away, then import again.",
                place=file,
            )
        return 0

    def _path_of(self, client: str, session: str, year: int) -> Path:
        return Path(files.path_of(self._folder, client, f"{year:04}", session))


class PortableTranscripts:
    """Exports the kept sessions, and imports those of an export. See `core.ports.Portable`.

    Args:
        store: Keeps them.
        into: Takes those of an export.
    """

    journal = JOURNAL
    item_type: Any = PortableMessage

    def __init__(self, store: SessionStore, into: AddsSessions) -> None:
        self._store = store
        self._into = into

    def is_empty(self) -> bool:
        """See `Portable.is_empty`."""
        return not self._store.list_names()

    def export_items(self, since: datetime | None) -> Iterator[PortableMessage]:
        """See `Portable.export_items`; session by session."""
        for client, session in sorted(self._store.list_names()):
            state = self._store.find_session(client, session)
            if state is None:
                continue
            numbers: set[int] = set()
            for each in self._store.read(client, session):
                if (since is None or instant_of(each.at) >= since) and each.n not in numbers:
                    numbers.add(each.n)
                    same = {name: getattr(each, name) for name in _SAME}
                    yield PortableMessage(
                        ref=ref_of(client, session, each.n),
                        at=instant_of(each.at),
                        year=int(state.year),
                        source=each.id,
                        **same,
                    )

    def check_item(self, item: PortableMessage) -> None:
        """See `Portable.check_item`."""
        _message_of(item)

    def import_items(
        self, items: Iterator[PortableMessage], noting: NotesImport = NOT_NOTED
    ) -> int:
        """See `Portable.import_items`; each session is kept whole, or not at all.

        Without the messages that were deleted here, or are kept with another session.
        """
        added = 0
        for (client, session, year), group in groupby(map(_message_of, items), lambda x: x[0]):
            messages = [message for _, message in group]
            ref = ref_of(client, session)
            if not self._into.holds(client, session, year):
                new = self._store.new_ids(client, session, [x.id for x in messages])
                messages = [x for x in messages if x.id in new]
                if not messages:
                    continue
                noting.put_planned({ref: str(len(messages))})
            if count := self._into.add_session(client, session, year, messages):
                added += count
                noting.put_added({ref: str(count)})
        self._store.follow_files()
        return added


def _message_of(item: PortableMessage) -> tuple[tuple[str, str, int], Message]:
    """The client, name and year of a message's session, and the message. Raises: Invalid."""
    place = parse_ref(item.ref)
    if place is None or not place.n or item.year not in _YEARS:
        raise Invalid(
            f"Invalid ref or year: {opening(item.ref, 200)!a} names no message.", hint=_HINT
        )
    same: dict[str, Any] = {name: getattr(item, name) for name in _SAME}
    at = time_of(item.at.timestamp())
    message = parse_line(
        render_line(place.client, Message(id=item.source, at=at, n=place.n, **same))
    )
    if message is None:
        raise Invalid(
            f"Invalid role or time of {item.ref}: {opening(item.role, 40)!a}.", hint=_HINT
        )
    return (place.client, place.session, item.year), message


_HINT = "Use an export that was not changed by hand."
