"""All the numbers of each kind of search: weights, floors, budgets; one place for each.

Never computes; `rank` and `finder` do, and no other file holds a ranking number.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.values import Weighing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from commonplace.core.values import Hit, Intent, Interval, Vector

_Cosines = TypeVar("_Cosines", float, "Vector")
_T = TypeVar("_T")
_U = TypeVar("_U")

MAX_QUERY_LENGTH = 10_000
"""Characters; a longer query is refused."""

ENCODER_WAIT_S = 2.0
"""How long a search waits for an encoder that is being loaded before it answers by words alone."""

FILING_WAIT_S = 2.0
"""How long a search waits for entries that other programs wrote to be filed."""

DATES_READ = 50
"""Of so many hits for the words of a date the texts are read for the date itself."""

NAMING_SHOWN = 3
"""Entries of other times that name a day or a month, shown behind what was written in it."""

LONG_FILING_S = 0.5
"""A filing that has gone on for so long and is not near its end is not waited for: a search goes on
with what is filed."""

SILENT_S = 5.0
"""How long a command waits for a journal from which nothing comes, such as one that is locked."""

VECTORS_WAIT_S = 1.0
"""How long a search waits for vectors that are just being made."""

VECTORS_SOON = 200
"""More missing vectors than these are not waited for: no such wait is long enough for them."""

SWEEP_EVERY_S = 5.0
"""A search starts a sweep for entries edited in place when the last one is older than this."""

SWEEP_PAUSE = 10.0
"""And no sooner than so many times as long as that sweep took where it found nothing: of 100,000
notes each takes 1.5 s of a processor, which was a third of it while searches went on."""

LOOK_HOLDS_S = 30 * 86_400.0
"""Where only our own programs write, a search starts a sweep when the last one is older than this:
their writes change a journal's mark, and that alone is read. One costs 3 to 16 recalls."""

RETRY_S = (1.0, 30.0)
"""How soon vectors that could not be made are tried again: first and at most, doubled between."""

COUNT_EVERY_S = 5.0
"""How often what is still to make is counted again: 20 ms at 100,000 entries."""

ENCODE_BATCH = 64
"""Docs taken from the index at a time while vectors are made, however long they are."""

ENCODE_BATCH_MOST = 512
"""Docs taken at a time when they are short: asking for them costs 20 ms at 100,000 entries, and the
more there are, the less is padded (lines of 25 tokens: 64 at a time take 14 % longer than 512)."""

ENCODE_CHARACTERS = 50_000
"""Characters of the docs that are taken at a time, by the mean of those before."""

CHUNKS_AT_ONCE = 128
"""Chunks handed to the encoder between two commits of vectors; it cuts its own token batches."""

CHARACTERS_AT_ONCE = 15_000
"""Characters handed to the encoder between two commits, about a second's work: a command that ends
keeps what it made before. 16 chunks of long notes at a time cost no more than 128."""

CHUNKS_OF_AN_ENTRY = 200
"""Chunks of one entry that get a vector, about 35,000 words; what follows is found by words."""

ENCODE_AT_ONCE = 20_000
"""Characters a write encodes before it returns, about a second; more goes to the background."""

FILE_AT_ONCE = 500_000
"""Characters of a new entry whose words a write files before it returns, in 0.1 s; of 5 MB that
takes 0.9 s of the 2.0 of a whole write, and the thread that follows its journal files them."""

ERASING_PAUSE = 20.0
"""After the bytes of earlier texts are erased in the background, nothing is erased for so many
times as long as that took: 0.3 s at 10,000 entries, 3.3 s at 100,000; no process writes in it."""

APPLY_BATCH = 100
"""Changes filed in one transaction while catching up: 40 ms of a processor, for which a write waits
that comes amid it. Of 500 it is 145, and the whole takes 3 % less."""

APPLY_CHARACTERS = 100_000
"""So much text is filed in one transaction: 40 ms as well, where 500,000 take 160 and the whole 2 %
less. On a machine at load 12 those took 5 s, and a journal that is silent for so long is not
waited for."""

LEASE_S = 20.0
"""After this long without renewal another process may take over the encoding.

It is how long the entries of a killed process wait; twice the work is all that a shorter one costs.
"""


