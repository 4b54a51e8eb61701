"""Owns how a ref of chronicle is opened: the entry whole, with what was logged before and after.

Never writes, and never answers from anything but chronicle's own storage.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from commonplace.core.text import first_words
from commonplace.core.values import EntryPreview, Page
from commonplace.journals.chronicle.event import JOURNAL, KIND, UNKNOWN, author_of

if TYPE_CHECKING:
    from commonplace.journals.chronicle.event import Event
    from commonplace.journals.chronicle.journal import ChronicleJournal


class ChroniclePages:
    """What opens refs of chronicle; see `core.ports.OpensRefs`."""

    journal = JOURNAL
    kinds = (KIND,)
    ref_form = f"{JOURNAL}:<id>"

    def __init__(self, chronicle: ChronicleJournal) -> None:
        self._chronicle = chronicle

    def place_of(self, scope: str) -> str:
        """The folder that was logged from; empty where nobody knows it."""
        return "" if scope in {"", UNKNOWN, os.sep} else scope

    def read_ref(self, ref: str) -> Page:
        """The entry under a ref, or under the beginning of one that no other shares; see the port.

        Raises: Invalid, NotFound, Unavailable.
        """
        event = self._chronicle.read_event(ref)
        before, after = self._chronicle.read_around(event)
        successor = self._chronicle.find_successor(event)
        return Page(
            ref=event.ref,
            journal=JOURNAL,
            scope=event.directory,
            kind=KIND,
            at=event.at,
            text=event.message,
            author=author_of(event),
            tags=tuple(event.own_tags),
            before=_preview(before),
            after=_preview(after),
            supersedes=event.supersedes,
            superseded_by=successor.ref if successor else "",
        )


def _preview(event: Event | None) -> EntryPreview | None:
    if event is None:
        return None
    return EntryPreview(ref=event.ref, at=event.at, text=first_words(event.message))
