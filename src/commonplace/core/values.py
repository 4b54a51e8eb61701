"""The values that rooms hand to each other: docs, changes, intervals, questions and hits.

Holds no behaviour beyond what a value can say of itself, and imports only the standard library.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float32]
    Numbers: TypeAlias = NDArray[np.int64]
    Mask: TypeAlias = NDArray[np.bool_]

By: TypeAlias = Literal["meaning", "words", "both", "kind"]
"""What a hit rests on; kind: it was listed for what it is, whatever it says."""

Intent: TypeAlias = Literal["planning", "journaling"]


def said(author: str, text: str) -> str:
    """A text after the name of who said it, where that is known."""
    return f"{author}: {text}" if author else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A half-open span [start, end) of aware UTC instants; None leaves that side open."""

    start: datetime | None = None
    end: datetime | None = None

    def holds(self, at: datetime) -> bool:
        """Whether the instant lies inside."""
        return (self.start is None or self.start <= at) and (self.end is None or at < self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Doc:
    """What the index holds of one entry.

    ref: the entry's address, unique per owner. at: aware UTC. text: what is searched and encoded.
    scope: the part of a journal it lies in (a root, a section, a thread). stamp: a token of the
    journal's own that changes whenever the entry does (size and mtime of a file, a row's hash).
    session: the conversation that this entry is a turn of, a name unique per owner; turns of one
    conversation lend each other context. Empty for an entry that stands alone. author: who wrote or
    said it, where that is known. dated: its date in words, searched beside the text ("7 May 2023").
    covers: the refs a summary was made from.
    """

    ref: str
    journal: str
    scope: str
    at: datetime
    text: str
    stamp: str
    kind: str = "entry"
    headings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    session: str = ""
    author: str = ""
    dated: str = ""
    covers: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """What is searched and encoded: the text, after the name of who said it."""
        return said(self.author, self.text)


@dataclass(frozen=True, slots=True)
class Put:
    """The index should hold this doc, in place of any with its ref."""

    doc: Doc


@dataclass(frozen=True, slots=True)
class Drop:
    """The index should hold nothing of this ref."""

    ref: str


Change: TypeAlias = Put | Drop

Still: TypeAlias = "Callable[[Any], Sequence[bool]]"
"""Asks by an index's own connection which changes still hold, one answer for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """What the index knows of one source: its last mark, and the stamp of each ref under a prefix.

    mark is None when nothing was filed yet, or when every entry is to be looked at anew (a sweep);
    stamps are given in both cases, so that a scan hands over only what really differs.
    """

    mark: str | None
    stamps: Callable[[str], Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """The candidates a search may look at, fixed before anything is ranked.

    Empty tuples mean "any". scopes match exactly; headings match as folded substrings (see
    `core.text.fold_name`), any of them; tags match exactly: any of `tags`, all of `required_tags`,
    none of `excluded_tags`.
    """

    within: Interval = field(default_factory=Interval)
    journals: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    required_tags: tuple[str, ...] = ()
    excluded_tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighing:
    """How an index weighs words, and what entries of one session lend each other.

    k1, b: of BM25. shortest, shortest_turn: words that an entry which stands alone counts as at
    least, and that a turn of a conversation does. before, after: weight, in [0, 1], of a turn that
    stands right before or after another; it falls to 1/e over `scale` words. side: turns on each
    side that lend. least: weight under which nothing is lent. common, common_least: a word in as
    large a share of entries, and in as many, is not lent. around: neighbours of a candidate that
    are candidates too. missing, missing_spread: what of a question a doc lacks counts as if that
    were so many words more, each in so many docs. Source: `search.policy`.
    """

    k1: float
    b: float
    shortest: int
    shortest_turn: int
    before: float
    after: float
    scale: float
    side: int
    least: float
    common: float
    common_least: int
    around: int
    missing: float
    missing_spread: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an index is asked for: words, a query's vector or None, and whom it may look at.

    vector: may still be on its way; asked for once, after the words, and in no transaction.
    identity: of the encoder behind it; empty for none. limit: the best taken of each leg. leaning:
    a time of which the best of each leg are taken as well; None for none. newest: the newest
    `limit` docs are taken instead, whatever they say.
    """

    words: str
    vector: Callable[[], Vector | None]
    identity: str
    within: Filter
    limit: int
    weighing: Weighing
    leaning: Interval | None = None
    newest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """The docs a search may show, oldest first, in columns of one length n.

    keys: (n,) what `read` takes. words: (n,) BM25 >= 0, context included. matched: (n,) whether a
    word of the question stands in the doc itself. covered: (n,) how much of the question stands in
    it or in its date, by idf, in [0, 1]; 1 for all of it. similarity: (n,) cosine of the best
    chunk, NaN without a vector. nearness: (n,) the same with what neighbours lend, NaN likewise.
    at_us: (n,) microseconds since the epoch. timed: (n,) whether it names a time. author: (n,)
    place in `authors`. kind: (n,) place in `kinds`. read: the docs of some keys; one that left is
    missing.
    """

    keys: Numbers
    words: Vector
    matched: Mask
    covered: Vector
    similarity: Vector
    nearness: Vector
    at_us: Numbers
    timed: Mask
    author: Numbers
    authors: tuple[str, ...]
    kind: Numbers
    kinds: tuple[str, ...]
    read: Callable[[Sequence[int]], Mapping[int, Doc]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unencoded:
    """A doc whose vectors are missing for one encoder: what it says (`Doc.said`), and its hash."""

    ref: str
    text: str
    text_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """The vectors of one doc's chunks, bound to the text they were made from (`Doc.said`).

    spans: (start, end) of each chunk in characters of that text. vectors: (chunks, dimensions),
    float32, each of length 1.
    """

    ref: str
    text_hash: str
    spans: tuple[tuple[int, int], ...]
    vectors: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How much an index holds: docs, those without a vector of one encoder, bytes on disk."""

    docs: int
    pending: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How much an index holds of one journal: docs, those without a vector of one encoder.

    newest: when the latest of them was, by its own time; None where there is none.
    """

    journal: str
    docs: int
    pending: int
    newest: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderState:
    """What of an encoder is known without loading it.

    identity: empty where there are no weights. state: `ready` to be used, `loading`, or `missing`;
    why: a sentence where it is not ready.
    """

    name: str
    identity: str
    state: Literal["ready", "loading", "missing"]
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Glimpse:
    """An entry seen from another: its ref, when it was, and its first words."""

    ref: str
    at: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One entry whole, as its journal has it now, and what stands around it.

    author: empty where nobody knows. text: all of it, never shortened. before, after: its
    neighbours in time. rollup: the summary it went into, sources: what it is a summary of; both
    empty where a journal has no summaries.
    """

    ref: str
    journal: str
    scope: str
    kind: str
    at: datetime
    text: str
    author: str = ""
    tags: tuple[str, ...] = ()
    before: Glimpse | None = None
    after: Glimpse | None = None
    rollup: Glimpse | None = None
    sources: tuple[Glimpse, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong, as `doctor` shows it.

    what: the thing and its state, a sentence. hint: the next step. repairable: `--repair` mends it.
    """

    what: str
    hint: str = ""
    repairable: bool = False


Finding: TypeAlias = Problem | str
"""A problem, or a note: a sentence on what is neither right nor wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One entry a search returns.

    score: in [0, 1], for display and in the order shown. similarity: cosine on the scale of its
    encoder, on which unrelated texts have 0 and the same text 1; None without a vector. legs: the
    share of the score each leg gave. also: refs of near-duplicates folded in.
    """

    doc: Doc
    score: float
    by: By
    similarity: float | None
    excerpt: str
    legs: Mapping[str, float] = field(default_factory=dict)
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search returns: hits, best first, and sentences on what a reader must know.

    chance: how likely it is that the best hits are about what was asked, in [0, 1]; None where
    that cannot be told. vector: the question's, by the encoder of that identity, for whoever
    compares it with something else as well; None where words alone were searched.
    """

    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()
    chance: float | None = None
    vector: Vector | None = field(default=None, compare=False, repr=False)
    identity: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool gives back: the same facts as text for a model and as data for a program."""

    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A stored text that a language model is to work on; origin says in a line what it is."""

    origin: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a language model is asked: our instructions, and apart from them what others wrote.

    max_tokens: the longest answer. is_private: a passage comes from the private journal.
    """

    instructions: str
    passages: tuple[Passage, ...]
    max_tokens: int
    is_private: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a language model answered; text is never blank.

    model: its name, as the answer gives it. tokens_in, tokens_out: what it cost, estimated where
    the answer does not say. whole: false where it was cut off at the limit.
    """

    text: str
    model: str
    tokens_in: int
    tokens_out: int
    whole: bool
