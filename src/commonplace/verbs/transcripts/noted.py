"""Notes which sessions an import adds: how many messages each has, and what it was copied from.

Never notes a word of a message. A session that was there before is only counted: it stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.journals.transcripts.copying import origin_of
from commonplace.journals.transcripts.message import ref_of, session_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.core.import_notes import NotesImport
    from commonplace.journals.transcripts.store import TranscriptStore

_BETWEEN = "\0"


class AddedSession(Struct, frozen=True, kw_only=True):
    """How a session was when it was added.

    Attributes:
        messages: How many it had.
        origins: What of it was copied from: read again when it is to come back.
    """

    messages: int
    origins: tuple[str, ...] = ()

    def render(self) -> str:
        """As the version in the record of an import."""
        return _BETWEEN.join([str(self.messages), *self.origins])


def parse_added(version: str) -> AddedSession | None:
    """What `AddedSession.render` gave; None where it is not known."""
    messages, *origins = version.split(_BETWEEN)
    if not messages.isdecimal():
        return None
    return AddedSession(messages=int(messages), origins=tuple(origins))


class KeptSession(Struct, frozen=True, kw_only=True):
    """How a session is now. last_n: the number of its last message, which counts deleted ones."""

    messages: int
    last_n: int

    def render(self) -> str:
        """As the version of an entry that is to be taken back."""
        return f"{self.messages} {self.last_n}"


def parse_kept(version: str) -> KeptSession:
    """What `KeptSession.render` gave. Raises: ValueError."""
    messages, last_n = map(int, version.split())
    return KeptSession(messages=messages, last_n=last_n)


class NotedSessions:
    """Notes the sessions of one import.

    Args:
        store: Where they are kept.
        noting: Takes what is added.
    """

    def __init__(self, store: TranscriptStore, noting: NotesImport) -> None:
        self._store = store
        self._noting = noting
        self._added: dict[str, AddedSession] = {}
        self._lengthened: set[str] = set()

    def add(
        self, client: str, session: str, original: str, new: int, write: Callable[[], int]
    ) -> None:
        """Keep messages of an original, and note it.

        A session that another process kept at this moment, as a hook does, is not the import's.

        Args:
            client: Whose session it is.
            session: Its id.
            original: The path of what it is copied from.
            new: How many messages are not there yet.
            write: Keeps them, and says how many it kept.
        """
        name = session_name(session)
        ref, there = ref_of(client, name), self._messages(client, name)
        if not new:
            write()
            return
        if there and ref not in self._added:
            write()
            self._note_lengthened(ref)
            return
        before = self._added.get(ref, AddedSession(messages=0))
        origins = dict.fromkeys([*before.origins, origin_of(original)])
        added = AddedSession(messages=there + new, origins=tuple(origins))
        self._noting.put_planned({ref: added.render()})
        kept = write()
        if kept < new and ref not in self._added:
            self._note_lengthened(ref)
            return
        # One that another lengthened meanwhile has more than this, and stays.
        added = AddedSession(messages=before.messages + kept, origins=added.origins)
        self._added[ref] = added
        self._noting.put_added({ref: added.render()})

    def _note_lengthened(self, ref: str) -> None:
        self._noting.put_added({}, updated=int(ref not in self._lengthened))
        self._lengthened.add(ref)

    def _messages(self, client: str, name: str) -> int:
        state = self._store.find_session(client, name)
        return state.messages if state else 0