class Scale(Struct, frozen=True):
    """Where the cosines of an encoder lie: of texts that have nothing in common, and of the same.

    Every number of a policy that is compared with a cosine holds on the scale from 0 to 1.
    """

    unrelated: float
    same: float

    def of(self, cosine: _Cosines) -> _Cosines:
        """A cosine, or an array of them, on the scale from 0 (unrelated) to 1 (the same)."""
        return (cosine - self.unrelated) / (self.same - self.unrelated)


_SCALES = {"e5": Scale(0.75, 0.94), "bge": Scale(0.4, 0.93)}
"""By a part of the encoder's name; those of MiniLM and `use` lie from 0 to 1 as they are. Measured
over sixteen short sentences that have nothing in common, in English alone for bge, which knows no
other language. Why: docs/decisions/0032-a-scale-for-each-encoder.md."""


_ENGLISH, _MULTILINGUAL = frozenset(("minilm", "e5", "bge")), "multilingual"


def scale_of(identity: str) -> Scale:
    """The scale of an encoder's cosines, by the name in its identity."""
    return _named(_SCALES, identity, Scale(0.0, 1.0))


def knows_english_alone(identity: str) -> bool:
    """Whether an encoder was made for English, by the name in its identity."""
    parts = _name_parts(identity)
    return not knows_languages(identity) and not _ENGLISH.isdisjoint(parts)


def knows_languages(identity: str) -> bool:
    """Whether an encoder was made for many languages, likewise."""
    return _MULTILINGUAL in _name_parts(identity)


def _named(numbers: Mapping[str, _T], identity: str, otherwise: _U) -> _T | _U:
    """What is kept for a part of the encoder's name."""
    parts = _name_parts(identity)
    return next((number for name, number in numbers.items() if name in parts), otherwise)


def _name_parts(identity: str) -> list[str]:
    return identity.partition(":")[0].split("-")


WEIGHING = Weighing(
    k1=1.2,
    b=0.5,
    b_turn=1.0,
    shortest=5,
    shortest_turn=60,
    before=0.6,
    after=0.4,
    following=0.2,
    scale=80.0,
    side=8,
    least=0.02,
    common=0.1,
    common_least=30,
    around=2,
    missing=4.0,
    missing_doc_frequency=40,
)
"""Words and context of every search. Source: configuration A, docs/retrieval.md; of the last two,
on which the label of a weak match alone rests, "Weak matches" there."""


class PreferredKind(Struct, frozen=True, kw_only=True):
    """A kind of entry that an intent prefers.

    Args:
        kind: As `Doc.kind` has it.
        factor: What its score is multiplied by.
        fades: Whether that falls with the age of the entry.
        within_days: How old it may be; 0 for any age.
    """

    kind: str
    factor: float
    fades: bool = False
    within_days: float = 0.0


class Policy(Struct, frozen=True, kw_only=True):
    """How one kind of search judges.

    Args:
        meaning: Weight of the share by meaning, which is divided by its maximum before.
        words: Weight of the share by words, likewise.
        clear: Cosine that the maximum by meaning counts as at least, so that noise does not get a
            full score where nothing is near.
        clear_words: What the maximum by words counts as at least, likewise: a doc of mean length
            that bears each word of the question once has 1.
        duplicate: Share of words in common, in (0, 1], from which two hits are one; above 1 for
            never.
        timed: Added to an entry that names a time where the question asks for one.
        inside: Factor for entries of the time that a question names, and of `beside_days` around
            it.
        beside_days: Days before and after that time.
        named: Factor for entries of the one author whom the question names.
        own: Factor for entries of `user` where the question says I.
        lent: Whether an entry is a hit that shares no word and has no vector, by its neighbours'
            words.
        fitting: Factor for entries of the kind that fits the time asked for: a day's summary for a
            day.
        diverse: Share of the best score from which each journal gets a place; 0 for no such places.
        recent: What newness adds to a score, as a share of it.
        recent_days: Days in which that falls to 1/e.
        elsewhere: Factor, in (0, 1], for entries of other projects than the asker's.
        standing: Factor for entries that state a preference or a standing instruction, where the
            question asks for a task.
        preferred_kinds: The kinds of entry that are preferred.
        per_kind: The most hits of one kind; 0 for no bound.
        lower_kinds: Factor, in (0, 1], for entries of a kind that nobody wrote on purpose.
        weighing: How the index weighs words and context.

    Source: weights from the measured fusion (.55 meaning, .45 words), docs/retrieval.md.
    """

    meaning: float = 0.55
    words: float = 0.45
    clear: float = 0.4
    clear_words: float = 0.0
    duplicate: float = 0.9
    timed: float = 0.0
    inside: float = 1.0
    beside_days: float = 3.0
    named: float = 1.0
    own: float = 1.0
    lent: bool = False
    fitting: float = 1.0
    diverse: float = 0.0
    recent: float = 0.0
    recent_days: float = 14.0
    elsewhere: float = 1.0
    standing: float = 1.0
    preferred_kinds: tuple[PreferredKind, ...] = ()
    per_kind: int = 0
    lower_kinds: tuple[tuple[str, float], ...] = ()
    weighing: Weighing = WEIGHING

    def max_score(self, *, names_time: bool) -> float:
        """The highest score this policy can give, to a question that names a time or not."""
        of_kind: dict[str, float] = {}
        for each in self.preferred_kinds:
            of_kind[each.kind] = of_kind.get(each.kind, 1.0) * max(each.factor, 1.0)
        kind_factor = max(of_kind.values(), default=1.0)
        factors = self.named * self.own * self.fitting * (1 + self.recent) * kind_factor
        inside = self.inside if names_time else 1.0
        return (self.meaning + self.words + self.timed) * factors * inside

    def pool(self, limit: int) -> int:
        """How many candidates are taken by words, and by meaning: ten for each hit, within bounds.

        Measured with limit 10 on 200 questions over 10,000 entries, against 4,000 candidates: of
        100 and of 200 the first five hits are the same, of 100 0.2 % of the first ten differ.
        """
        return max(100, limit, min(10 * limit, 1000))


