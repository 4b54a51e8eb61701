"""The finder: one question in, judged hits out.

Never writes, and never ranks: the index filters and measures, `rank` and `near_duplicates` decide.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, Corrupted, Invalid, Unavailable
from commonplace.core.expiring import nothing_hidden
from commonplace.core.values import Asked, ChainLink, Filter, Found, Hit
from commonplace.search import policy as numbers
from commonplace.search.boosts import Boost, of_elsewhere, of_standing
from commonplace.search.chains import dates_of, gone_links, newest_of
from commonplace.search.filing.source_indexer import DAMAGED, log_failure
from commonplace.search.later import with_later
from commonplace.search.near_duplicates import Shown, without_duplicates
from commonplace.search.query_features import read_features, refuse_long
from commonplace.search.rank import chance, demoted, rank

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence
    from datetime import datetime

    from commonplace.core.expiring import Hidden
    from commonplace.core.ports import Encoder, EncoderSlot, Searched
    from commonplace.core.rollups import Lineage
    from commonplace.core.values import By, Candidates, Doc, Here, Interval, Vector
    from commonplace.search.filing.port import Refreshing
    from commonplace.search.policy import Policy
    from commonplace.search.query_features import QueryFeatures
    from commonplace.search.rank import Ranking

_K = TypeVar("_K")
_V = TypeVar("_V")
_Ask: TypeAlias = "Callable[[Sequence[_K]], Mapping[_K, _V]]"

_UNWEIGHED = replace(numbers.WEIGHING, side=0)
"""For what is listed by its time: nothing lends another anything, which takes time for many."""

_OTHER_LANGUAGE = (
    "The question is not in English, and its meaning is read by {name}, which knows English alone:"
    " `commonplace model use use-multilingual-v3` finds in sixteen languages, once"
    " `commonplace model fetch use-multilingual-v3` has brought it (32 MB);"
    " multilingual-e5-small likewise in a hundred (487 MB)."
)

_WARMING = "a question that nobody asked"

_FOR_EVERYTHING = (
    "What do we know about this project?",
    "Give me an overview of everything.",
    "What have we done so far?",
    "What should I know before I start?",
    "Tell me what you remember.",
    "What do you know about us?",
)

_EVERY = 2**31 - 1
"""As many docs as no index has."""


class SearchQuestion(Struct, frozen=True, kw_only=True):
    """A question to one index: its text, what it may look at, and how it is judged.

    Args:
        room: Characters of an answer that are to be filled: once the hits fill them, no more are
            looked for than the least; 0 where `limit` alone bounds them.
        floor: Cosine in [-1, 1] under which a hit by meaning alone is cut.
        fitting: The kinds of entry that fit the time that is asked for.
        preferred_time: The time that the question names: what lies in it ranks higher, and nothing
            is hidden.
        here: The project that it is asked from; None for none.
        now: From when ages are counted, for a policy that weighs them.
    """

    text: str
    where: Filter
    limit: int
    floor: float
    policy: Policy
    fitting: tuple[str, ...] = ()
    preferred_time: Interval | None = None
    here: Here | None = None
    now: datetime | None = None
    room: int = 0

    def asked(self, vector: Callable[[], Vector | None], identity: str) -> Asked:
        """What an index is asked for it. vector: waits for the encoder of that identity."""
        policy = self.policy
        return Asked(
            words=self.text,
            vector=vector,
            identity=identity,
            where=self.where,
            limit=policy.pool(min(self.limit, numbers.RECALL_LEAST) if self.room else self.limit),
            weighing=policy.weighing,
            preferred_time=self.preferred_time,
            lower_kinds=tuple(kind for kind, _ in policy.lower_kinds),
        )


class Finder:
    """Searches one owner's index; by words alone while there is no encoder, and says so.

    Args:
        filing: Keeps the index behind the journals, and is asked to before each search.
        lineage: Knows which summaries an entry went into; None where there are none.
        replaced: Returns when those of some entries were replaced that were by one that is gone, by
            their refs; None where nothing says it.
        notes: Said with the hits of every question.
        hidden: Gives the refs of what has expired, which is shown to no one.
    """

    def __init__(
        self,
        *,
        index: Searched,
        encoder: EncoderSlot,
        filing: Refreshing,
        lineage: Lineage | None = None,
        replaced: Callable[[Sequence[str]], Mapping[str, float]] | None = None,
        notes: Sequence[str] = (),
        hidden: Hidden = nothing_hidden,
    ) -> None:
        self._hidden = hidden
        self._replaced = replaced
        self._index = index
        self._encoder = encoder
        self._filing = filing
        self._lineage = lineage
        self._notes = notes
        self._has_named_other_encoder = False
        self._overviews = _OverviewQuestions()

    @property
    def is_ready(self) -> bool:
        """Whether a question is encoded without a wait for a model that is being loaded."""
        return self._encoder.get() is not None

    def warm(self) -> None:
        """Have what a first question would wait for read from the disk; never raises."""
        encoder = self._encoder.get()
        with suppress(CommonplaceError, MemoryError):
            self._index.candidates(
                Asked(
                    words=_WARMING,
                    vector=lambda: None if encoder is None else encoder.encode_query(_WARMING),
                    identity="" if encoder is None else encoder.identity,
                    where=Filter(),
                    limit=1,
                    weighing=numbers.WEIGHING,
                )
            )

    def find(self, question: SearchQuestion) -> Found:
        """The best hits for a question; its filter applies before anything is ranked.

        An index that proves damaged is built again from the journals, and searched again.

        Raises:
            Invalid: The query is blank, or longer than 10,000 characters.
            Unavailable: The index cannot be read.
        """
        return _healed(lambda: self._find(question))

    def _find(self, question: SearchQuestion) -> Found:
        _check_text(question.text)
        ready = self._encoder.get()
        encoding = self._encoding(ready, question.text)
        notes = self._filing.refresh(numbers.FILING_WAIT_S)
        identity = encoding.result().identity if ready is None else ready.identity
        if identity:
            notes = (*notes, *self._filing.settle(identity, numbers.VECTORS_WAIT_S))
        found = self._index.candidates(question.asked(lambda: encoding.result().vector, identity))
        notes = (*notes, *self._notes)
        features = read_features(question.text)
        if why := encoding.result().why:
            notes = (*notes, f"Searched by words alone: {why}")
        elif features.is_foreign and (note := self._on_languages(identity)):
            notes = (*notes, note)
        scale, read = numbers.scale_of(identity), _Remembered(found.read)
        found = replace(
            found,
            similarity=scale.of(found.similarity),
            nearness=scale.of(found.nearness),
            read=read,
        )
        across = features.is_foreign and numbers.knows_languages(identity)
        if across:
            question = replace(question, policy=numbers.across_languages(question.policy))
        ranking = _ranked(found, question, features)
        chains = self._chains(question.where, read)
        hits, order = self._hits(found, ranking, question, chains)
        if features.asks_now:
            others = _next_best(hits, found, order, question)
            newest = chains.newest_of([hit.doc.ref for hit in others])
            hits = tuple(with_later(hits, self._linked(others, newest, chains)))
        return Found(
            hits=hits,
            notes=(*notes, *dict.fromkeys(found.missed)),
            is_whole=not found.missed,
            chance=chance(found, ranking, numbers.likelihoods(identity, across=across)),
            vector=encoding.result().vector,
            identity=identity,
        )

    def asks_all(self, found: Found) -> bool:
        """Whether nothing fits the question well, and it asks for whatever there is.

        found: What was found for it.
        """
        encoder = self._encoder.get()
        if found.chance is None or found.chance >= numbers.OVERVIEW_CHANCE or found.vector is None:
            return False
        if encoder is None or encoder.identity != found.identity:
            return False
        with suppress(CommonplaceError):
            return self._overviews.is_asked(encoder, found.vector)
        return False

    def _on_languages(self, identity: str) -> str:
        """What is said once of an encoder that knows English alone."""
        if self._has_named_other_encoder or not numbers.knows_english_alone(identity):
            return ""
        self._has_named_other_encoder = True
        return _OTHER_LANGUAGE.format(name=identity.partition(":")[0])

    def _hits(
        self, found: Candidates, ranking: Ranking, question: SearchQuestion, chains: _Chains
    ) -> tuple[tuple[Hit, ...], Ranking]:
        """What is shown, what is superseded further down, and the order it was taken from."""
        best = partial(
            without_duplicates,
            found,
            limit=question.limit,
            room=question.room,
            policy=question.policy,
            above=None if self._lineage is None else _Remembered(self._lineage.above),
        )
        now, shown = ranking, best(ranking)
        # What will move up is most often read by now, and asked about with what is shown.
        if chains.newest_of(known := [doc.ref for doc in chains.read.all()]):
            chains.replaced(known)
        newest: dict[str, Doc] = {}
        gone: dict[str, ChainLink] = {}
        former: dict[str, Hit] = {}
        for turn in range(numbers.DEMOTED_AT_ONCE):
            fresh = {ref: x for x in shown if (ref := x.doc.ref) not in newest and ref not in gone}
            rows = {ref: x.own_row for ref, x in fresh.items()}
            taken, lost = chains.replaced([*rows])
            if not taken and not lost:
                break
            if turn:
                # Hits that moved up may be of one long chain: each turn demotes more of it.
                ahead = now.rows[: question.limit * numbers.DEMOTED_AT_ONCE**turn].tolist()
                rows |= _rows_by_ref(found, ahead, {*newest, *gone})
                taken, lost = chains.replaced([*rows])
            newest |= taken
            gone |= lost
            for ref in [ref for ref in fresh if ref in taken]:
                former[ref] = _hit(fresh[ref], found, ranking, question.text)
            now = demoted(now, [rows[x] for x in (*taken, *lost)], numbers.SUPERSEDED_FACTOR)
            shown = best(now)
        hits = [_hit(x, found, now, question.text) for x in shown]
        if former:
            hits = _with_holding(hits, former, newest, gone, question)
        return self._linked(hits, newest, chains), now

    def _chains(self, where: Filter, read: _Remembered[int, Doc]) -> _Chains:
        """What a question with this filter asks of replaced entries, and what reads its docs."""
        newest = _Remembered(partial(newest_of, self._index, before=where.written_before))
        gone = _Remembered(partial(self.gone_links, before=where.written_before))
        return _Chains(read, newest, gone)

    def gone_links(
        self, refs: Sequence[str], *, before: datetime | None = None
    ) -> dict[str, ChainLink]:
        """The link to an entry that replaced a ref's and is gone; refs without one are missing.

        before: Only successors written before this count; None for all.
        """
        links: dict[str, ChainLink] = {}
        if self._replaced and refs:
            # Where a server does not answer, what was replaced is shown as if it held.
            with suppress(Unavailable):
                links = gone_links(self._replaced(refs), refs)
        if before is None:
            return links
        return {ref: link for ref, link in links.items() if link.at and link.at < before}

    def _linked(
        self, hits: Sequence[Hit], newest: Mapping[str, Doc], chains: _Chains
    ) -> tuple[Hit, ...]:
        """Each hit with the entry whose place it took, and with the one that holds in its own.

        One that expired is left out, where the index could not be asked to drop it in time.
        """
        hidden = self._hidden()
        hits = [hit for hit in hits if hit.doc.ref not in hidden] if hidden else hits
        gone = chains.gone_of([hit.doc.ref for hit in hits if hit.doc.ref not in newest])
        former = [hit.doc.supersedes for hit in hits]
        dates = {doc.ref: doc.at for doc in chains.read.all()} if any(former) else {}
        dates |= dates_of(self._index, [ref for ref in former if ref and ref not in dates])
        return tuple(
            replace(
                hit,
                replaces=ChainLink(ref=ref, at=dates.get(ref)) if ref else None,
                replaced_by=ChainLink(ref=now.ref, at=now.at)
                if (now := newest.get(hit.doc.ref))
                else gone.get(hit.doc.ref),
            )
            for hit, ref in zip(hits, former, strict=True)
        )

    def newest(self, where: Filter, limit: int) -> Found:
        """The newest docs that a filter admits, whatever they say: no encoder, no ranking.

        An index that proves damaged is built again first. Raises: Unavailable.
        """
        return _healed(lambda: self._newest(where, limit))

    def listed(self, where: Filter) -> Candidates:
        """All docs that a filter admits, oldest first; none of their texts is read.

        An index that proves damaged is built again first. Raises: Unavailable.
        """
        self._filing.refresh(numbers.FILING_WAIT_S)
        where = replace(where, excluded_refs=(*where.excluded_refs, *self._hidden()))
        try:
            return self._newest_of(where, _EVERY)
        except Corrupted as exc:
            log_failure("A count met a damaged index", exc)
            return self._newest_of(where, _EVERY)

    def _newest_of(self, where: Filter, limit: int) -> Candidates:
        return self._index.candidates(
            Asked(
                words="",
                vector=lambda: None,
                identity="",
                where=where,
                limit=limit,
                weighing=_UNWEIGHED,
                newest=True,
            )
        )

    def _newest(self, where: Filter, limit: int) -> Found:
        notes = self._filing.refresh(numbers.FILING_WAIT_S)
        found = self._newest_of(where, limit)
        read = _Remembered(found.read)
        newest_first = replace(found, read=read).docs_at(range(len(found.keys))[::-1])
        hits = [
            Hit(doc=doc, score=1.0, by="kind", similarity=None) for doc in newest_first.values()
        ]
        chains = self._chains(where, read)
        linked = self._linked(hits, chains.newest_of([hit.doc.ref for hit in hits]), chains)
        notes = (*notes, *dict.fromkeys(found.missed))
        return Found(hits=linked, notes=notes, is_whole=not found.missed)

    def _encoding(self, ready: Encoder | None, text: str) -> Future[_Encoded]:
        """Encode the question while journals and words are looked up, or right now.

        Right now where the index answers sooner than that: a thread of its own would cost more.
        """
        if ready is None or not self._index.faster_than_encoding:
            return _pool().submit(_encoded, self._encoder, ready, text)
        encoded: Future[_Encoded] = Future()
        encoded.set_result(_encoded(self._encoder, ready, text))
        return encoded


@cache
def _pool() -> ThreadPoolExecutor:
    """What encodes questions, of all finders: one of each would outlive its user's journals."""
    if hasattr(os, "register_at_fork"):  # a fork has none of its threads
        os.register_at_fork(after_in_child=_pool.cache_clear)
    return ThreadPoolExecutor(max_workers=32, thread_name_prefix="query")


