"""The values that rooms hand to each other: docs, changes, intervals, questions and hits.

Holds no behaviour beyond what a value can say of itself, and imports only the standard library.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct, field

from commonplace.core.brief_item import CLIENT, OWN, REPOSITORY
from commonplace.core.text import excerpt

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


_SUPERSEDES = "\x1e"


FROM_REPOSITORY = "\x1f"
"""The tag of a doc that is a repository's word, not the owner's; a search can leave it out."""

FROM_CLIENT = "\x1d"
"""The tag of a doc that is a file of a client's own memory; likewise."""


BRANCH_TAG = "branch:"
"""Begins the tag of a doc that only other git branches hold than the one its journal is on."""


def superseding_tag(ref: str) -> str:
    """The tag that a doc bears which takes the place of an entry, so that it is looked up by it."""
    return _SUPERSEDES + ref


def superseding_tags(ref: str) -> tuple[str, ...]:
    """The same as the tags of a doc; none for an entry that takes no place."""
    return (superseding_tag(ref),) if ref else ()


class Interval(Struct, frozen=True, kw_only=True):
    """A half-open span [start, end) of aware UTC instants; None leaves that side open."""

    start: datetime | None = None
    end: datetime | None = None

    def holds(self, at: datetime) -> bool:
        """Whether the instant lies inside."""
        return (self.start is None or self.start <= at) and (self.end is None or at < self.end)


class Doc(Struct, frozen=True, kw_only=True):
    """What the index holds of one entry.

    Attributes:
        ref: The entry's address, unique per owner.
        text: What is searched and encoded.
        scope: The part of a journal it lies in (a root, a section, a thread).
        stamp: A token of the journal's own that changes whenever the entry does (size and mtime of
            a file, a row's hash).
        session: The conversation that this entry is a turn of, a name unique per owner; turns of
            one conversation lend each other context. Empty for an entry that stands alone.
        author: Who wrote or said it, where that is known.
        dated: Its date in words, searched beside the text ("7 May 2023").
        covers: The refs a summary was made from.
        written: When it was written down, where that is not the time it is of.
        turn: Which comes first of the entries of one instant, as the journal itself lists them; by
            the ref where it is the same.
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
    written: datetime | None = None
    turn: int = 0

    @property
    def supersedes(self) -> str:
        """The ref of the entry whose place it took; empty for none."""
        for tag in self.tags:
            if tag.startswith(_SUPERSEDES):
                return tag[1:]
        return ""

    @property
    def own_tags(self) -> tuple[str, ...]:
        """The tags less those that say what it supersedes, and whose word it is."""
        return tuple(
            x for x in self.tags if not x.startswith((_SUPERSEDES, FROM_REPOSITORY, FROM_CLIENT))
        )

    @property
    def word(self) -> str:
        """Whose word it is: the owner's, a repository's that brought it along, or a client's."""
        if FROM_CLIENT in self.tags:
            return CLIENT
        return REPOSITORY if FROM_REPOSITORY in self.tags else OWN

    @property
    def own_text(self) -> str:
        """The text as it was written: without a heading that the search alone has behind it."""
        heading = next(iter(self.headings), "")
        return self.text.removesuffix(f"\n\n{heading}") if heading else self.text

    @property
    def said(self) -> str:
        """What is searched and encoded: the text, after the name of who said it."""
        return said(self.author, self.text)


class Put(Struct, frozen=True):
    """The index should hold this doc, in place of any with its ref."""

    doc: Doc


class Drop(Struct, frozen=True):
    """The index should hold nothing of this ref."""

    ref: str


Change: TypeAlias = Put | Drop

AreCurrent: TypeAlias = "Callable[[Any], Callable[[], Sequence[bool]]]"
"""Asks by an index's own connection which changes still hold; the function returned reads that."""


class Since(Struct, frozen=True, kw_only=True):
    """What the index knows of one source: its last mark, and the stamp of each ref under a prefix.

    mark is None before the first filing and for a sweep, which looks at all again; stamps are given
    then too, so that a scan hands over what differs. now is the mark taken right before the scan.
    """

    mark: str | None
    stamps: Callable[[str], Mapping[str, str]]
    now: str | None = None


