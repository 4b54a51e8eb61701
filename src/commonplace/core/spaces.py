"""Spaces: owners that several users share, and which of them is at work.

Lets nobody in: a door says who is at work, and journals name that user as an entry's author.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import Denied, Invalid
from commonplace.core.fence import visible_line
from commonplace.core.owner_folders import parse_new_owner, parse_owner
from commonplace.core.text import opening

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PREFIX = "space:"
"""What the owner of a space begins with, and the name of no user."""


class Member(Struct, frozen=True, kw_only=True):
    """A user of a space. may_delete: whether its role is that of an admin."""

    name: str
    may_delete: bool


_COLONS = dict.fromkeys([0x2D0, 0x2F8, 0x589, 0x5C3, 0x2236, 0xA789], ":")  # or seem to be one
_AT_WORK: ContextVar[Member | None] = ContextVar("member_at_work", default=None)


def is_space(owner: str) -> bool:
    """Whether several users share this owner."""
    return owner.startswith(PREFIX)


def parse_space(name: str) -> str:
    """The owner that a space of this name is. Raises: Invalid."""
    if not name.strip():
        raise Invalid("A space without a name.", hint="Name it, as team.")
    return parse_owner(f"{PREFIX}{parse_new_owner(name.removeprefix(PREFIX))}")


def parse_user(text: str) -> str:
    """A user of this name, who is no space. Raises: Invalid."""
    user = parse_new_owner(text)
    if is_space(user.casefold().translate(_COLONS)):
        raise Invalid(
            f"{opening(user, 60)!r} is the name of a space, and of no user.",
            hint=f"Choose a name that does not begin with {PREFIX}",
        )
    return user


def check_has_journal(owner: str, journal: str, of_spaces: Sequence[str]) -> None:
    """Refuse a space a journal that is one person's.

    Args:
        owner: A space or a person, who has every journal.
        journal: Its name.
        of_spaces: The journals that a space has, by name.

    Raises:
        Invalid.
    """
    if is_space(owner) and journal not in of_spaces:
        raise Invalid(
            f"{opening(owner.removeprefix(PREFIX), 60)!r} is a space, and has no {journal} journal:"
            " that is one person's.",
            hint=f"A space has {', '.join(of_spaces)}; leave out the rest, or name a user.",
        )


@contextmanager
def at_work(member: Member | None) -> Iterator[None]:
    """What is written inside is this member's; None for an owner who is one person."""
    before = _AT_WORK.set(member)
    try:
        yield
    finally:
        _AT_WORK.reset(before)


def author_at_work() -> str:
    """The member who writes now; empty where the owner is one person."""
    member = _AT_WORK.get()
    return "" if member is None else member.name


def by_member(author: str) -> str:
    """What names a text's author behind it, as ` by ann`, to a member of a space; else empty."""
    return f" by {name}" if (name := shown_author(author)) else ""


def shown_author(author: str) -> str:
    """The name of a text's author, to a member of a space; else empty."""
    return visible_line(author) if author and author_at_work() else ""


def writer_at_work() -> str:
    """The member who writes now and may delete nothing; empty for anybody else."""
    member = _AT_WORK.get()
    return "" if member is None or member.may_delete else member.name


def check_may_delete() -> None:
    """Refuse a member of a space who may not delete what stands there. Raises: Denied."""
    if writer := writer_at_work():
        raise Denied(
            f"{writer} may write in this space, and delete nothing.",
            hint="Supersede the entry, or ask an admin of the space.",
        )
