"""Owns what it means for private entries that one takes the place of another, wherever they lie.

Never reads or writes an entry.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from commonplace.core.errors import already_superseded
from commonplace.core.expiring import leaves_replaced
from commonplace.journals.private.format import (
    mark_superseded,
    mark_superseding,
    without_superseded,
)
from commonplace.journals.private.markdown import split_frontmatter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from commonplace.journals.private.format import PrivateEntry


def refuse_other_text(successor: PrivateEntry, former: str, text: str) -> None:
    """Raises: Conflict where the entry that took the place of a former says another text."""
    if split_frontmatter(successor.raw)[1].strip() != text.strip():
        raise already_superseded(former, successor.ref)


def marks_without(
    gone: PrivateEntry, former: PrivateEntry | None, later: PrivateEntry | None
) -> Iterator[tuple[str, Callable[[str], str]]]:
    """What changes once an entry goes: the refs of others, and what becomes of their files.

    What replaced it replaces what it had replaced. Where none did, that holds again, unless it is
    to stay replaced: see `leaves_replaced`.

    former, later: the entries that it names, as far as they are there.
    """
    if former is None or later == former:
        return
    if later is not None and later.supersedes == gone.ref:
        yield later.ref, partial(mark_superseding, former=former.ref)
        yield former.ref, partial(mark_superseded, successor=later.ref)
    elif former.superseded_by == gone.ref and not leaves_replaced():
        yield former.ref, without_superseded
