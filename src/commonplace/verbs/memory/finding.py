"""How a user's memory is searched: an intent, a budget of tokens, and a line in the log.

Decides nothing about ranking: `search` does, with the numbers of its policy.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, Invalid, Unavailable
from commonplace.core.ports import CountsTokens
from commonplace.core.text import opening, query_terms
from commonplace.core.tokens import tokens_in
from commonplace.core.values import ChainLink, Filter, Interval
from commonplace.journals.memory.entry import (
    open_first,
    open_todos,
    parse_ref,
    searchable_text,
    snippet_of,
)
from commonplace.journals.memory.ports import SharesTransactions
from commonplace.journals.memory.records import JOURNAL, Call
from commonplace.search import policy
from commonplace.verbs.memory.budget import count_tokens, within_budget

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.clock import Clock
    from commonplace.core.ports import EncoderSlot
    from commonplace.core.values import By, Found, Hit, Intent
    from commonplace.core.when.inside import FoundWhen
    from commonplace.journals.memory.ports import MemoryStore
    from commonplace.journals.memory.records import Kind, Record
    from commonplace.search.finder import Finder
    from commonplace.search.policy import Policy

    Zone: TypeAlias = tuple[tzinfo, tuple[str, ...]]  # with a note where it is not the one asked

IntentAsked: TypeAlias = Literal["auto", "none", "planning", "journaling"]

TOOL = "memory.search"
"""What the log, and the card, call a search."""

MODEL_UNAVAILABLE = "EMBEDDING_MODEL_UNAVAILABLE"
SEARCH_FAILED = "VECTOR_SEARCH_FAILED"
READ_FAILED = "DB_READ_FAILED"

NONE_OPEN = "No to-do is open."


class MemoryNumbers(Struct, frozen=True, kw_only=True):
    """What settings say of a search: hits, the least cosine, what newness adds."""

    top_k: int
    min_score: float
    recency: float


class MemoryQuestion(Struct, frozen=True, kw_only=True):
    """What is asked.

    Attributes:
        text: A question, or a few words.
        kinds: Only records of these; empty for any.
        top_k: The most hits; None for what the settings say.
        within: The time of the records.
        when: A phrase for it, in the user's own zone.
        intent: What the question is for; `auto` reads it off the words.
        diverse: No more than a few hits of one kind.
        as_of: A phrase, in the user's own zone: what was written after its end does not count.
        before: The same as an instant.
    """

    text: str
    kinds: tuple[Kind, ...] = ()
    top_k: int | None = None
    within: Interval | None = None
    when: str = ""
    intent: IntentAsked = "auto"
    diverse: bool = False
    as_of: str = ""
    before: datetime | None = None


class MemoryHit(Struct, frozen=True, kw_only=True):
    """A record that was found, as it is now.

    Attributes:
        cut: Whether the snippet alone is over the budget.
    """

    entry: Record
    snippet: str
    score: float
    similarity: float | None
    by: By
    cut: bool = False
    legs: Mapping[str, float] = field(default_factory=dict)
    replaces: ChainLink | None = None
    replaced_by: ChainLink | None = None

    @property
    def ref(self) -> str:
        """Its address."""
        return self.entry.ref

    @property
    def kind(self) -> Kind:
        """Its kind."""
        return self.entry.kind

    @property
    def at(self) -> datetime:
        """Its time."""
        return self.entry.at

    @property
    def text(self) -> str:
        """All that it says; `snippet` is what a search shows of it."""
        return self.entry.text


class MemoryFound(Struct, frozen=True, kw_only=True):
    """What a search found, best first.

    Attributes:
        count: Counts the tokens of a text.
        zone: The user's own, in which times are shown.
        left_out: How many hits are over the budget.
        before: The instant as of which it was asked; None for the present.
        todos: How many open to-dos were asked for as such and are listed, newest first; 0 where
            the hits are the best for a question.
    """

    hits: tuple[MemoryHit, ...]
    duration_ms: int
    top_k: int
    count: Callable[[str], int]
    zone: tzinfo
    intent: Intent | None = None
    interval: Interval | None = None
    before: datetime | None = None
    left_out: int = 0
    todos: int = 0
    notes: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens of all snippets."""
        return sum(count_tokens(hit.snippet, self.count, policy.MEMORY_TOKENS) for hit in self.hits)


