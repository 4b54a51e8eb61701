"""What is known of a call of a tool, or of a page, once it is over, for those who observe it.

Never holds a text: of what was asked and answered there are the refs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from commonplace.core.errors import CommonplaceError
from commonplace.journals.notebook.format import JOURNAL as NOTEBOOK
from commonplace.journals.table import JOURNAL_NAMES
from commonplace.verbs.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.core.spaces import Member
    from commonplace.core.values import Answer

OK = "ok"

ASKS = "asks"
"""The outcome of a call that is to come again, with what its client's own model says."""


class KeepsReads(Protocol):
    """What all servers know of what was read in sessions; each call may raise Unavailable."""

    def note_read(
        self, owner: str, token_id: str, session_id: bytes, section: str, version: str
    ) -> None:
        """Note which version of a section's overview was shown."""
        ...

    def last_read(self, owner: str, token_id: str, session_id: bytes, section: str) -> str:
        """The version that was shown last; empty where none was."""
        ...


class ServedSession(Session):
    """A session of a server of many users, whose calls a token makes.

    Args:
        owner: Whose journals it opens.
        token_id: May be empty.
        member: Who calls, where the owner is a space.
        reads: What all servers know of what was read in sessions; None for one that is alone.

    Attributes:
        name: Its id; empty before its client was told one, and for calls without a session.
    """

    def __init__(
        self,
        owner: str,
        *,
        token_id: str,
        member: Member | None = None,
        reads: KeepsReads | None = None,
    ) -> None:
        super().__init__(owner)
        self.token_id = token_id
        self.member = member
        self.name = b""
        self._reads = reads

    def note_read(self, section: str, version: str) -> None:
        """See `Session`; where the database is away, another server asks to read again."""
        if self._reads is not None and self.name:
            with suppress(CommonplaceError):
                self._reads.note_read(self.owner, self.token_id, self.name, section, version)

    def last_read(self, section: str) -> str:
        """See `Session`."""
        if self._reads is not None and self.name:
            with suppress(CommonplaceError):
                return self._reads.last_read(self.owner, self.token_id, self.name, section)
        return ""


class FinishedCall(Struct, frozen=True, kw_only=True):
    """A call of a tool that is over, or a page that was answered.

    Attributes:
        owner: Whose it was.
        token_id: The token that made it; may be empty.
        member: Who made it, where the owner is a space; else empty.
        tool: Its name; of a page `page` and its name.
        outcome: `ok`, `asks`, or the code of its error; of a page its status.
        seconds: How long it took.
        refs: Gives those of the entries that it wrote or showed; some may come twice.
    """

    owner: str
    token_id: str
    tool: str
    outcome: str
    seconds: float
    member: str = ""
    refs: Callable[[], Iterable[str]] = tuple


def refs_of(answer: Answer) -> Iterator[str]:
    """The refs of the entries that an answer wrote or shows."""
    yield from answer.written
    yield from _refs_in(answer.facts)


def _refs_in(facts: Any) -> Iterator[str]:
    if isinstance(facts, Mapping):
        for name, value in facts.items():
            if isinstance(value, str) and (name == "ref" or (name == "id" and is_ref(value))):
                yield value
            elif name == "refs" and isinstance(value, list | tuple):
                yield from (each for each in value if isinstance(each, str))
            else:
                yield from _refs_in(value)
    elif isinstance(facts, list | tuple):
        for each in facts:
            yield from _refs_in(each)


def is_ref(text: str) -> bool:
    """Whether a text that a tool or a page takes for a ref is one, and not what a user wrote.

    Only the name of a notebook's section may have several words.
    """
    journal, _, rest = text.partition(":")
    return journal in JOURNAL_NAMES and (journal == NOTEBOOK or not any(map(str.isspace, rest)))


class ObservesCalls(Protocol):
    """What learns of each call that is over, in the thread that made it."""

    def __call__(self, call: FinishedCall) -> None:
        """Note it; raises nothing."""
        ...
