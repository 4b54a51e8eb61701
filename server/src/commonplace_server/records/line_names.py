"""The names by which the outbox, times and former texts know an entry: a kind and an id.

A record's kind is its own; of any other journal's entry it is the journal's name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.journals.memory.entry import may_be_id
from commonplace.journals.memory.records import JOURNAL, KINDS, ref_of
from commonplace_server.postgres.text_lists import Texts

if TYPE_CHECKING:
    from collections.abc import Iterable

OTHER_JOURNALS = ("chronicle", "private", "notebook", "timeline", "transcripts")
"""The journals beside memory whose entries lie in the database."""


def kinds_of(journal: str) -> tuple[str, ...]:
    """The kinds of a journal's lines."""
    return (*KINDS,) if journal == JOURNAL else (journal,)


def name_of(ref: str) -> tuple[str, str] | None:
    """The kind and id of a ref; None where no entry can have it."""
    journal, _, rest = ref.partition(":")
    if journal in OTHER_JOURNALS:
        return (journal, rest) if rest and "\0" not in rest else None
    kind, _, ref_id = rest.partition("/")
    return (kind, ref_id) if journal == JOURNAL and kind in KINDS and may_be_id(ref_id) else None


def ref_of_line(kind: str, ref_id: str) -> str:
    """The ref of a kind and id."""
    return f"{kind}:{ref_id}" if kind in OTHER_JOURNALS else ref_of(kind, ref_id)


def columns_of_refs(named: Iterable[tuple[str, str]]) -> dict[str, Texts]:
    """Kinds and ids as the queries take them that name several entries."""
    pairs = [*named]
    return {"kinds": Texts([kind for kind, _ in pairs]), "ids": Texts([x for _, x in pairs])}