class _Remembered(Generic[_K, _V]):
    """A function that asks another about each key once, for the time of one question.

    ask: Returns what there is of some keys; a key of which there is nothing is missing.
    """

    def __init__(self, ask: _Ask[_K, _V]) -> None:
        self._ask = ask
        self._known: dict[_K, _V | None] = {}

    def __call__(self, keys: Sequence[_K]) -> Mapping[_K, _V]:
        """What there is of some keys."""
        known = self._known
        if asked := [key for key in keys if key not in known]:
            found = self._ask(asked)
            known.update({key: found.get(key) for key in asked})
        return {key: it for key in keys if (it := known[key]) is not None}

    def all(self) -> list[_V]:
        """What there is of all that was asked about."""
        return [it for it in self._known.values() if it is not None]


class _Chains(NamedTuple):
    """What took the place of entries, asked once about each for one question; and its docs."""

    read: _Remembered[int, Doc]
    newest_of: _Ask[str, Doc]
    gone_of: _Ask[str, ChainLink]

    def replaced(self, refs: Sequence[str]) -> tuple[Mapping[str, Doc], Mapping[str, ChainLink]]:
        """The doc that holds in place of each ref, or else the link to what is gone."""
        newest = self.newest_of(refs)
        return newest, self.gone_of([ref for ref in refs if ref not in newest])


