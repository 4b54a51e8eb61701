"""Owns how a ref of the private journal is opened, in this project or another that is known.

Never opens what lies outside a root, and never writes.
"""

from __future__ import annotations

import os
from contextlib import suppress
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from commonplace.core.brief_item import OWN
from commonplace.core.errors import CommonplaceError, NotFound
from commonplace.core.text import first_words, opening
from commonplace.core.values import EntryPreview, Page
from commonplace.journals.private.copied import origin_of
from commonplace.journals.private.format import turn_of
from commonplace.journals.private.markdown import parse_frontmatter
from commonplace.journals.private.places import (
    find_linked,
    list_day,
    list_days,
    parse_place,
    places_of,
    read_entry,
    read_turn,
    refuse_malformed,
)
from commonplace.journals.private.roots import FOLDER
from commonplace.journals.private.source import JOURNAL, KIND

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from commonplace.journals.private.format import PrivateEntry
    from commonplace.journals.private.journal import PrivateJournal
    from commonplace.journals.private.places import EntryPlace
    from commonplace.journals.private.roots import Root

    _Timed: TypeAlias = tuple[tuple[datetime, int, str], EntryPlace]

_SCHEME = f"{JOURNAL}:"


class PrivatePages:
    """What opens refs of the private journal, those of the owner's other projects included.

    See `core.ports.OpensRefs`.
    """

    journal = JOURNAL
    kinds = (KIND,)
    ref_form = "private:user/2026-11-21/23-19-45-015109"

    def __init__(self, journal: PrivateJournal) -> None:
        self._roots = journal.roots
        self._project_roots = journal.project_roots
        self._copies = journal.copies
        self._zone = journal.zone
        self._words = journal.words

    def place_of(self, scope: str) -> str:
        """The project's folder, or the scope itself where nobody knows it; empty for the user's."""
        if scope == "user":
            return ""
        root = self._find_root(scope)
        if root is None:
            return scope
        return str(root.path.parent if root.path.name == FOLDER else root.path)

    def is_away(self, ref: str) -> bool:
        """Whether the folder that a ref of this journal leads to is not there."""
        root = self._find_root(ref.removeprefix(_SCHEME).partition("/")[0])
        return root is None or not os.path.isdir(root.path)

    def read_ref(self, ref: str) -> Page:
        """The entry under a ref, its whole file, and its neighbours in the same root; see the port.

        Raises: Invalid, Denied, NotFound, Unavailable.
        """
        with self._copies.naming_gone(ref):
            place = parse_place(ref, (self._read_root(ref),))
        entry = read_entry(place, self._zone, self._words.asked())
        turn = (entry.at, turn_of(entry.written), place.ref)
        around = self._around(place, turn)
        return page_of(entry, around, successor=find_linked(entry.superseded_by, place.root))

    def read_path(self, path: str) -> Page:
        """The entry in a file of one of this process's roots; see the port `OpensPaths`.

        Raises: Invalid, Denied, NotFound, Unavailable.
        """
        return self.read_ref(parse_place(path, self._roots).ref)

    def _find_root(self, scope: str) -> Root | None:
        own = next((x for x in self._roots if x.scope == scope), None)
        return own or self._project_roots.find(scope)

    def _read_root(self, ref: str) -> Root:
        refuse_malformed(ref)
        scope, _, relative = ref.removeprefix(_SCHEME).partition("/")
        root = self._find_root(scope)
        shown = repr(opening(ref, 200))
        if not ref.startswith(_SCHEME) or not relative or (root is None and "@" not in scope):
            raise NotFound(f"There is no entry {shown}.")
        if root is None:
            raise NotFound(
                f"{shown} lies in a project whose folder is not known here.",
                hint="Open it from there: `commonplace open <ref> --project <folder>`.",
            )
        if not os.path.isdir(root.path) and root not in self._roots:
            raise NotFound(
                f"The folder {{place}} of {shown} is not there.",
                hint="Put the folder back, then open it again.",
                place=root.path,
            )
        return root

    def _around(
        self, place: EntryPlace, turn: tuple[datetime, int, str]
    ) -> tuple[PrivateEntry | None, PrivateEntry | None]:
        """The nearest entries of this root before and after: of the day, else of the next with any.

        Days go by their folders, entries of a day by their instants.
        """
        day, slash, _ = place.relative.partition("/")
        try:
            days = list_days(place.root) if slash else []
        except OSError:
            days = []
        of_day = self._timed(place.root, day) if slash else []
        before = [x for x in of_day if x[0] < turn]
        after = [x for x in of_day if x[0] > turn]
        before = before or self._first_of(place.root, [x for x in reversed(days) if x < day])
        after = after or self._first_of(place.root, [x for x in days if x > day])
        return self._read_first(before[-1:]), self._read_first(after[:1])

    def _first_of(self, root: Root, days: Iterable[str]) -> list[_Timed]:
        return next(filter(None, (self._timed(root, day) for day in days)), [])

    def _timed(self, root: Root, day: str) -> list[_Timed]:
        """The entries of a day folder in the order of time; what cannot be read is passed over."""
        found = []
        with suppress(OSError):
            for place in places_of(root, day, list_day(root, day)):
                with suppress(CommonplaceError):
                    found.append((read_turn(place, self._zone), place))
        return sorted(found, key=itemgetter(0))

    def _read_first(self, found: Sequence[_Timed]) -> PrivateEntry | None:
        with suppress(CommonplaceError):
            for _, place in found:
                return read_entry(place, self._zone, self._words.asked())
        return None


def page_of(
    entry: PrivateEntry,
    around: tuple[PrivateEntry | None, PrivateEntry | None],
    *,
    successor: str,
) -> Page:
    """The page of an entry, wherever it lies: around it the entries before and after it.

    successor: the ref of what took its place; empty for none.
    """
    before, after = map(_preview_of, around)
    # What came along says nothing of the owner's entries, here as in the index.
    names_own = entry.word == OWN and entry.supersedes.startswith(_SCHEME)
    return Page(
        ref=entry.ref,
        journal=JOURNAL,
        scope=entry.scope,
        kind=KIND,
        at=entry.at,
        text=entry.raw,
        before=before,
        after=after,
        supersedes=entry.supersedes if names_own else "",
        superseded_by=successor,
        origin=origin_of(parse_frontmatter(entry.raw)),
        word=entry.word,
    )


def _preview_of(entry: PrivateEntry | None) -> EntryPreview | None:
    if entry is None:
        return None
    mark = "" if entry.word == OWN else "[from the repository] "
    return EntryPreview(ref=entry.ref, at=entry.at, text=mark + first_words(entry.text))
