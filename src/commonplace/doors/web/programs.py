"""The programs of others that users of a server have let in, as that server tells the pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from commonplace.core.spaces import Member


class ProgramLetIn(Struct, frozen=True, kw_only=True):
    """A program that a user has let in.

    Attributes:
        id: Names it to `KeepsPrograms.end`.
        name: What it calls itself; a stranger's word.
        described_at: The host that says who it is; empty where it has registered itself.
        client: What the server knows it by: the address of its own description, or a number.
        goes_to: Where browsers were sent with the answer, in words; empty where nobody knows.
        may_write: Whether it may write.
        toolsets: The tools it may call; empty for those that are offered by default.
        made: When it was let in.
        used: When it last came for new tokens, which it does each hour that it is used.
        until: When it is let in no more.
    """

    id: str
    name: str
    described_at: str
    client: str
    goes_to: tuple[str, ...]
    may_write: bool
    toolsets: tuple[str, ...]
    made: datetime
    used: datetime
    until: datetime


class KeepsPrograms(Protocol):
    """The programs that users have let in. Thread-safe; each method raises Unavailable."""

    def list_of(self, owner: str, member: Member | None) -> Sequence[ProgramLetIn]:
        """Those that a user, or a member of a space, let in and that may come, the newest first."""
        ...

    def end(self, owner: str, member: Member | None, program_id: str) -> str:
        """Shut out a program with all its tokens; its name. May be called twice.

        Raises: NotFound for one that they did not let in.
        """
        ...