class _OverviewQuestions:
    """How near questions are by meaning to some that ask for everything, which are encoded once."""

    def __init__(self) -> None:
        self._known: dict[str, Vector] = {}

    def is_asked(self, encoder: Encoder, vector: Vector) -> bool:
        """Whether a question does, by its vector of this encoder; False by one not measured."""
        least = numbers.overview_least(encoder.identity)
        if least is None:
            return False
        asked = self._known.get(encoder.identity)
        if asked is None:
            # As passages, in one batch: one by one as questions takes 45 ms of a processor, not 16.
            asked = encoder.encode_passages(_FOR_EVERYTHING)
            self._known = {encoder.identity: asked}
        near = numbers.scale_of(encoder.identity).of((asked @ vector).mean())
        return bool(near >= least)


def _check_text(text: str) -> None:
    if not text.strip():
        raise Invalid("Invalid query: it is blank.", hint="Ask in words: 'database lock problems'.")
    refuse_long(text)


def _healed(find: Callable[[], Found]) -> Found:
    try:
        return find()
    except Corrupted as exc:
        log_failure("A search met a damaged index", exc)
        found = find()
        return replace(found, notes=tuple(dict.fromkeys([DAMAGED, *found.notes])))


class _Encoded(NamedTuple):
    """The vector of a question and its encoder's identity; without one, why, as a sentence."""

    vector: Vector | None
    identity: str
    why: str


