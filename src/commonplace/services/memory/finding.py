"""How a user's memory is searched: an intent, a budget of tokens, and a line in the log.

Decides nothing about ranking: `search` does, with the numbers of its policy.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from commonplace.core.errors import CommonplaceError, Invalid, Unavailable
from commonplace.core.memory import Call
from commonplace.core.ports import CountsTokens
from commonplace.core.text import opening, query_terms
from commonplace.core.tokens import tokens_in
from commonplace.core.values import Filter, Interval
from commonplace.journals.memory.entry import (
    JOURNAL,
    open_first,
    open_todos,
    parse_ref,
    said_of,
    snippet_of,
)
from commonplace.search import policy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from datetime import tzinfo

    from commonplace.core.memory import Kind, Record
    from commonplace.core.values import By, Found, Hit, Intent
    from commonplace.core.when.inside import FoundWhen
    from commonplace.search.policy import Policy
    from commonplace.services.memory.service import MemoryDesk

    _Zone: TypeAlias = tuple[tzinfo, tuple[str, ...]]  # with a note where it is not the one asked

IntentAsked: TypeAlias = Literal["auto", "none", "planning", "journaling"]

TOOL = "memory.search"
"""What the log, and the card, call a search."""

MODEL_UNAVAILABLE = "EMBEDDING_MODEL_UNAVAILABLE"
SEARCH_FAILED = "VECTOR_SEARCH_FAILED"
READ_FAILED = "DB_READ_FAILED"

CUT = "..."

NONE_OPEN = "No to-do is open."


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryQuestion:
    """What is asked. top_k: None for what the settings say. intent: `auto` reads it off the words.

    within: the time; when: a phrase for it, in the user's own zone. diverse: no more than a few
    hits of one kind.
    """

    text: str
    kinds: tuple[Kind, ...] = ()
    top_k: int | None = None
    within: Interval | None = None
    when: str = ""
    intent: IntentAsked = "auto"
    diverse: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHit:
    """A record that was found, as it is now. cut: the snippet alone is over the budget."""

    record: Record
    ref: str
    snippet: str
    score: float
    similarity: float | None
    by: By
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFound:
    """What a search found, best first. left_out: hits over the budget. count: counts tokens.

    zone: the user's own, in which times are shown. todos: how many open to-dos were asked for as
    such and are listed, newest first; 0 where the hits are the best for a question.
    """

    hits: tuple[MemoryHit, ...]
    duration_ms: int
    top_k: int
    count: Callable[[str], int]
    zone: tzinfo
    intent: Intent | None = None
    interval: Interval | None = None
    left_out: int = 0
    todos: int = 0
    notes: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens of all snippets."""
        return sum(_tokens(hit.snippet, self.count, policy.MEMORY_TOKENS) for hit in self.hits)


def search(desk: MemoryDesk, asked: MemoryQuestion) -> MemoryFound:
    """See `MemoryDesk.search`; every call is logged, without its text."""
    with _together(desk):
        return _logged(desk, asked)


def _together(desk: MemoryDesk) -> AbstractContextManager[None]:
    """One transaction for several questions, unless they wait for a model in between."""
    if desk.together is not None and desk.finder().is_ready:
        return desk.together()
    return nullcontext()


def _logged(desk: MemoryDesk, asked: MemoryQuestion) -> MemoryFound:
    started = time.monotonic()
    top_k = desk.numbers.top_k if asked.top_k is None else asked.top_k
    status = "internal"
    try:
        zone: _Zone | None = None
        if asked.when.strip():
            zone = _read_zone(desk)
            asked = replace(asked, within=_read_when(desk, asked.when, zone[0]))
        found = _search(desk, asked, top_k, zone)
        status = "ok"
    except CommonplaceError as exc:
        status = exc.error_code or exc.code
        raise
    finally:
        duration_ms = round((time.monotonic() - started) * 1000)
        if desk.note_call is not None:
            desk.note_call(
                Call(
                    tool=TOOL,
                    status=status,
                    duration_ms=duration_ms,
                    top_k_effective=top_k,
                    filters=_filters(asked),
                )
            )
    return replace(found, duration_ms=duration_ms)


