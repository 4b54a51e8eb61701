"""How a user's memory is searched: an intent, a budget of tokens, and a line in the log.

Decides nothing about ranking: `search` does, with the numbers of its policy.
"""

from __future__ import annotations

import time
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.core.clock import render_interval
from commonplace.core.errors import CommonplaceError, Invalid, Unavailable
from commonplace.core.ports import CountsTokens
from commonplace.core.text import opening, query_terms, tokens_in
from commonplace.core.values import ChainLink, Filter, Interval
from commonplace.journals.memory.entry import (
    open_first,
    open_todos,
    parse_ref,
    searchable_text,
    snippet_of,
)
from commonplace.journals.memory.records import JOURNAL, Call, Record
from commonplace.search import policy
from commonplace.search.found_entry import FoundEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.clock import Clock
    from commonplace.core.ports import EncoderSlot
    from commonplace.core.values import By, Found, Hit, Intent
    from commonplace.core.when.inside import FoundWhen
    from commonplace.journals.memory.ports import MemoryStore, SharesTransactions
    from commonplace.journals.memory.records import Kind, KindCount
    from commonplace.search.finder import Finder
    from commonplace.search.policy import Policy

    Zone: TypeAlias = tuple[tzinfo, tuple[str, ...]]  # with a note where it is not the one asked

IntentAsked: TypeAlias = Literal["auto", "none", "planning", "journaling"]

TOOL = "memory.search"
"""What the log, and the card, call a search."""

MODEL_UNAVAILABLE = "EMBEDDING_MODEL_UNAVAILABLE"
SEARCH_FAILED = "VECTOR_SEARCH_FAILED"
READ_FAILED = "DB_READ_FAILED"

_MISHEARD = "This may have been misheard: messages of the last 24 hours count for more."
NONE_OPEN = "No to-do is open."
_INTENTS: Mapping[str, Intent] = {"planning": "planning", "journaling": "journaling"}

CUT = "..."
"""The sign of a snippet that was cut."""


class ZonedClock(Struct, frozen=True):
    """A clock, and the zone in which phrases are read; see `verbs.times`."""

    clock: Clock
    zone: tzinfo


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
        unsure: What is asked may have been misheard; else that is read off the words.
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
    unsure: bool = False
    as_of: str = ""
    before: datetime | None = None


class MemoryHit(FoundEntry[Record], frozen=True, kw_only=True):
    """A record that was found, as it is now.

    Attributes:
        cut: Whether the snippet alone is over the budget.
    """

    snippet: str
    score: float
    similarity: float | None
    by: By
    cut: bool = False
    legs: Mapping[str, float] = field(default_factory=dict)
    later: ChainLink | None = None


class MemoryFound(Struct, frozen=True, kw_only=True):
    """What a search found, best first.

    Attributes:
        count: Counts the tokens of a text.
        zone: The user's own, in which times are shown.
        left_out: How many hits are over the budget.
        before: The instant as of which it was asked; None for the present.
        todos: How many open to-dos were asked for as such and are listed, newest first; 0 where
            the hits are the best for a question.
        less_likely: Gives the refs of those that fit far less than the best.
    """

    hits: tuple[MemoryHit, ...]
    less_likely: Callable[[], frozenset[str]] = frozenset
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


class MemoryStats(Struct, frozen=True, kw_only=True):
    """How much of each kind is kept, how much can be found, and how much waits for a vector."""

    kinds: tuple[KindCount, ...]
    found: int
    pending: int