def _encoded(slot: EncoderSlot, ready: Encoder | None, text: str) -> _Encoded:
    encoder = ready or slot.get(numbers.ENCODER_WAIT_S)
    if encoder is None:
        return _Encoded(None, "", slot.reason())
    try:
        return _Encoded(encoder.encode_query(text), encoder.identity, "")
    except CommonplaceError as exc:
        return _Encoded(None, encoder.identity, exc.message)


def _ranked(found: Candidates, question: SearchQuestion, features: QueryFeatures) -> Ranking:
    """The candidates in order, with what the question leans to."""
    policy = question.policy
    ranked = partial(
        rank,
        found,
        floor=question.floor,
        policy=policy,
        features=features,
        fitting=question.fitting,
        preferred_time=question.preferred_time,
        now=question.now,
    )
    boosts = []
    if question.here is not None and policy.elsewhere < 1:
        away = of_elsewhere(found, question.here, features)
        boosts.append(Boost(away, policy.elsewhere))
    ranking = ranked(boosts=boosts)
    if features.asks_task and policy.standing > 1:
        # Their texts are read, so only what fits at all is looked at.
        standing = of_standing(found, ranking.rows[: numbers.STANDING_LOOKED_AT])
        ranking = ranked(boosts=[*boosts, Boost(standing, policy.standing)])
    return ranking