class MemorySearch:
    """The search of one user's memory.

    Args:
        store: The user's records.
        finder: Finds what fits a question; opened at its first use.
        encoder: Counts tokens, where it is there.
        clock: Tells the time.
        numbers: What settings say of a search.
        owner_zone: The zone of who has none of their own.
        read_zone: Reads the user's own zone, with a note where that is not the one that is named.
    """

    def __init__(
        self,
        *,
        store: MemoryStore,
        finder: Callable[[], Finder],
        encoder: EncoderSlot,
        clock: Clock,
        numbers: MemoryNumbers,
        owner_zone: tzinfo,
        read_zone: Callable[[], Zone],
    ) -> None:
        self._store = store
        # What it can do besides, asked once: to look takes 20 us.
        self._together = store.together if isinstance(store, SharesTransactions) else None
        self._finder = finder
        self._encoder = encoder
        self._clock = clock
        self._numbers = numbers
        self._owner_zone = owner_zone
        self._zone = read_zone

    def search(self, asked: MemoryQuestion) -> MemoryFound:
        """The best records for a question; every call is logged, without its text.

        Raises: Invalid, Unavailable.
        """
        # One transaction for several questions, unless they wait for a model in between.
        if self._together is not None and self._finder().is_ready:
            with self._together():
                return self._logged(asked)
        return self._logged(asked)

    def _logged(self, asked: MemoryQuestion) -> MemoryFound:
        started = time.monotonic()
        top_k = self._numbers.top_k if asked.top_k is None else asked.top_k
        status = "internal"
        try:
            zone: Zone | None = None
            if asked.when.strip():
                zone = self._read_zone()
                asked = replace(asked, within=self._read_when(asked.when, zone[0]))
            if asked.as_of.strip():
                zone = zone or self._read_zone()
                asked = replace(asked, before=self._read_as_of(asked.as_of, zone[0]))
            found = self._search(asked, top_k, zone)
            status = "ok"
        except CommonplaceError as exc:
            status = exc.error_code or exc.code
            raise
        finally:
            duration_ms = round((time.monotonic() - started) * 1000)
            self._store.note_call(
                Call(
                    tool=TOOL,
                    status=status,
                    duration_ms=duration_ms,
                    top_k_effective=top_k,
                    filters=_filters(asked),
                )
            )
        return replace(found, duration_ms=duration_ms)

    def _read_zone(self) -> Zone:
        try:
            return self._zone()
        except CommonplaceError as exc:
            raise exc.as_kind(Unavailable, error_code=READ_FAILED) from exc

    def _read_when(self, when: str, zone: tzinfo) -> Interval:
        from commonplace.core.clock import render_interval
        from commonplace.core.when.phrases import parse_when
        from commonplace.verbs.times import naming

        with naming("when"):
            found = parse_when(when, now=self._clock(), zone=zone)
            render_interval(found, zone)  # what the answer could not show is refused here
        return found

    def _read_as_of(self, as_of: str, zone: tzinfo) -> datetime:
        from commonplace.core.clock import render_interval
        from commonplace.core.when.phrases import parse_until
        from commonplace.verbs.times import naming

        with naming("as_of"):
            before = parse_until(as_of, now=self._clock(), zone=zone)
            render_interval(Interval(end=before), zone)
        return before

    def _search(self, asked: MemoryQuestion, top_k: int, zone_read: Zone | None) -> MemoryFound:
        from commonplace.search.query_features import read_intent, read_todos

        if not 1 <= top_k <= policy.MEMORY_K_MOST:
            raise Invalid(f"Invalid top_k: {top_k}.", hint=f"Use 1 to {policy.MEMORY_K_MOST}.")
        given: dict[str, Intent] = {"planning": "planning", "journaling": "journaling"}
        intent = read_intent(asked.text) if asked.intent == "auto" else given.get(asked.intent)
        may_be_todos = intent == "planning" and (not asked.kinds or "todo" in asked.kinds)
        about = read_todos(asked.text) if may_be_todos else None
        listed = self._listed(asked, top_k) if about == "" else None
        read: FoundWhen | None = None
        if listed and listed.hits:
            found = listed
        else:
            read, zone_read = self._read_time(asked, zone_read)
            pool = min(policy.MEMORY_TODO_POOL * top_k, policy.MEMORY_K_MOST) if about else top_k
            found = self._ranked(asked, pool, intent, read)
        best = open_first(found.hits)[:top_k] if about else found.hits
        hits = self._read(best)
        notes = found.notes if listed is None or listed.hits else (NONE_OPEN, *found.notes)
        zone, zone_notes = zone_read or self._read_zone()
        if read is not None:
            notes = (*notes, _time_note(read, zone))
        count = self._count
        kept = within_budget([hit.snippet for hit in hits], count, policy.MEMORY_TOKENS)
        shown = [
            hit if snippet == hit.snippet else replace(hit, snippet=snippet, cut=True)
            for hit, snippet in zip(hits, kept, strict=False)
        ]
        return MemoryFound(
            hits=tuple(shown),
            duration_ms=0,
            top_k=top_k,
            count=count,
            zone=zone,
            intent=intent,
            interval=asked.within,
            before=asked.before,
            left_out=len(hits) - len(shown),
            todos=len(hits) if found is listed else 0,
            notes=(*notes, *zone_notes),
        )

    def _listed(self, asked: MemoryQuestion, top_k: int) -> Found:
        """The open to-dos, newest first; a note says where there are more."""
        found = _asked(lambda: self._finder().newest(open_todos(_filter(asked)), top_k + 1))
        if len(found.hits) <= top_k:
            return found
        more = f"More to-dos are open than these {top_k}: ask for more with top_k, or list them."
        return replace(found, hits=found.hits[:top_k], notes=(*found.notes, more))

    def _read_time(
        self, asked: MemoryQuestion, zone: Zone | None
    ) -> tuple[FoundWhen | None, Zone | None]:
        """The time that a question names, in the user's zone, which is read only for that."""
        from commonplace.core.when.inside import find_when

        now = self._clock()
        if asked.within or find_when(asked.text, now=now, zone=self._owner_zone).interval is None:
            return None, zone
        zone = zone or self._read_zone()
        read = find_when(asked.text, now=now, zone=zone[0])
        return read if read.interval else None, zone

    def _ranked(
        self, asked: MemoryQuestion, pool: int, intent: Intent | None, read: FoundWhen | None
    ) -> Found:
        """The best hits for a question, so many; those of the time that it names come first."""
        from commonplace.search.finder import SearchQuestion

        question = SearchQuestion(
            text=f"{read.text} {read.feast}".strip() or asked.text if read else asked.text,
            where=_filter(asked),
            limit=pool,
            floor=self._numbers.min_score,
            policy=_judged(self._numbers.recency, intent, asked.diverse),
            preferred_time=read.interval if read else None,
            now=self._clock(),
        )
        found = _asked(lambda: self._finder().find(question))
        if found.vector is None and not query_terms(question.text):
            raise Unavailable(
                f"Nothing in the query is a word, and there is no model: {self._encoder.reason()}",
                hint="Ask in words, or fetch the model.",
                error_code=MODEL_UNAVAILABLE,
            )
        return found

    def _read(self, hits: Sequence[Hit]) -> list[MemoryHit]:
        """The records behind hits, as they are now; one that left, or may not be found, is none."""
        read: list[MemoryHit] = []
        for hit, record in zip(hits, self._records(hits), strict=True):
            if record is not None and searchable_text(record):
                read.append(
                    MemoryHit(
                        entry=record,
                        snippet=snippet_of(record),
                        score=hit.score,
                        similarity=hit.similarity,
                        by=hit.by,
                        legs=hit.legs,
                        replaces=hit.replaces,
                        replaced_by=hit.replaced_by,
                    )
                )
        return read

    def _records(self, hits: Sequence[Hit]) -> list[Record | None]:
        named = [parse_ref(hit.doc.ref) for hit in hits]
        try:
            return self._store.find_all(named)
        except CommonplaceError as exc:
            raise exc.as_kind(Unavailable, error_code=READ_FAILED) from exc

    def _count(self, text: str) -> int:
        """Tokens by the encoder's tokenizer, else by bytes."""
        encoder: object = self._encoder.get()
        if isinstance(encoder, CountsTokens):
            return encoder.count_tokens(text)
        return tokens_in(text)


