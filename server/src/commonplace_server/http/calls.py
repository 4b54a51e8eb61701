"""What is known of a call of a tool once it is over, for those who count it or keep account of it.

Never holds a text: of what was asked and answered there are the refs alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from commonplace.verbs.session import Session

if TYPE_CHECKING:
    from commonplace.core.values import Answer

OK = "ok"

ASKS = "asks"
"""The outcome of a call that is to come again, with what its client's own model says."""


class ServedSession(Session):
    """A session of a server of many users, whose calls a token makes. token_id: may be empty."""

    def __init__(self, owner: str, *, token_id: str) -> None:
        super().__init__(owner)
        self.token_id = token_id


class FinishedCall(Struct, frozen=True, kw_only=True):
    """A call that is over.

    Attributes:
        session: Whose it was.
        tool: Its name.
        outcome: `ok`, `asks`, or the code of its error.
        seconds: How long it took.
        answer: What it gave; None where it failed.
    """

    session: Session
    tool: str
    outcome: str
    seconds: float
    answer: Answer | None = None


class ObservesCalls(Protocol):
    """What learns of each call that is over, in the thread that made it."""

    def __call__(self, call: FinishedCall) -> None:
        """Note it; raises nothing."""
        ...