class KnownSources(Struct, frozen=True, kw_only=True):
    """What the index knows of all that it follows.

    Attributes:
        marks: The last mark of each source by its name; one of which nothing was filed is missing.
        stamps: As in `Since`.
    """

    marks: Mapping[str, str]
    stamps: Callable[[str], Mapping[str, str]]

    def since(self, source: str) -> Since:
        """What is known of one of them."""
        return Since(mark=self.marks.get(source), stamps=self.stamps)


NOTHING_KNOWN = Since(mark=None, stamps=lambda _prefix: {})
"""A scan since this hands over everything."""


class Filter(Struct, frozen=True, kw_only=True):
    """The candidates a search may look at, fixed before anything is ranked.

    Empty tuples mean "any". scopes match exactly; headings match as folded substrings (see
    `core.text.fold_name`), any of them; tags match exactly: any of `tags`, all of `required_tags`,
    none of `excluded_tags`. No doc of `excluded_refs` is admitted. `written_before` admits what
    was written down before an instant, whatever time it is of; None admits all.
    """

    interval: Interval = field(default_factory=Interval)
    journals: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    required_tags: tuple[str, ...] = ()
    excluded_tags: tuple[str, ...] = ()
    excluded_refs: tuple[str, ...] = ()
    written_before: datetime | None = None


class Weighing(Struct, frozen=True, kw_only=True):
    """How an index weighs words, and what entries of one session lend each other.

    Args:
        k1: Of BM25: how soon repeating a word adds nothing more.
        b: Of BM25: how much long entries that stand alone are held back, in [0, 1].
        b_turn: The same of turns of a conversation.
        shortest: Words that an entry which stands alone counts as at least.
        shortest_turn: Words that a turn of a conversation counts as at least.
        before: Weight, in [0, 1], that the turn right before another lends it.
        after: Weight, in [0, 1], that the turn right after another lends it.
        following: The least weight that the turn right after another lends it, however long it is.
        scale: Words over which what is lent falls to 1/e.
        side: Turns on each side that lend.
        least: Weight under which nothing is lent.
        common: Share of the entries from which on a word in them is not lent.
        common_least: Number of entries that must hold such a word too.
        around: Neighbours of a candidate that are candidates too.
        missing: Words by which the part of a question that a doc lacks counts as longer.
        missing_doc_frequency: Docs that each of those words counts as standing in.

    Source: `search.policy`.
    """

    k1: float
    b: float
    b_turn: float
    shortest: int
    shortest_turn: int
    before: float
    after: float
    following: float
    scale: float
    side: int
    least: float
    common: float
    common_least: int
    around: int
    missing: float
    missing_doc_frequency: int


class Here(Struct, frozen=True):
    """The project that a question is asked from.

    Attributes:
        holds: Whether a folder is of it.
        place_of: The folder that a scope stands for, or the scope itself; empty for nowhere.
    """

    holds: Callable[[str], bool]
    place_of: Callable[[str], str]


class Asked(Struct, frozen=True, kw_only=True):
    """What an index is asked for: words, a query's vector or None, and whom it may look at.

    Attributes:
        vector: The query's, perhaps still being made: asked for once, after the words, and in no
            transaction.
        identity: The encoder's that made the vector; empty for none.
        limit: How many of the best are taken by words, and by meaning.
        preferred_time: A time of which the best are taken as well; None for none.
        newest: Whether the newest `limit` docs are taken instead, whatever they say.
        lower_kinds: Kinds of which there may be so many that the best are taken of all
            others as well.
    """

    words: str
    vector: Callable[[], Vector | None]
    identity: str
    where: Filter
    limit: int
    weighing: Weighing
    preferred_time: Interval | None = None
    newest: bool = False
    lower_kinds: tuple[str, ...] = ()