def _time_note(read: FoundWhen, zone: tzinfo) -> str:
    from commonplace.core.clock import render_interval

    assert read.interval is not None
    span = render_interval(read.interval, zone)
    phrase = opening(read.phrase, 60)
    return f"Time: {span}, read from {phrase!r}: records of that time count for more."


def _filter(asked: MemoryQuestion) -> Filter:
    return Filter(
        interval=asked.within or Interval(),
        journals=(JOURNAL,),
        kinds=asked.kinds,
        written_before=asked.before,
    )


@lru_cache(maxsize=64)
def _judged(recency: float, intent: Intent | None, diverse: bool) -> Policy:  # noqa: FBT001  for the cache
    return replace(
        policy.MEMORY,
        recent=recency,
        preferred_kinds=() if intent is None else policy.PREFERRED_KINDS[intent],
        per_kind=policy.MEMORY_PER_KIND if diverse else 0,
    )


def _asked(ask: Callable[[], Found]) -> Found:
    try:
        return ask()
    except Invalid:
        raise
    except CommonplaceError as exc:
        raise exc.as_kind(Unavailable, error_code=SEARCH_FAILED) from exc


def _filters(asked: MemoryQuestion) -> dict[str, Any]:
    filters: dict[str, Any] = {"kinds": list(asked.kinds), "intent": asked.intent}
    if asked.diverse:
        filters["diverse"] = True
    if asked.within is not None:
        start, end = asked.within.start, asked.within.end
        filters["since"] = start.isoformat() if start else None
        filters["until"] = end.isoformat() if end else None
    if asked.before is not None:
        filters["as_of"] = asked.before.isoformat()
    return filters