class MemorySearch(Struct, frozen=True, kw_only=True):
    """The search of one user's memory.

    Attributes:
        shared: The same store, where questions cost less together.
        finder: Finds what fits a question; opened at its first use.
        encoder: Counts tokens, where it is there.
        owner_zone: The zone of who has none of their own.
        read_zone: Reads the user's own zone, with a note where that is not the one that is named.
    """

    store: MemoryStore
    shared: SharesTransactions | None
    finder: Callable[[], Finder]
    encoder: EncoderSlot
    clock: Clock
    numbers: MemoryNumbers
    owner_zone: tzinfo
    read_zone: Callable[[], Zone]

    def search(self, asked: MemoryQuestion) -> MemoryFound:
        """The best records for a question; every call is logged, without its text.

        Raises: Invalid, Unavailable.
        """
        # One transaction for several questions, unless they wait for a model in between.
        if self.shared is not None and self.finder().is_ready:
            with self.shared.together():
                return self._logged(asked)
        return self._logged(asked)

    def _logged(self, asked: MemoryQuestion) -> MemoryFound:
        from commonplace.search.query_features import refuse_long

        started = time.monotonic()
        top_k = self.numbers.top_k if asked.top_k is None else asked.top_k
        status = "internal"
        try:
            refuse_long(asked.text)
            zone: Zone | None = None
            if asked.when.strip() or asked.as_of.strip():
                from commonplace.verbs.times import read_as_of, read_span

                zone = self._read_zone()
                here = ZonedClock(self.clock, zone[0])
                asked = replace(
                    asked,
                    within=read_span(here, "", "", when=asked.when.strip()) or asked.within,
                    before=read_as_of(here, asked.as_of) or asked.before,
                )
            found = self._search(asked, top_k, zone)
            status = "ok"
        except CommonplaceError as exc:
            status = exc.error_code or exc.code
            raise
        finally:
            duration_ms = round((time.monotonic() - started) * 1000)
            self.store.note_call(
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
            return self.read_zone()
        except CommonplaceError as exc:
            raise exc.as_kind(Unavailable, error_code=READ_FAILED) from exc

    def _search(self, asked: MemoryQuestion, top_k: int, zone_read: Zone | None) -> MemoryFound:
        from commonplace.search.query_features import read_intent, read_todos

        if not 1 <= top_k <= policy.MEMORY_K_MOST:
            raise Invalid(f"Invalid top_k: {top_k}.", hint=f"Use 1 to {policy.MEMORY_K_MOST}.")
        intent = read_intent(asked.text) if asked.intent == "auto" else _INTENTS.get(asked.intent)
        may_be_todos = intent == "planning" and (not asked.kinds or "todo" in asked.kinds)
        about = read_todos(asked.text) if may_be_todos else None
        listed = self._listed(asked, top_k) if about == "" else None
        found, read = listed, None
        if found is None or not found.hits:
            read, zone_read = self._read_time(asked, zone_read)
            pool = min(policy.MEMORY_TODO_POOL * top_k, policy.MEMORY_K_MOST) if about else top_k
            found = self._ranked(asked, pool, intent, read)
        hits = self._read(open_first(found.hits)[:top_k] if about else found.hits)
        notes = found.notes if listed is None or listed.hits else (NONE_OPEN, *found.notes)
        zone, zone_notes = zone_read or self._read_zone()
        if read is not None and read.interval is not None:
            span, phrase = render_interval(read.interval, zone), opening(read.phrase, 60)
            note = f"Time: {span}, read from {phrase!r}: records of that time count for more."
            notes = (*notes, note)
        kept = within_budget([hit.snippet for hit in hits], self._count, policy.MEMORY_TOKENS)
        shown = [
            hit if snippet == hit.snippet else replace(hit, snippet=snippet, cut=True)
            for hit, snippet in zip(hits, kept, strict=False)
        ]
        return MemoryFound(
            hits=tuple(shown),
            less_likely=frozenset if found is listed else partial(_less_likely, found, asked.text),
            duration_ms=0,
            top_k=top_k,
            count=self._count,
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
        found = _asked(lambda: self.finder().newest(open_todos(_filter(asked)), top_k + 1))
        if len(found.hits) <= top_k:
            return found
        more = f"More to-dos are open than these {top_k}: ask for more with top_k, or list them."
        return replace(found, hits=found.hits[:top_k], notes=(*found.notes, more))

    def _read_time(
        self, asked: MemoryQuestion, zone: Zone | None
    ) -> tuple[FoundWhen | None, Zone | None]:
        """The time that a question names, in the user's zone, which is read only for that."""
        from commonplace.core.when.inside import find_when

        now = self.clock()
        if asked.within or find_when(asked.text, now=now, zone=self.owner_zone).interval is None:
            return None, zone
        zone = zone or self._read_zone()
        read = find_when(asked.text, now=now, zone=zone[0])
        return read if read.interval else None, zone

    def _ranked(
        self, asked: MemoryQuestion, pool: int, intent: Intent | None, read: FoundWhen | None
    ) -> Found:
        """The best hits for a question, so many; those of the time that it names come first."""
        from commonplace.search.finder import SearchQuestion
        from commonplace.search.query_features import says_misheard

        unsure = asked.unsure or says_misheard(asked.text)
        question = SearchQuestion(
            # The words of a time stand in records too: "the dentist on 3 May".
            text=asked.text,
            where=_filter(asked),
            limit=pool,
            floor=self.numbers.min_score,
            policy=_judged(self.numbers.recency, intent, asked.diverse, unsure),
            preferred_time=read.interval if read else None,
            now=self.clock(),
        )
        found = _asked(lambda: self.finder().find(question))
        if found.vector is None and not query_terms(question.text):
            why = self.encoder.reason()
            raise Unavailable(
                f"Nothing in the query is a word, and there is no model: {why}",
                hint="Ask in words, or fetch the model.",
                error_code=MODEL_UNAVAILABLE,
            )
        return replace(found, notes=(*found.notes, _MISHEARD)) if unsure else found

    def _read(self, hits: Sequence[Hit]) -> list[MemoryHit]:
        """The records behind hits, as they are now; one that left, or may not be found, is none."""
        read: list[MemoryHit] = []
        try:
            records = self.store.find_all([parse_ref(hit.doc.ref) for hit in hits])
        except CommonplaceError as exc:
            raise exc.as_kind(Unavailable, error_code=READ_FAILED) from exc
        for hit, record in zip(hits, records, strict=True):
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
                        later=hit.later,
                    )
                )
        return read

    def _count(self, text: str) -> int:
        """Tokens by the encoder's tokenizer, else by bytes."""
        encoder: object = self.encoder.get()
        if isinstance(encoder, CountsTokens):
            return encoder.count_tokens(text)
        return tokens_in(text)