SUPERSEDED_FACTOR = 0.3
"""What another entry took the place of counts for so much: below what holds and fits a third as
well, above what hardly fits."""

REPLACING_LENGTH = 600
"""Characters of a new entry in which it must say what changed; an old one is compared as far."""

LATER_LOOKED_AT = 20
"""Of so many of the best hits it is looked whether a later one speaks of the same."""

FOLLOWING_LEAST = 0.5
"""Least likeness of subject, by words, at which a later hit comes before a former one."""

TAKING_SHARE, CHANGED_SHARE, FOLLOWING_SHARE = 0.3, 0.4, 0.5
"""Least score, of a former hit's, of a later one that comes before it: for what the two say, where
the later one tells that it is another way, and for what is asked alone."""

NUMBER_SHARE = 0.8
"""Least score, of a former turn's, of a later one that comes before it with another number: of five
chats of long replies two more questions have the newest first, and no other question loses."""

COUNTED_WORDS = 2
"""Words of a question beside a number that a turn calls new, for it to come before a former one."""

FOLLOWING_MOST = 3
"""Where more hits than these would follow one, none does: they share a topic and no more."""

ASKED_OF_FORMER, ASKED_LEAST = 0.5, 0.3
"""The least share of a question's words that a former entry has; and of these a later one must have
more than the second."""

ASKED_RARE = 6
"""Hits, of those looked at, that may have all words that two share with a question, if these name
a thing."""

DENIED_LEAST, SAME_BUT_NUMBERS = 0.6, 0.8
"""Share of the former's words that a later one must have which says no where that said yes, or has
other numbers."""

STATEMENT_WORDS = 40
"""A text that is about more words says more than one thing, and is compared by what it says alone.
"""

LEFT_NEAR = 0.5
"""Least cosine at which a text that names as left what another is about takes its place, though
they share nothing else."""

STATEMENTS_KEPT = 512
"""Texts of which a process keeps what they say: the same hits come again and again."""

REPLACING_LOOKED_AT = 20
"""Entries by words and by meaning among which the one is looked for that a new one may replace."""

REPLACING_LEAST = 0.6
"""Least likeness of subject at which it is proposed: over 135 pairs, tuned on every other one.
Why: docs/decisions/0072-a-write-proposes-what-it-may-replace.md."""

DEMOTED_AT_ONCE = 8
"""Times that a search looks once more whether what moved up is superseded too."""

TURN = "turn"
"""The kind of what was said in a session."""

TURN_FACTOR = 0.9
"""What was said in a session counts for so much of what was written on purpose and fits as well; in
full where a question asks for what was said.
Why: docs/decisions/0193-what-was-said-counts-nine-tenths.md."""