def _next_best(
    hits: Sequence[Hit], found: Candidates, ranking: Ranking, question: SearchQuestion
) -> list[Hit]:
    """The hits that would be shown next, up to those that are looked at for what holds now."""
    if len(hits) >= numbers.LATER_LOOKED_AT:
        return []
    known = {ref for hit in hits for ref in (hit.doc.ref, *hit.also)}
    best = found.docs_at(ranking.rows[: numbers.LATER_LOOKED_AT].tolist())
    return [
        _hit(Shown(doc, row, frozenset(), row), found, ranking, question.text)
        for row, doc in best.items()
        if doc.ref not in known
    ]


def _rows_by_ref(found: Candidates, rows: Sequence[int], known: Container[str]) -> dict[str, int]:
    """The rows of candidates by their refs, less those that are known."""
    docs = found.docs_at(rows)
    return {doc.ref: row for row, doc in docs.items() if doc.ref not in known}


def _with_holding(
    hits: Sequence[Hit],
    former: Mapping[str, Hit],
    newest: Mapping[str, Doc],
    gone: Container[str],
    question: SearchQuestion,
) -> list[Hit]:
    """Hits with what holds in place of those that were replaced, best first.

    What does not fit by itself stands where the entry would that it replaced.

    former: The hits of entries that were replaced, by their refs.
    """
    by_ref = {hit.doc.ref: hit for hit in hits}
    for ref, old in former.items():
        doc = newest[ref]
        hit = by_ref.get(doc.ref)
        if doc.ref in gone:
            continue
        if hit is not None and hit.score < old.score:
            by_ref[doc.ref] = replace(hit, score=old.score, legs=old.legs)
        elif hit is None and _is_admitted(doc, old.doc, question.where):
            by_ref[doc.ref] = replace(old, doc=doc, similarity=None, also=())
    return sorted(by_ref.values(), key=lambda hit: -hit.score)[: question.limit]


def _is_admitted(doc: Doc, former: Doc, where: Filter) -> bool:
    """Whether a filter that admits a former entry also admits the one that holds now."""
    alike = (doc.headings, doc.own_tags) == (former.headings, former.own_tags)
    by_names = where.headings or where.tags or where.required_tags
    return (
        where.interval.holds(doc.at)
        and (not where.scopes or doc.scope in where.scopes)
        and (not where.kinds or doc.kind in where.kinds)
        and (alike or not by_names)
        and {*where.excluded_tags}.isdisjoint(doc.tags)
        and doc.ref not in where.excluded_refs
    )


def _hit(one: Shown, found: Candidates, ranking: Ranking, query: str) -> Hit:
    row = one.row
    similarity = float(found.similarity[row])
    score, meaning = float(ranking.score[row]), float(ranking.meaning[row])
    words = float(ranking.words[row])
    by_meaning: By = "both" if found.matched[row] else "meaning"
    return Hit(
        doc=one.doc,
        score=score,
        by=by_meaning if ranking.near[row] else "words",
        similarity=None if math.isnan(similarity) else similarity,
        about=query,
        legs={"meaning": meaning, "words": words, "priors": score - meaning - words},
        also=tuple(one.also),
    )