class Candidates(Struct, frozen=True, kw_only=True, eq=False):
    """The docs a search may show, oldest first, in columns of one length n.

    Attributes:
        keys: (n,) what `read` takes.
        words: (n,) BM25 >= 0, context included.
        matched: (n,) whether a word of the question stands in the doc itself.
        covered: (n,) how much of the question stands in it or in its date, by idf, in [0, 1]; 1 for
            all of it.
        similarity: (n,) cosine of the best chunk, NaN without a vector.
        nearness: (n,) the same with what neighbours lend, NaN likewise.
        at_us: (n,) microseconds since the epoch.
        timed: (n,) whether it names a time.
        lengths: (n,) words of its text.
        author: (n,) place in `authors`.
        kind: (n,) place in `kinds`.
        scope: (n,) place in `scopes`, -1 for none.
        read: Gives the docs of some keys; one that left the index is missing.
        missed: Sentences on what could not be searched; reading may add to them.
    """

    keys: Numbers
    words: Vector
    matched: Mask
    covered: Vector
    similarity: Vector
    nearness: Vector
    at_us: Numbers
    timed: Mask
    lengths: Numbers
    author: Numbers
    authors: tuple[str, ...]
    kind: Numbers
    kinds: tuple[str, ...]
    scope: Numbers
    scopes: tuple[str, ...]
    read: Callable[[Sequence[int]], Mapping[int, Doc]]
    missed: Sequence[str] = ()

    def docs_at(self, rows: Sequence[int]) -> dict[int, Doc]:
        """The docs of some rows, by row in this order; one that left the index is missing."""
        keys = [int(self.keys[row]) for row in rows]
        docs = self.read(keys)
        return {row: docs[key] for row, key in zip(rows, keys, strict=True) if key in docs}


class Unencoded(Struct, frozen=True, kw_only=True):
    """A doc whose vectors are missing for one encoder: what it says (`Doc.said`), and its hash."""

    ref: str
    text: str
    text_hash: str


class Encoded(Struct, frozen=True, kw_only=True):
    """The vectors of one doc's chunks, bound to the text they were made from (`Doc.said`).

    Attributes:
        spans: (start, end) of each chunk in characters of that text.
        vectors: (chunks, dimensions), float32, each of length 1.
    """

    ref: str
    text_hash: str
    spans: tuple[tuple[int, int], ...]
    vectors: Vector


class Counts(Struct, frozen=True, kw_only=True):
    """How much an index holds: docs, and those without a vector of one encoder."""

    docs: int
    pending: int


class DocCount(Struct, frozen=True, kw_only=True):
    """How much an index holds of one kind of docs: all, and those without a vector of one encoder.

    newest: when the latest of them was, by its own time; None where there is none.
    """

    journal: str
    kind: str
    docs: int
    pending: int
    newest: datetime | None = None


class EncoderState(Struct, frozen=True, kw_only=True):
    """What of an encoder is known without loading it.

    Attributes:
        identity: Its name, as vectors carry it; empty where there are no weights.
        state: `ready` to be used, `loading`, or `missing`.
        why: The reason as a sentence, where it is not ready.
    """

    name: str
    identity: str
    state: Literal["ready", "loading", "missing"]
    why: str = ""


class EntryPreview(Struct, frozen=True, kw_only=True):
    """An entry seen from another: its ref, when it was, and its first words."""

    ref: str
    at: datetime
    text: str


class Page(Struct, frozen=True, kw_only=True):
    """One entry whole, as its journal has it now, and what stands around it.

    Attributes:
        author: Who wrote it; empty where that is not known.
        before, after: Its neighbours in time.
        rollup: The summary it went into; empty where a journal has no summaries.
        sources: What it is a summary of; empty likewise.
        supersedes, superseded_by: The ref of the entry whose place it took, and of the one that
            took its place; empty for none.
        replaced: When an entry that has since expired or been forgotten took its place; None where
            none did, or one that is still there did.
        origin: The program that it was imported from and its id there; empty for none.
        replaced_since: As for `Hit`.
        word: As for `Doc`.
        backlinks, backlink_count: The first texts with a link to it, and how many there are.
        expires: When it is forgotten; None for never.
    """

    ref: str
    journal: str
    scope: str
    kind: str
    at: datetime
    text: str
    author: str = ""
    tags: tuple[str, ...] = ()
    before: EntryPreview | None = None
    after: EntryPreview | None = None
    rollup: EntryPreview | None = None
    sources: tuple[EntryPreview, ...] = ()
    supersedes: str = ""
    superseded_by: str = ""
    replaced: datetime | None = None
    origin: str = ""
    replaced_since: tuple[Replacement, ...] = ()
    word: str = OWN
    backlinks: tuple[EntryPreview, ...] = ()
    backlink_count: int = 0
    expires: datetime | None = None