def _read_zone(desk: MemoryDesk) -> _Zone:
    try:
        return desk.read_zone()
    except CommonplaceError as exc:
        raise Unavailable(exc.message, hint=exc.hint, error_code=READ_FAILED) from exc


def _read_when(desk: MemoryDesk, when: str, zone: tzinfo) -> Interval:
    from commonplace.core.clock import render_interval
    from commonplace.core.when.phrases import parse_when
    from commonplace.services.times import naming

    with naming("when"):
        found = parse_when(when, now=desk.clock(), zone=zone)
        render_interval(found, zone)  # what the answer could not show is refused here
    return found


def _search(
    desk: MemoryDesk, asked: MemoryQuestion, top_k: int, zone_read: _Zone | None
) -> MemoryFound:
    from commonplace.search.cues import read_intent, read_todos

    if not 1 <= top_k <= policy.MEMORY_K_MOST:
        raise Invalid(f"Invalid top_k: {top_k}.", hint=f"Use 1 to {policy.MEMORY_K_MOST}.")
    given: dict[str, Intent] = {"planning": "planning", "journaling": "journaling"}
    intent = read_intent(asked.text) if asked.intent == "auto" else given.get(asked.intent)
    may_be_todos = intent == "planning" and (not asked.kinds or "todo" in asked.kinds)
    about = read_todos(asked.text) if may_be_todos else None
    listed = _listed(desk, asked, top_k) if about == "" else None
    read: FoundWhen | None = None
    if listed and listed.hits:
        found = listed
    else:
        read, zone_read = _read_time(desk, asked, zone_read)
        pool = min(policy.MEMORY_TODO_POOL * top_k, policy.MEMORY_K_MOST) if about else top_k
        found = _ranked(desk, asked, pool, intent, read)
    best = open_first(found.hits)[:top_k] if about else found.hits
    hits = _read(desk, best)
    notes = found.notes if listed is None or listed.hits else (NONE_OPEN, *found.notes)
    zone, zone_notes = zone_read or _read_zone(desk)
    if read is not None:
        notes = (*notes, _time_note(read, zone))
    count = partial(_count, desk)
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
        left_out=len(hits) - len(shown),
        todos=len(hits) if found is listed else 0,
        notes=(*notes, *zone_notes),
    )


def _filter(asked: MemoryQuestion) -> Filter:
    return Filter(within=asked.within or Interval(), journals=(JOURNAL,), kinds=asked.kinds)


def _listed(desk: MemoryDesk, asked: MemoryQuestion, top_k: int) -> Found:
    """The open to-dos, newest first; a note says where there are more."""
    found = _asked(lambda: desk.finder().newest(open_todos(_filter(asked)), top_k + 1))
    if len(found.hits) <= top_k:
        return found
    more = f"More to-dos are open than these {top_k}: ask for more with top_k, or list them."
    return replace(found, hits=found.hits[:top_k], notes=(*found.notes, more))


def _read_time(
    desk: MemoryDesk, asked: MemoryQuestion, zone: _Zone | None
) -> tuple[FoundWhen | None, _Zone | None]:
    """The time that a question names, in the user's zone, which is read only for that."""
    from commonplace.core.when.inside import find_when

    now = desk.clock()
    if asked.within or find_when(asked.text, now=now, zone=desk.owner_zone).interval is None:
        return None, zone
    zone = zone or _read_zone(desk)
    read = find_when(asked.text, now=now, zone=zone[0])
    return read if read.interval else None, zone


def _time_note(read: FoundWhen, zone: tzinfo) -> str:
    from commonplace.core.clock import render_interval

    assert read.interval is not None
    span = render_interval(read.interval, zone)
    return f"Time: {span}, read from {opening(read.phrase, 60)!r}: records of that time first."


def _ranked(
    desk: MemoryDesk,
    asked: MemoryQuestion,
    pool: int,
    intent: Intent | None,
    read: FoundWhen | None,
) -> Found:
    """The best hits for a question, so many; those of the time that it names come first."""
    from commonplace.search.finder import Question

    question = Question(
        text=f"{read.text} {read.feast}".strip() or asked.text if read else asked.text,
        within=_filter(asked),
        limit=pool,
        floor=desk.numbers.min_score,
        policy=_judged(desk.numbers.recency, intent, asked.diverse),
        leaning=read.interval if read else None,
        now=desk.clock(),
    )
    found = _asked(lambda: desk.finder().find(question))
    if found.vector is None and not query_terms(question.text):
        raise Unavailable(
            f"Nothing in the query is a word, and there is no model: {desk.encoder.reason()}",
            hint="Ask in words, or fetch the model.",
            error_code=MODEL_UNAVAILABLE,
        )
    return found


