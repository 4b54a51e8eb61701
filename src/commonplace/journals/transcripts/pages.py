"""Owns how a ref of transcripts is opened: a message with what was said around it, or a session.

Never writes, and never answers from anything but the store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.errors import NotFound
from commonplace.core.text import first_words, opening
from commonplace.core.values import EntryPreview, Page
from commonplace.journals.transcripts.client_memory import PREFIX
from commonplace.journals.transcripts.message import (
    JOURNAL,
    KIND,
    NOTE,
    USER,
    instant_of,
    parse_ref,
    ref_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.journals.transcripts.client_memory import ClientMemory
    from commonplace.journals.transcripts.message import Message
    from commonplace.journals.transcripts.ports import SessionStore

SESSION = "session"


class TranscriptPages:
    """What opens refs of transcripts; see `core.ports.OpensRefs`.

    Args:
        store: What was said.
        memory: What clients noted by themselves; None where no one else's files are read.
    """

    journal = JOURNAL
    kinds = (KIND, NOTE)
    ref_form = f"{JOURNAL}:<client>/<session>#<number>"

    def __init__(self, store: SessionStore, memory: ClientMemory | None = None) -> None:
        self._store = store
        self._memory = memory

    def place_of(self, scope: str) -> str:
        """The folder in which it was said."""
        return scope

    def refs_behind(self, number: int) -> Sequence[str]:
        """The refs of messages and sessions of a short form, whether the index holds them or not.

        See `core.ports.FindsShortRefs`. Raises: Unavailable.
        """
        return self._store.refs_behind(number)

    def read_ref(self, ref: str) -> Page:
        """The message under a ref with its neighbours, a session with its messages, or a note.

        Raises: NotFound, Denied, Unavailable.
        """
        if self._memory is not None and ref.startswith(PREFIX):
            return self._memory.read_ref(ref)
        parts = parse_ref(ref)
        if parts is None:
            raise no_such(ref)
        if not parts.n:
            return self._read_session(parts.client, parts.session)
        near = {x.n: x for x in self._store.read_around(parts.client, parts.session, parts.n)}
        message = near.get(parts.n)
        if message is None:
            raise no_such(ref)
        before = next((x for n, x in near.items() if n < parts.n), None)
        after = next((x for n, x in near.items() if n > parts.n), None)
        return Page(
            ref=ref,
            journal=JOURNAL,
            scope=message.cwd,
            kind=KIND,
            at=instant_of(message.at),
            text=message.text,
            author=message.author,
            before=before and _preview(parts.client, parts.session, before),
            after=after and _preview(parts.client, parts.session, after),
        )

    def _read_session(self, client: str, session: str) -> Page:
        messages = [x for x in self._store.read(client, session) if x.text.strip()]
        if not messages:
            raise no_such(ref_of(client, session))
        first = next((x for x in messages if x.author == USER), messages[0])
        return Page(
            ref=ref_of(client, session),
            journal=JOURNAL,
            scope=first.cwd,
            kind=SESSION,
            at=instant_of(messages[0].at),
            text=first.text,
            author=first.author,
            sources=tuple(_preview(client, session, x) for x in messages),
        )


def no_such(ref: str) -> NotFound:
    """The error for a ref that names nothing that is kept."""
    return NotFound(
        f"No message or session {opening(ref, 100)!r}.",
        hint="See `commonplace transcripts list`, or list_sessions.",
    )


def _preview(client: str, session: str, message: Message) -> EntryPreview:
    text = f"{message.author}: {first_words(message.text)}"
    return EntryPreview(
        ref=ref_of(client, session, message.n), at=instant_of(message.at), text=text
    )