STANDING_FACTOR, STANDING_LOOKED_AT, STANDING_LENGTH = 1.5, 100, 600
"""How much a preference or a standing instruction counts where a task is asked for, how many of the
best candidates are read for one, and how many characters of each.
Why: docs/decisions/0197-what-a-question-leans-to.md."""

PLACE_BESIDE_TURNS = 0.75 / TURN_FACTOR
"""Where a turn is the best, another journal gets its place from so much less of that score: from
what it got it at when a turn counted three quarters."""

RECALL = Policy(
    meaning=0.5,
    words=0.5,
    timed=0.1,
    inside=1.5,
    named=1.1,
    own=1.1,
    lent=True,
    diverse=0.5,
    lower_kinds=((TURN, TURN_FACTOR),),
    elsewhere=0.85,
    standing=STANDING_FACTOR,
)
"""One question to all journals. Source: configuration A, docs/retrieval.md."""

RECALL_FLOOR = -1.0
"""Recall drops no hit for its cosine; what is unlikely is labelled."""

RECALL_LEAST, RECALL_MOST = 20, 50
"""Hits of an answer that its budget alone bounds: the least that are looked for, however long their
texts are, and the most. A search for twice as many takes twice as long: only short texts pay it."""

SHOWN_LENGTH = 600
"""Characters of a hit's text that are shown before a further hit is.

Of 400 to 800 none shows more of the evidence on all development sets; docs/retrieval.md has them.
"""

BEST_SHARE = 0.3
"""Share of an answer's room that the text of the best hit may take before a further hit is shown.

Within 1,000 tokens .013 more of the evidence is shown of long replies, .004 of journals.
"""

SHOWN_AROUND = 40
"""Bytes around them, about: a ref, a time, a fence."""

WEAK_CHANCE = 0.2
"""Under this chance hits are called a weak match, and the best alone are shown where no limit was
asked for. Source: docs/retrieval.md."""


def is_weak(chance: float | None) -> bool:
    """Whether hits are likely about something else; never where that is not known."""
    return chance is not None and chance < WEAK_CHANCE


STRONG_CHANCE = 0.22
"""Under this chance nothing is brought to mind of what nobody asked for: of strange questions a
tenth fewer pass than by `WEAK_CHANCE`."""

OVERVIEW_CHANCE = 0.25
"""Under this chance a question is compared with those that ask for everything: a question that is
answered is mostly above it, and waits for nothing.
Why: docs/decisions/0213-a-question-for-everything-is-told-by-its-meaning.md."""

_OVERVIEW_LEAST = {"minilm": 0.225, "e5": 0.41, "use": 0.33}
"""Least mean nearness to those questions, by a part of the encoder's name: above it are 14 of 20
such questions by MiniLM and 4 by E5, 10 of 20 by `use`, and none of the development sets'."""


def overview_least(identity: str) -> float | None:
    """From which nearness on a question asks for everything; None where that was not measured."""
    return _named(_OVERVIEW_LEAST, identity, None)


FITTING_SHARE = 0.35
"""Hits that score less than this of the best are folded. Of .35 to .6 it alone loses about .001
of the evidence at most, on each development set."""

BEST_SHOWN, FOLDED_LEAST = 3, 3
"""Hits that are never folded, and how many a line that says so is worth."""

TURNS_SHOWN, TURNS_SHARE = 3, 0.5
"""Turns of one session in an answer, where the question does not ask for the session; and the share
of the best score from which further ones are shown too.
Why: docs/decisions/0194-one-exchange-is-one-hit.md."""

RARE_HITS = 2
"""A word of the question that no more hits have is rare: what has it is never folded."""

SESSION_NAMED = 8
"""So many of the first signs of a session's id name it in a question."""

PROMPT_SHARE = 0.5
"""What a prompt brings to mind scores at least so much of the best: the label rests on that one."""

CHANCE_HITS = 10
"""How many of the best hits, and of the nearest entries, are looked at for it."""

UNRELATED = 0.0
"""The cosine of texts with nothing in common, on the scale of every encoder: that of the tenth
nearest entry where there are fewer.
Why: docs/decisions/0124-a-small-memory-is-not-weak-for-being-small.md."""


