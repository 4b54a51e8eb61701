"""Notes which sessions an import adds: how many messages each has, and what it was copied from.

Never notes a word of a message. A session that was there before is only counted: it stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.journals.transcripts.copying import origin_of
from commonplace.journals.transcripts.message import ref_of, session_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from commonplace.core.import_notes import NotesImport
    from commonplace.journals.transcripts.store import TranscriptStore

_BETWEEN = "\0"


def parse_added(version: str) -> tuple[int, list[str]] | None:
    """How many messages a session had when it was added, and what it was copied from.

    None where that is not known.
    """
    messages, *origins = version.split(_BETWEEN)
    return (int(messages), origins) if messages.isdecimal() else None


class NotedSessions:
    """Notes the sessions of one import.

    Args:
        store: Where they are kept.
        noting: Takes what is added.
    """

    def __init__(self, store: TranscriptStore, noting: NotesImport) -> None:
        self._store = store
        self._noting = noting
        self._added: dict[str, tuple[int, dict[str, None]]] = {}
        self._lengthened: set[str] = set()

    def add(
        self, client: str, session: str, original: str, new: int, write: Callable[[], int]
    ) -> None:
        """Keep messages of an original, and note it.

        A session that another process kept at this moment, as a hook does, is not the import's.
        `new` messages are not there yet; `write` keeps them, and says how many it kept.
        """
        name = session_name(session)
        state = self._store.find_session(client, name)
        ref, there = ref_of(client, name), state.messages if state else 0
        if not new:
            write()
            return
        if there and ref not in self._added:
            write()
            self._note_lengthened(ref)
            return
        before, origins = self._added.get(ref, (0, {}))
        origins[origin_of(original)] = None
        self._noting.put_planned({ref: _version(there + new, origins)})
        kept = write()
        if kept < new and ref not in self._added:
            self._note_lengthened(ref)
            return
        # One that another lengthened meanwhile has more than this, and stays.
        self._added[ref] = before + kept, origins
        self._noting.put_added({ref: _version(before + kept, origins)})

    def _note_lengthened(self, ref: str) -> None:
        self._noting.put_added({}, updated=int(ref not in self._lengthened))
        self._lengthened.add(ref)


def _version(messages: int, origins: Iterable[str]) -> str:
    """What `parse_added` reads."""
    return _BETWEEN.join([str(messages), *origins])