AmendVerb = Literal["edit", "supersede", "delete"]


class EditableText(Struct, frozen=True, kw_only=True):
    """The text of an entry as it may be edited.

    Attributes:
        verbs: What may be done to it. Where an edit would supersede it, that alone is named.
        version: A token that changes with the entry.
        supersedes: The ref of the entry whose place it took; empty for none.
        written: When it was written down; of use where it took a place.
        has_expired: Whether nothing shows it any more, though its journal still holds it.
        words: What it says, where `text` begins with more, such as a frontmatter; else empty.
        file: The file of another program that it is, which nothing here touches; else empty.
        author: Who wrote it, where an edit leaves that as it is; empty where it is not known.
    """

    ref: str
    text: str
    version: str
    verbs: tuple[AmendVerb, ...] = ("edit", "supersede", "delete")
    supersedes: str = ""
    written: datetime | None = None
    has_expired: bool = False
    words: str = ""
    file: str = ""
    author: str = ""


class Amendment(Struct, frozen=True, kw_only=True):
    """What a correction came to.

    Attributes:
        act: What was done to the entry.
        ref: Of the entry that holds now; of a deleted one, what it was.
        text: What stands under that ref now; empty for a deleted one.
        at: When what stands there was; None for a deleted one.
        former: The ref of the entry that it supersedes, which stays; empty otherwise.
        before: The text that was replaced, superseded or deleted, as `edit` takes it.
        notes: Sentences on what the caller must know.
    """

    act: Literal["edited", "deleted", "superseded"]
    ref: str
    text: str = ""
    at: datetime | None = None
    former: str = ""
    before: str = ""
    notes: tuple[str, ...] = ()


class Problem(Struct, frozen=True, kw_only=True):
    """One thing that is wrong, as `doctor` shows it."""

    what: str
    hint: str = ""
    repairable: bool = False


Finding: TypeAlias = Problem | str
"""A problem, or a note: a sentence on what is neither right nor wrong."""


class HealthReport(Struct, frozen=True):
    """What `doctor` found, each with the part it was found in: weights, settings, folders, ..."""

    problems: list[tuple[str, Problem]] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)


class HealthRepairs(Struct, frozen=True):
    """What `doctor --repair` did, and what it could not do, each with its part."""

    done: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, Problem]] = field(default_factory=list)


class ChainLink(Struct, frozen=True, kw_only=True):
    """The other end of a superseding.

    Attributes:
        ref: Its ref; empty for a successor that expired or was forgotten.
        at: When it was; None where it is gone and nobody noted it.
    """

    ref: str
    at: datetime | None = None


class Replacement(Struct, frozen=True, kw_only=True):
    """An entry that no longer holds, and the one that holds in its place."""

    former: ChainLink
    successor: ChainLink


class Hit(Struct, frozen=True, kw_only=True):
    """One entry a search returns.

    Attributes:
        score: In [0, 1], for display and in the order shown.
        similarity: Cosine on the scale of its encoder, on which unrelated texts have 0 and the same
            text 1; None without a vector.
        about: The question; empty for a doc that was listed.
        legs: What words, meaning and priors gave to the score.
        also: Refs of near-duplicates that were merged into it.
        replaces: The entry whose place it took; None for none.
        replaced_by: The entry that holds now in its place; None where it holds itself.
        later: The newest of the hits that speaks of the same and was later; None for none.
        replaced_since: Of a text that sums up entries, those replaced after it was written.
    """

    doc: Doc
    score: float
    by: By
    similarity: float | None
    about: str = ""
    legs: Mapping[str, float] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    replaces: ChainLink | None = None
    replaced_by: ChainLink | None = None
    later: ChainLink | None = None
    replaced_since: tuple[Replacement, ...] = ()

    @property
    def excerpt(self) -> str:
        """The part of its text that bears most words of the question."""
        return excerpt(self.doc.own_text, self.about)