class Likelihood(Struct, frozen=True, kw_only=True):
    """How likely hits are about what was asked, as a logistic sum; see docs/retrieval.md.

    Args:
        ahead: Weight of how far the cosine of the nearest entry lies above that of the tenth, or
            above that of texts with nothing in common where there is no tenth.
        backed: Of the highest product, among the best hits, of a hit's cosine, with what its
            neighbours lend, and how much of the question stands in it.
        nearest: Of the cosine of the nearest entry.
    """

    ahead: float = 0.0
    backed: float = 0.0
    nearest: float = 0.0
    bias: float

    def of(self, *, ahead: float, backed: float, nearest: float) -> float:
        """The chance, in (0, 1)."""
        logit = self.ahead * ahead + self.backed * backed + self.nearest * nearest + self.bias
        return 1 / (1 + math.exp(-logit))


_LIKELIHOOD = Likelihood(ahead=3.5, backed=13.5, bias=-2.57)
_LIKELIHOODS = {  # by a part of the encoder's name
    "bge": replace(_LIKELIHOOD, bias=-2.37),
    "e5": replace(_LIKELIHOOD, bias=-2.32),
    "use": replace(_LIKELIHOOD, bias=-2.32),
}
_CLEAR_WORDS_FOREIGN = 0.6
_LIKELIHOOD_BY_MEANING = Likelihood(nearest=10.7, bias=-2.67)
"""Of a question in another language, whose words may stand in no entry that answers it."""
_LIKELIHOODS_BY_MEANING = {"use": Likelihood(nearest=42.7, bias=-10.8)}


def across_languages(policy: Policy) -> Policy:
    """The policy for a question in another language, few of whose words stand in what answers it.

    Where most of them do stand there, as in texts of that language, nothing changes.
    """
    return replace(policy, clear_words=_CLEAR_WORDS_FOREIGN)


def likelihoods(identity: str, *, across: bool) -> tuple[Likelihood, ...]:
    """What tells the chance of hits: the highest of them counts.

    across: Whether the question is in another language, and the encoder was made for many.
    """
    usual = _named(_LIKELIHOODS, identity, _LIKELIHOOD)
    if not across:
        return (usual,)
    return usual, _named(_LIKELIHOODS_BY_MEANING, identity, _LIKELIHOOD_BY_MEANING)


NOTEBOOK = Policy(meaning=0.5, words=0.5, duplicate=1.0)
"""Entries of the notebook: what two commits say alike is still two entries."""

NOTEBOOK_POOL = 2
"""Candidates of each of the notebook's two questions, for each hit that is asked for."""

NOTEBOOK_POOL_MOST = 20

NOTEBOOK_MOST = 100
"""The most entries that one search of the notebook shows, unless a setting says otherwise."""

NOTEBOOK_CHUNKS = 4
"""Chunks of an entry that are encoded at the question; what follows has the index's cosine."""

NOTEBOOK_VECTORS = 8192
"""Vectors of entries' parts that a process keeps, 12 MB: most entries are asked about again."""


class TwoQuestionWeights(Struct, frozen=True, kw_only=True):
    """How the notebook's search weighs its two questions, and how much newness counts.

    Args:
        context_weight: Of the cosine of the work context in the combined one.
        content_weight: Of the cosine of the content.
        half_life_days: After so many days half of an entry's salience is left.
        minimum_salience: What is left of it in the end.
        raised: Added to the least combined cosine for an entry of the least salience.
        fresh: Weight of salience in the order.
        words: Weight of matched words in the order.

    Source: the notebook's design for the first four. `fresh` equals `raised`, so that age never
    outweighs a cosine that is 0.1 higher. `words` is about the cosine of a nearest entry, so that
    words and meaning weigh alike, as in recall: docs/retrieval.md.
    """

    context_weight: float = 0.5
    content_weight: float = 0.5
    half_life_days: float = 30.0
    minimum_salience: float = 0.1
    raised: float = 0.1
    fresh: float = 0.1
    words: float = 0.6


NOTEBOOK_FLOOR = 0.15
"""Combined cosine under which a hit that shares no word is hidden; docs/notebook-reference.md."""

PRIVATE = Policy(standing=STANDING_FACTOR)

CHRONICLE = Policy(duplicate=1.0)
"""Log lines differ by a version or a name: only equal ones are the same."""

CHRONICLE_FLOOR = 0.2
"""Cosine under which a log line that shares no word with the question is not shown."""

