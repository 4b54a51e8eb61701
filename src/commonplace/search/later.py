"""Which of the hits speak of the same thing as a later one, which then comes before them. Pure.

Never drops a hit, and never says that one is replaced: only a writer does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from msgspec.structs import replace

from commonplace.core.values import ChainLink
from commonplace.search import policy as numbers
from commonplace.search.query_features import (
    OWN_AUTHOR,
    asks_for_name,
    asks_for_number,
    asks_for_span,
)
from commonplace.search.statements import (
    may_follow,
    names_answer,
    read_statement,
    share_to_follow,
    subject_of,
    takes_place,
    words_at_new_number,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.core.values import Doc, Hit
    from commonplace.search.statements import Statement

    _Following = Callable[["_Former"], Hit | None]


class Ranked(Protocol):
    """A hit of any search, as far as it can be put before another; a struct."""

    @property
    def doc(self) -> Doc:
        """What was found."""
        ...

    @property
    def score(self) -> float:
        """By which it is placed."""
        ...

    @property
    def later(self) -> ChainLink | None:
        """What comes before it; None for nothing."""
        ...


_Ranked = TypeVar("_Ranked", bound=Ranked)


def with_later(hits: Sequence[Hit], others: Sequence[Hit] = ()) -> list[Hit]:
    """The hits of a question for what holds: one that a later one follows names it, behind it.

    others: The next best, which are shown only where one of them is such a later one.
    """
    question = hits[0].about if hits else ""
    formers = _formers(question, hits, others)
    after: dict[str, Hit] = {}
    for follows in _ways(question):
        newest_refs = {hit.doc.ref for hit in after.values()}
        for former in formers:
            ref = former.hit.doc.ref
            if ref not in after and ref not in newest_refs and (newest := follows(former)):
                after[ref] = newest
    if not after:
        return [*hits]
    linked = []
    for hit in hits:
        if newest := after.get(hit.doc.ref):
            while newest.doc.ref in after:
                newest = after[newest.doc.ref]
            hit = replace(hit, later=ChainLink(ref=newest.doc.ref, at=newest.doc.at))  # noqa: PLW2901
        linked.append(hit)
    return in_order(linked, others)[: len(hits)]


def _ways(question: str) -> list[_Following]:
    """How a later hit follows a former one, the surest first."""
    ways: list[_Following] = [_takes_place, _answers_alike]
    if asks_for_number(question) and not asks_for_span(question):
        ways += [_gives_number, _calls_number_new]
    return ways


def in_order(hits: Sequence[_Ranked], others: Sequence[_Ranked] = ()) -> list[_Ranked]:
    """The hits, what each names as later right before it; with its score, as scores fall."""
    there = {hit.doc.ref: hit for hit in (*hits, *others)}
    placed: dict[str, Any] = {}
    for hit in hits:
        if hit.later and (newest := there.get(hit.later.ref)):
            first: Any = newest
            score = max(newest.score, hit.score)
            placed.setdefault(newest.doc.ref, replace(first, score=score))
        placed.setdefault(hit.doc.ref, hit)
    return [*placed.values()]


class _Looked(NamedTuple):
    """A hit, and the words that it is about: what else it says is read of few."""

    hit: Hit
    subject: frozenset[str]


class _Later(NamedTuple):
    """A later hit that has words of the question in common with a former one, and how many."""

    hit: Hit
    says: Statement
    asked: int


class _Former(NamedTuple):
    """A hit that a later one may follow, and what it is compared with.

    Attributes:
        asked: The words of the question.
        asks_name: Whether it asks who or where.
        wanted: The words of the question that the hit is about.
        later: The later hits that speak of what is asked about, as it does.
        looked: All hits that are looked at.
    """

    hit: Hit
    asked: frozenset[str]
    asks_name: bool
    wanted: frozenset[str]
    later: Sequence[_Later]
    looked: Sequence[_Looked]

    @property
    def says(self) -> Statement:
        """What it says."""
        return read_statement(self.hit.doc.own_text)


def _formers(question: str, hits: Sequence[Hit], others: Sequence[Hit]) -> list[_Former]:
    """Those of the hits that hold still, and that are about enough of the question."""
    asks = read_statement(question)
    asked, asks_name = asks.subject, asks_for_name(question)
    some = [*hits, *others][: numbers.LATER_LOOKED_AT]
    looked = [_Looked(hit, subject_of(hit.doc.own_text)) for hit in some]
    formers = []
    for hit, subject in looked[: len(hits)]:
        wanted = asked & subject
        if hit.replaced_by is None and len(wanted) >= len(asked) * numbers.ASKED_OF_FORMER:
            later = _later_ones(hit, wanted, looked, asks.names & wanted, asks_name=asks_name)
            formers.append(_Former(hit, asked, asks_name, wanted, later, looked))
    return formers


def _later_ones(
    former: Hit,
    wanted: frozenset[str],
    looked: Sequence[_Looked],
    names: frozenset[str],
    *,
    asks_name: bool,
) -> list[_Later]:
    """The later hits that speak of what is asked about, as a former one does.

    wanted: The words of the question that the former one is about; few of all the hits may have
        those of them that a later one has.
    names: Those of them that are names: a later one has them all.
    """
    found = []
    for hit, subject in looked:
        both = wanted & subject
        if len(both) <= len(wanted) * numbers.ASKED_LEAST or not names <= both:
            continue
        is_rare = sum(both <= each.subject for each in looked) <= numbers.ASKED_RARE
        if is_rare and hit.replaced_by is None and may_follow(hit.doc, former.doc):
            says = read_statement(hit.doc.own_text)
            if not asks_name or names_answer(says, wanted):
                found.append(_Later(hit, says, len(both)))
    return found


def _takes_place(former: _Former) -> Hit | None:
    """The newest that says what holds in place of a former one, by the two texts."""
    least = numbers.TAKING_SHARE * former.hit.score
    return _newest(
        [
            hit
            for hit, says, _ in former.later
            if hit.score >= least
            and (says.decides or hit.doc.kind != numbers.TURN)
            and takes_place(says, former.says, None) >= numbers.FOLLOWING_LEAST
        ]
    )


def _answers_alike(former: _Former) -> Hit | None:
    """The newest that holds most of the question, and says how that stands."""
    first = former.hit

    def is_alike(hit: Hit) -> bool:
        if hit.doc.kind == numbers.TURN or hit.score < numbers.CHANGED_SHARE * first.score:
            return False
        texts = hit.doc.own_text, first.doc.own_text
        least = share_to_follow(*texts, former.asked, asks_name=former.asks_name)
        return least is not None and hit.score >= least * first.score

    near = [each for each in former.later if is_alike(each.hit)]
    most = max((each.asked for each in near), default=0)
    return _newest([each.hit for each in near if each.asked == most])


def _gives_number(former: _Former) -> Hit | None:
    """The newest turn of the same speaker that holds as much of the question, and a number."""
    first, old_numbers = former.hit, former.says.numbers
    if first.doc.kind != numbers.TURN or not old_numbers:
        return None
    least = numbers.NUMBER_SHARE * first.score
    return _newest(
        [
            hit
            for hit, says, both in former.later
            if hit.score >= least
            and both >= len(former.wanted)
            and hit.doc.author == first.doc.author
            and says.numbers - old_numbers
        ]
    )


def _calls_number_new(former: _Former) -> Hit | None:
    """The newest turn that calls a number new beside most of the question, of much else it says.

    Of the owner of the conversation, where one speaks: what answers them repeats it.
    """
    first, asked = former.hit, former.asked
    if first.doc.kind != numbers.TURN or not former.says.numbers:
        return None
    has_owner = any(each.hit.doc.author == OWN_AUTHOR for each in former.looked)
    speaker = OWN_AUTHOR if has_owner else first.doc.author
    counted = [
        (words_at_new_number(hit.doc.own_text, first.doc.own_text, asked), hit)
        for hit, *_ in former.looked
        if hit.replaced_by is None
        and hit.doc.author == speaker
        and hit.score >= numbers.TAKING_SHARE * first.score
        and may_follow(hit.doc, first.doc)
    ]
    least = max(numbers.COUNTED_WORDS, words_at_new_number(first.doc.own_text, "", asked))
    most = max((words for words, _ in counted), default=0)
    return _newest([hit for words, hit in counted if words == most >= least])


def _newest(hits: Sequence[Hit]) -> Hit | None:
    """The newest of some hits; None where there are many.

    They share a topic then, and no thing of which one state holds.
    """
    if len(hits) > numbers.FOLLOWING_MOST:
        return None
    return max(hits, key=lambda hit: (hit.doc.at, hit.doc.ref), default=None)