@lru_cache(maxsize=64)
def _judged(recency: float, intent: Intent | None, diverse: bool) -> Policy:  # noqa: FBT001  for the cache
    return replace(
        policy.MEMORY,
        recent=recency,
        leans=() if intent is None else policy.MEMORY_LEANS[intent],
        per_kind=policy.MEMORY_PER_KIND if diverse else 0,
    )


def _asked(ask: Callable[[], Found]) -> Found:
    try:
        return ask()
    except Invalid:
        raise
    except CommonplaceError as exc:
        raise Unavailable(exc.message, hint=exc.hint, error_code=SEARCH_FAILED) from exc


def _read(desk: MemoryDesk, hits: Sequence[Hit]) -> list[MemoryHit]:
    """The records behind hits, as they are now; one that left, or may not be found, is none."""
    read: list[MemoryHit] = []
    for hit, record in zip(hits, _records(desk, hits), strict=True):
        if record is not None and said_of(record):
            read.append(
                MemoryHit(
                    record=record,
                    ref=hit.doc.ref,
                    snippet=snippet_of(record),
                    score=hit.score,
                    similarity=hit.similarity,
                    by=hit.by,
                )
            )
    return read


def _records(desk: MemoryDesk, hits: Sequence[Hit]) -> list[Record | None]:
    named = [parse_ref(hit.doc.ref) for hit in hits]
    try:
        if desk.find_all is not None:
            return desk.find_all(named)
        return [desk.store.find(kind, ref_id) for kind, ref_id in named]
    except CommonplaceError as exc:
        raise Unavailable(exc.message, hint=exc.hint, error_code=READ_FAILED) from exc


def _count(desk: MemoryDesk, text: str) -> int:
    """Tokens by the encoder's tokenizer, else by bytes."""
    encoder: object = desk.encoder.get()
    if isinstance(encoder, CountsTokens):
        return encoder.count_tokens(text)
    return tokens_in(text)


def within_budget(snippets: Sequence[str], count: Callable[[str], int], budget: int) -> list[str]:
    """The first snippets that fit together; a first one that does not is cut."""
    kept: list[str] = []
    spent = 0
    at_most = [_most_tokens(snippet, budget) for snippet in snippets]
    for place, snippet in enumerate(snippets):
        # To count takes a tenth of a millisecond: it ends where the rest fits whatever it is.
        if spent + sum(at_most[place:]) <= budget:
            return list(snippets)
        spent += _tokens(snippet, count, budget)
        if spent > budget:
            return kept or [_cut(snippet, count, budget)]
        kept.append(snippet)
    return kept


def _most_tokens(text: str, budget: int) -> int:
    """Tokens that a text has at the most: see `CountsTokens`; unbounded ones are over a budget."""
    return len(text) + 1 if text.isascii() else budget + 1


def _tokens(text: str, count: Callable[[str], int], budget: int) -> int:
    """Tokens of a text; a tokenizer takes a long word for one, so characters count as well."""
    by_length = -(-len(text) // policy.MEMORY_TOKEN_CHARACTERS)
    return by_length if by_length > budget else max(by_length, count(text))


def _cut(text: str, count: Callable[[str], int], budget: int) -> str:
    """The longest beginning that fits with the sign of its being cut."""
    low, high = 0, min(len(text), budget * policy.MEMORY_TOKEN_CHARACTERS)
    while low < high:
        middle = (low + high + 1) // 2
        if _tokens(text[:middle] + CUT, count, budget) <= budget:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + CUT


def _filters(asked: MemoryQuestion) -> dict[str, Any]:
    filters: dict[str, Any] = {"kinds": list(asked.kinds), "intent": asked.intent}
    if asked.diverse:
        filters["diverse"] = True
    if asked.within is not None:
        start, end = asked.within.start, asked.within.end
        filters["since"] = start.isoformat() if start else None
        filters["until"] = end.isoformat() if end else None
    return filters