class Found(Struct, frozen=True, kw_only=True):
    """What a search returns: hits, best first, and sentences on what a reader must know.

    Attributes:
        chance: That the best hits are about what was asked, in [0, 1]; None where it is not known.
        vector: The question's, of the encoder `identity`; None where words alone were searched.
        is_whole: Whether all was searched; else the notes say what was not.
    """

    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()
    is_whole: bool = True
    chance: float | None = None
    vector: Vector | None = None
    identity: str = ""


class Answer:
    """What a tool gives back: text for a model, and the same as facts for a program.

    The facts are made when they are asked for, as most clients read the text alone. Neither is
    screened here: the door that shows one of them does that.

    Args:
        text: Without the notes.
        facts: Makes them of what the tool has read already; or they themselves, where they cost
            nothing.
        notes: Sentences on what else must be known, below the text and among the facts; None where
            the facts have no place for any.
        quoted_by: The tool whose text holds stored text outside a fence: a model is given a fence
            around all of it, people read it as it is. Empty where the text has its own fences.
        written: The version of each entry that was written, or that an earlier call with the same
            key wrote, by its ref. No door shows them.

    Attributes:
        said: The text without the notes.
    """

    __slots__ = ("_facts", "notes", "quoted_by", "said", "written")

    def __init__(
        self,
        text: str,
        facts: Mapping[str, Any] | Callable[[], Mapping[str, Any]] = MappingProxyType({}),
        notes: Sequence[str] | None = None,
        *,
        quoted_by: str = "",
        written: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.said = text
        self._facts = facts
        self.notes = notes
        self.quoted_by = quoted_by
        self.written = written

    def __eq__(self, other: object) -> bool:
        """Whether another answer says the same, as text and as facts."""
        if not isinstance(other, Answer):
            return NotImplemented
        return (self.text, self.facts) == (other.text, other.facts)

    __hash__ = None  # type: ignore[assignment]  # facts are a mapping

    @property
    def text(self) -> str:
        """The text, with its notes below."""
        said = self.said.rstrip("\n")
        return f"{said}\n{self.note_lines}".lstrip("\n") if self.notes else self.said

    @property
    def note_lines(self) -> str:
        """The notes, a line each, as they stand below the text."""
        return "".join(f"\nNote: {note}" for note in self.notes or ())

    @property
    def facts(self) -> Mapping[str, Any]:
        """The facts, with the notes among them."""
        if callable(self._facts):
            self._facts = self._facts()
        if self.notes is None:
            return self._facts
        return {**self._facts, "notes": [*self._facts.get("notes", ()), *self.notes]}

    def noting(self, notes: Sequence[str], *, quoted_by: str = "") -> Answer:
        """The answer with further notes below those it has, and with who quotes in it."""
        all_notes = tuple(dict.fromkeys((*(self.notes or ()), *notes))) if notes else self.notes
        return self._with(all_notes, quoted_by or self.quoted_by)

    def with_notes(self, change: Callable[[str], str]) -> Answer:
        """The answer with each of its notes in other words."""
        return self._with(self.notes and [change(note) for note in self.notes], self.quoted_by)

    def _with(self, notes: Sequence[str] | None, quoted_by: str) -> Answer:
        return Answer(self.said, self._facts, notes, quoted_by=quoted_by, written=self.written)


class Passage(Struct, frozen=True, kw_only=True):
    """A stored text that a language model is to work on; origin says in a line what it is."""

    origin: str
    text: str


class Question(Struct, frozen=True, kw_only=True):
    """What a language model is asked: our instructions, and apart from them what others wrote."""

    instructions: str
    passages: tuple[Passage, ...]
    max_tokens: int
    is_private: bool = False


class Completion(Struct, frozen=True, kw_only=True):
    """What a language model answered; text is never blank.

    Attributes:
        model: Its name, as the answer gives it.
        tokens_in, tokens_out: What it cost, estimated where the answer does not say.
        whole: Whether it is complete, and not cut off at the limit.
    """

    text: str
    model: str
    tokens_in: int
    tokens_out: int
    whole: bool
