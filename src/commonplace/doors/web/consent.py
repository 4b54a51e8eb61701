"""What a user is asked before a program of others is let in, where a server lets them sign in here.

Knows nothing of programs and their protocols: who serves the pages says what is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from commonplace.doors.web.visit import Visitor


class ConsentQuestion(Struct, frozen=True, kw_only=True):
    """Who asks to be let in, and to what.

    Attributes:
        name: What the program calls itself; a stranger's word.
        described_at: The host that says who it is; empty where nobody does.
        goes_to: Where the browser goes with the answer, in words.
        leads_to: The same as a source of a content security policy.
        may_write: Whether it asks to write, and may be allowed to.
        may_delete: Whether who writes may delete as well.
        toolsets: The tools that it names; empty for those that are offered by default.
        has_connector: Whether it may have `search` and `fetch` alone instead.
        days: How long it is let in at most.
    """

    name: str
    described_at: str
    goes_to: str
    leads_to: str
    may_write: bool
    may_delete: bool
    toolsets: tuple[str, ...]
    has_connector: bool
    days: int


class AsksConsent(Protocol):
    """Asks users for what programs want, by the query of an address that a program sent them to."""

    async def ask(self, visitor: Visitor, query: str) -> ConsentQuestion:
        """What a user is asked. Raises: Invalid, Unavailable."""
        ...

    async def answer(self, visitor: Visitor, query: str, form: Mapping[str, Sequence[str]]) -> str:
        """Where the browser goes with the answer. Raises: as `ask`."""
        ...