def _less_likely(found: Found, text: str) -> frozenset[str]:
    from commonplace.search.folding import less_likely

    return less_likely(found.hits, text, found.chance)


def _filter(asked: MemoryQuestion) -> Filter:
    return Filter(
        interval=asked.within or Interval(),
        journals=(JOURNAL,),
        kinds=asked.kinds,
        written_before=asked.before,
    )


@lru_cache(maxsize=64)
def _judged(recency: float, intent: Intent | None, diverse: bool, unsure: bool) -> Policy:  # noqa: FBT001  for the cache
    kinds = () if intent is None else policy.PREFERRED_KINDS[intent]
    return replace(
        policy.MEMORY,
        recent=recency,
        preferred_kinds=(*kinds, policy.MISHEARD) if unsure else kinds,
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
    if asked.unsure:
        filters["unsure"] = True
    if asked.within is not None:
        start, end = asked.within.start, asked.within.end
        filters["since"] = start.isoformat() if start else None
        filters["until"] = end.isoformat() if end else None
    if asked.before is not None:
        filters["as_of"] = asked.before.isoformat()
    return filters


def within_budget(snippets: Sequence[str], count: Callable[[str], int], budget: int) -> list[str]:
    """The first snippets that fit together; a first one that does not is cut."""
    kept: list[str] = []
    spent = 0
    # See `CountsTokens`; those without a bound are over the budget.
    at_most = [len(x) + 1 if x.isascii() else budget + 1 for x in snippets]
    for place, snippet in enumerate(snippets):
        # To count takes a tenth of a millisecond: it ends where the rest fits whatever it is.
        if spent + sum(at_most[place:]) <= budget:
            return list(snippets)
        spent += count_tokens(snippet, count, budget)
        if spent > budget:
            return kept or [_cut(snippet, count, budget)]
        kept.append(snippet)
    return kept


def count_tokens(text: str, count: Callable[[str], int], budget: int) -> int:
    """Tokens of a text; a tokenizer takes a long word for one, so characters count as well."""
    by_length = -(-len(text) // policy.MEMORY_TOKEN_CHARACTERS)
    return by_length if by_length > budget else max(by_length, count(text))


def _cut(text: str, count: Callable[[str], int], budget: int) -> str:
    """The longest beginning that fits with the sign of its being cut."""
    low, high = 0, min(len(text), budget * policy.MEMORY_TOKEN_CHARACTERS)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(text[:middle] + CUT, count, budget) <= budget:
            low = middle
        else:
            high = middle - 1
    return opening(text, low, "").rstrip() + CUT
