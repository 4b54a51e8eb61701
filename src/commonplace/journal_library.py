"""What private journal, chronicle, notebook and transcripts have in common in the library.

Each owner's are opened by an app of their own. Never lets an owner reach another's folder.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct, field

from commonplace.core.clock import render_instant
from commonplace.core.errors import NotFound
from commonplace.core.text import opening
from commonplace.core.values import Filter, Interval
from commonplace.library import Library, check_aware, check_limit, interval_of
from commonplace.search.found_entry import FoundEntry, LibraryEntry
from commonplace.verbs.answers import unknown_name
from commonplace.verbs.context import ContextBlocks, check_budget

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from commonplace.app import App
    from commonplace.app.owner_context import JournalWiring
    from commonplace.core.ports import AmendsRefs, OwnerIndex
    from commonplace.core.values import By, Hit
    from commonplace.search.filing.port import Refreshing

MOST = 100
_HITS = 10
_IN_A_CONTEXT = 12

_Service = TypeVar("_Service")
_Entry = TypeVar("_Entry", bound=LibraryEntry)


class JournalHit(FoundEntry[_Entry], Generic[_Entry], frozen=True, kw_only=True):
    """An entry that was found, as its journal has it now; its figures are those of `Hit`.

    Attributes:
        excerpt: The part of it that bears most words of the question.
        also: Refs of what says the same.
    """

    excerpt: str
    score: float | None = None
    similarity: float | None = None
    by: By | None = None
    also: tuple[str, ...] = ()


class JournalFound(Struct, Generic[_Entry], frozen=True, kw_only=True):
    """What a search found, best first; the time that it kept to; what a reader must know."""

    hits: tuple[JournalHit[_Entry], ...]
    interval: Interval | None = None
    notes: tuple[str, ...] = field(default_factory=tuple)


class JournalLibrary(Library[_Service], Generic[_Service, _Entry]):
    """A journal that `App` has a wiring of; see `Library` for how it is opened.

    The owner that the settings name (`me`) has this machine's own journal, the one that the
    command line and assistants write, unless `home` is given: then all of every owner lies there.
    """

    _kinds: tuple[str, ...] = ()
    """Those of its entries."""

    _own_app: App | None = None

    def get(self, ref: str) -> _Entry:
        """The entry under a ref. Raises: Invalid, NotFound, Unavailable."""
        self._check_ref(ref)
        return self._read(self.service, ref)

    def list(
        self,
        *,
        kinds: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
    ) -> Sequence[_Entry]:
        """Entries newest first; see `Library.list`. Raises: Invalid, Unavailable."""
        check_limit(limit)
        within = self._within(kinds, interval_of(since, until))
        return self._newest(self.service, within, limit)

    def search(
        self,
        query: str,
        *,
        kinds: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
        as_of: datetime | None = None,
    ) -> JournalFound[_Entry]:
        """The best entries by words and meaning, ten at the most; see `Library.search`.

        Raises: Invalid, Unavailable.
        """
        return self._search(query, self._within(kinds, interval_of(since, until), as_of), limit)

    def context(self, question: str, budget_tokens: int = 1200) -> str:
        """What a prompt should hold: the nearest entries to a question, each fenced.

        A blank question asks for the newest. Raises: Invalid, Unavailable.
        """
        check_budget(budget_tokens)
        blocks = ContextBlocks(budget_tokens)
        entries: Sequence[_Entry]
        if question.strip():
            entries = [hit.entry for hit in self.search(question, limit=_IN_A_CONTEXT).hits]
        else:
            entries = self.list(limit=_IN_A_CONTEXT)
        zone = self._app.settings.timezone
        for each in entries:
            blocks.put(each.ref, each.text, label=f"{each.ref} {render_instant(each.at, zone)}")
        return blocks.context(interval=None, notes=()).text

    def expire(self, ref: str, at: datetime | None) -> None:
        """Set when an entry expires; see `Library.expire`. Raises: Denied too."""
        self._check_ref(ref)
        self._sweep()
        if at is None:
            self._app.expiring.cancel(ref)
            return
        self._refuse_past(at)
        self._note_end(ref, at)

    @property
    def _app(self) -> App:
        if self._own_app is None:
            self.service  # noqa: B018  opens it, or says that it is closed
        assert self._own_app is not None
        return self._own_app

    @property
    def _wiring(self) -> JournalWiring:
        return next(each for each in self._app.journals if each.name == self._journal)

    def _open(self) -> _Service:
        app = self._shared.take_app(self.owner)
        try:
            service = self._service_in(app)
        except BaseException:
            self._shared.give_app_back(self.owner)
            raise
        self._own_app = app
        return service

    def _close(self, service: _Service) -> None:
        self._own_app = None
        self._shared.give_app_back(self.owner)

    def _filed(self, service: _Service) -> tuple[Refreshing, OwnerIndex]:
        stack = self._app.database_stack(self._journal)
        return (stack.filing, stack.index) if stack else (self._app.filing, self._app.index)

    def _amender_of(self, service: _Service) -> AmendsRefs:
        amender = self._wiring.amender()
        assert amender is not None
        return amender

    def _sweep(self) -> None:
        self.service  # noqa: B018  refused where this was opened before a fork
        self._app.sweep_expired()

    def _note_end(self, ref: str, at: datetime) -> None:
        self._app.expiring.expire(ref, at)

    def _search(self, query: str, within: Filter, limit: int | None) -> JournalFound[_Entry]:
        wanted = _HITS if limit is None else limit
        check_limit(wanted, most=MOST)
        service = self.service
        hits, notes = self._find(service, query, within, wanted)
        found = []
        for hit in hits:
            with suppress(NotFound):  # it was deleted while this was asked
                found.append(_hit_of(hit, self._read(service, hit.doc.ref)))
        is_of_a_time = within.interval != Interval()
        interval = within.interval if is_of_a_time else None
        return JournalFound(hits=tuple(found), interval=interval, notes=tuple(notes))

    def _within(
        self, kinds: Sequence[str], interval: Interval, as_of: datetime | None = None
    ) -> Filter:
        check_aware("as_of", as_of)
        for kind in kinds:
            if kind not in self._kinds:
                raise unknown_name(f"Invalid kinds: {opening(kind, 60)!r}.", kind, self._kinds)
        asked = tuple(dict.fromkeys(kinds))
        return Filter(
            journals=(self._journal,), kinds=asked, interval=interval, written_before=as_of
        )

    def _check_ref(self, ref: str) -> None:
        """A ref may be without its beginning; that of another journal leads nowhere here."""
        name, colon, _ = ref.strip().partition(":")
        if colon and name != self._journal and name.isalpha():
            raise NotFound(
                f"{opening(ref, 100)!r} is not a ref of this journal.",
                hint=f"Its refs begin with {self._journal}:.",
            )

    def _newest(self, service: _Service, within: Filter, limit: int) -> Sequence[_Entry]:
        found = []
        for hit in self._app.finder_for(self._journal).newest(within, limit).hits:
            with suppress(NotFound):
                found.append(self._read(service, hit.doc.ref))
        return found

    @abstractmethod
    def _service_in(self, app: App) -> _Service:
        """The journal's service in an owner's app."""

    @abstractmethod
    def _read(self, service: _Service, ref: str) -> _Entry:
        """The entry under a ref of this journal."""

    @abstractmethod
    def _find(
        self, service: _Service, query: str, within: Filter, limit: int
    ) -> tuple[Sequence[Hit], Sequence[str]]:
        """The best for a question, and notes."""


def _hit_of(hit: Hit, entry: _Entry) -> JournalHit[_Entry]:
    return JournalHit(
        entry=entry,
        excerpt=hit.excerpt,
        score=hit.score,
        similarity=hit.similarity,
        by=hit.by,
        also=hit.also,
        replaces=hit.replaces,
        replaced_by=hit.replaced_by,
    )