TIMELINE = Policy(
    meaning=0.5,
    words=0.5,
    timed=0.1,
    named=1.1,
    own=1.1,
    inside=1.5,
    fitting=1.15,
    lent=True,
    weighing=replace(WEIGHING, b=0.85, shortest=60),
)
"""Raw entries, turns of conversations and the rollups of all levels together; priors as recall's.
A rollup of the span that was asked about is what a question to a span is after, and holds more
words than one entry."""

TIMELINE_FLOOR = 0.2
"""Cosine under which what shares no word with the question is not shown, as in chronicle."""

MEMORY = Policy(
    meaning=0.5,
    words=0.5,
    timed=0.1,
    inside=1.5,
    duplicate=2.0,
    recent=0.15,
    recent_days=14.0,
    standing=STANDING_FACTOR,
)
"""A user's memory: recent entries first among like ones (source: memory design, section 5), and
what a question for a time prefers, as in recall. Two records that say the same are two: a thing to
do that is done, and one that is not."""

MEMORY_FLOOR = 0.35
"""Cosine under which a record that shares no word with the question is not shown."""

MEMORY_K = 8
"""Hits of one search of a user's memory."""

MEMORY_K_MOST = 100

MEMORY_PER_KIND = 5
"""Hits of one kind where a search asks to be diverse."""

MEMORY_TODO_POOL = 4
"""Hits looked at for each that is shown, where open to-dos are to stand before those done."""

MEMORY_TOKENS = 1200
"""Tokens of all snippets of one search."""

MEMORY_TOKEN_CHARACTERS = 16
"""The most characters that one token of a snippet counts for."""

PREFERRED_KINDS: Mapping[Intent, tuple[PreferredKind, ...]] = {
    "planning": (
        PreferredKind(kind="todo", factor=1.25),
        PreferredKind(kind="message", factor=1.15, fades=True),
    ),
    "journaling": (
        PreferredKind(kind="journal", factor=1.25, fades=True),
        PreferredKind(kind="gratitude", factor=1.15, fades=True),
    ),
}
"""What an intent prefers: to-dos, then recent messages; recent journals, then gratitude."""

MISHEARD = PreferredKind(kind="message", factor=1.25, within_days=1.0)
"""Where something may have been misheard: messages of the last 24 hours count for as much as a kind
that an intent prefers. Source of the day: memory design, section 9; it leans, and cuts nothing.
Why: docs/decisions/0184-what-may-be-misheard-leans-to-the-last-day.md."""

_LEVELS = (
    (timedelta(days=300), 5, "yearly_rollup"),
    (timedelta(days=27), 4, "monthly_rollup"),
    (timedelta(days=6), 3, "weekly_rollup"),
    (timedelta(hours=20), 2, "daily_rollup"),
    (timedelta(hours=1), 1, "hourly_rollup"),
)


def fitting_level(interval: Interval | None) -> int | None:
    """The level whose periods fill a span, by its number: months for five weeks; None for none."""
    if interval is None or interval.start is None or interval.end is None:
        return None
    length = interval.end - interval.start
    return next((level for least, level, _ in _LEVELS if length >= least), None)


TIMELINE_ENTRIES = replace(TIMELINE, lower_kinds=tuple((kind, 1.0) for _, _, kind in _LEVELS))
"""Where no summary is asked for: of an entry and a summary of it the entry is shown."""


def fitting_kinds(interval: Interval | None) -> tuple[str, ...]:
    """The kind of entry that fits a span, as `Doc.kind` has it."""
    level = fitting_level(interval)
    return tuple(kind for _, each, kind in _LEVELS if each == level)


_SAME_THING = 0.5


def is_same_thing(hit: Hit) -> bool:
    """Whether a log line is near enough to count for "how many times", whatever else was found.

    Its cosine is 0.5 or more. (One that bears every word of the question counts anyway.)
    """
    return hit.similarity is not None and hit.similarity >= _SAME_THING


def holds_all_same(hits: Sequence[Hit], limit: int) -> bool:
    """Whether the best `limit` hits hold every log line that is the same thing by its cosine.

    What was cut scored less than the last of them; a line of that cosine scores no less than its
    share by meaning, were the nearest line's cosine 1.
    """
    if all(hit.similarity is None for hit in hits):
        return True  # words alone were asked
    near = sum(1 + len(hit.also) for hit in hits if is_same_thing(hit))
    least = CHRONICLE.meaning * _SAME_THING / CHRONICLE.max_score(names_time=False)
    return near < CHRONICLE.pool(limit) and (len(hits) < limit or hits[-1].score < least)
