"""What two entries say of the same thing, and whether the later one says what holds in its place.

Pure, in English words alone: no language model, and nothing is looked up.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from commonplace.core.brief_item import OWN
from commonplace.core.clock import MONTH_NAMES
from commonplace.core.stop_words import STOP_WORDS
from commonplace.core.text import with_plain_apostrophes
from commonplace.core.word_forms import BASES
from commonplace.search import policy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from commonplace.core.values import Doc

# What says that a thing is no more as it was; plain words, as they are looked for.
_CHANGE_WORDS = (
    *("no longer", "no more", "any more", "anymore", "actually", "instead", "rather than"),
    *("in place of", "replace", "replaces", "replaced", "replacing", "moved", "switched"),
    *("migrated", "renamed", "ported", "rewritten", "rewrote", "relicensed", "relocated"),
    *("rescheduled", "postponed", "changed", "raised", "increased", "extended", "prolonged"),
    *("bumped", "dropped", "gave up", "took over", "taken over", "deprecated", "retired"),
    *("turns out", "correction", "was wrong", "from now on", "as of today", "as of this", "now"),
    *("used to", "formerly", "previously", "up from", "down from", "ripped out", "threw out"),
    *("took out", "stopped", "abandoned", "cancelled", "canceled", "removed", "deleted"),
    *("upgraded", "downgraded", "lowered", "reduced", "reached", "went up", "went down"),
    *("rejected", "approved", "is gone", "are gone", "after all", "got rid of"),
    *("from today", "opened", "reopened", "repaired", "shut down"),
    *("these days", "at last", "has become", "once more", "will be", "going to be", "has to"),
    *("have to", "choose", "ordered", "signed up", "again", "elected", "is back", "exchanged"),
    *("swapped", "booked"),
)
_DECISION_WORDS = (
    *("decided", "decision", "settled on", "going with", "went with", "chose", "chosen"),
    *("agreed", "voted", "picked", "hired", "opted for", "went for", "going for"),
)
_PREFERENCE_WORDS = (
    *("prefer", "prefers", "preferred", "want", "wants", "like", "likes", "always", "never"),
    *("please", "keep", "call me", "user", "use", "used", "using"),
)


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words)})\b")


_CHANGES = _any_of(_CHANGE_WORDS)
_DECIDES = re.compile(rf"(?<!\bas ){_any_of(_DECISION_WORDS).pattern}")
"""What decides; "as agreed on Monday" tells of what was decided before."""
_DID = frozenset(x for x in _CHANGE_WORDS if x.endswith("ed") or x == "rewrote")
_GENERAL = _any_of((*_DECISION_WORDS, *_PREFERENCE_WORDS))
_FUNCTION_WORDS = frozenset(
    """
    after before between both down during each every few many may might much must off often other
    out over own shall should since through under until up within
    """.split()
)
"""Words that may stand in any question and are no stop words: "how many", "until when"."""
_NO_SUBJECT = STOP_WORDS.union(_FUNCTION_WORDS, _CHANGE_WORDS, _DECISION_WORDS, _PREFERENCE_WORDS)
"""Words that a text is not about."""
# What asks, plans, doubts, or says that all is as it was.
_OPEN = re.compile(
    r"\?\s*$|\b(?:if|might|maybe|perhaps|should|could|would(?! rather\b)"
    r"|consider(?:ing)?|still"
    r"|whether|wonder|thinking (?:of|about)|looked at|compared|suggests?|to discuss|hopes?"
    r"|goal|(?<!are )(?<!is )(?<!user )asked|ask|idea|as (?:always|before)|no decision|tried"
    r"|nothing (?:has )?changed)\b"
    r"|(?:\bnot|n't) (?:yet )?(?:been )?(?:move|switch|change|migrate|replace|rename)"
)
_ADDS = re.compile(
    r"\b(?:also|as well|additionally|in addition|besides|another|(?:a|one|the) second(?! floor)"
    r"|along with|as we do|next to|goes with|more than one)\b|\btoo\W*$"
)
# What names that which is left: "from Fly.io to", "dropped Redis", "the file is gone".
_LEFT = (
    r"\b(?:from|off|dropp(?:ed|ing)|replac(?:ed?|es|ing)|ripped out|threw out|took(?= the)"
    r"|removed|gave up|given up|abandoned|instead of|rather than|in place of|no longer|not"
    r"|stopped(?: using| buying from)?|got rid of|never|against)\s+((?:[\w.'&-]+\s*){1,4}?)"
    r"(?=[,;:.!]\s|[,;:.!]?$|\b(?:to|with|by|in|for|and|of)\b)"
)
_GONE_WORDS = ("gone", "no more", "deleted", "removed", "cancelled", "wrong", "lost")
_LEFT_OR_GONE = rf"{_LEFT}|((?:[\w'-]+\s+){{1,3}})(?:is|are|was|were) (?:{'|'.join(_GONE_WORDS)})\b"
# Where one thing that is said ends, and the next begins.
_CLAUSE_END = re.compile(
    r"[,;:.!(](?=\s|$)|\b(?:since|because|and|but|so|after|as)\b", re.IGNORECASE
)
_MAKES = re.compile(r"\b(?:bought|built|wrote|written|made|installed|hired|paid)\b")
"""Deeds from which on there is something that was not there before."""
_NEW = re.compile(r"\bnew\s+(\w+)(?:\s+(\w+))?")
_NOT = re.compile(
    r"\b(?:not|never|no|none|without|nothing|nobody|neither|broken|gone|stopped|gave up|given up"
    r"|against|cancelled|rejected|dropped|abandoned)\b|n't\b"
)
_NUMBER_OR_WORD = r"\d+(?:[.,:]\d+)*|\w+"
_WORD = re.compile(_NUMBER_OR_WORD)
_WORD_OR_END = re.compile(rf"{_NUMBER_OR_WORD}|[.!?\n](?=\s|$)")
_SENTENCE_ENDS = frozenset(".!?\n")
_ENDING = re.compile(r"(?<=\w{3})(?:ings?|ed|es|e|s)$")
_PAST, _SHORTEST_PAST = "ed", 5
_NUMBER_WORDS = frozenset(
    "one two three four five six seven eight nine ten eleven twelve twenty thirty".split()
)
_UNIT = re.compile(
    rf"\d(?:[\d.,:]*\d)?\s?(\w+|%)?|\b(?:{'|'.join(sorted(_NUMBER_WORDS))})\s(\w+)", re.IGNORECASE
)
_ARTICLES = frozenset("a an the my our his her their its".split())
# What leads to a value of which one can hold: "is in Linz", "runs on Redis"; not "knows French".
_LEADING = frozenset("is are am be in at on to with by from for as into through".split())
_IS = frozenset("is are was were be been am being has have had get gets got".split())
# Between one of these and a noun a word in "ed" is no verb: "a fixed price".
_BEFORE_NOUNS = _ARTICLES | frozenset("of in on at by to for with".split())
_NO_PAST = frozenset(("left", "need", "feed"))
_STEM = 5
_SLOT, _FRAME = 3, 2
"""The most words in which two statements of one value differ, and the least around them."""
_BEFORE, _AFTER = 16, 9
"""Words before and after a number that are looked at for what it counts."""
_BEGAN = re.compile(
    r"\b(?:(?:start|join|register|enroll|settl|return|transferr|carri|plac|park|stor|mount"
    r"|install)ed|began|brought|hung|put|set|move)\b"
)
"""Deeds from which on someone or something is elsewhere, or with another; "moved" is a change."""
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_DATES = frozenset(_ENDING.sub("", x.casefold())[:_STEM] for x in (*_WEEKDAYS, *MONTH_NAMES))
"""Names that say when, and neither who nor where."""
_PRONOUNS = frozenset("he it she they".split())
_NEWLY = _any_of((*_CHANGE_WORDS, "new", "updated?", "recent", "recently", "further"))


class Statement(Struct, frozen=True, kw_only=True):
    """What a text says, as far as two of them are compared.

    Attributes:
        words: The beginnings of the words that it is about, in their order.
        shapes: Of each of them what it looks like: `0` a number, `A` a name, `a` any other.
        led: Of each of them `1` where a word such as "is", "in" or "with" leads to it, else `0`.
        left: Those of the words that name what is no more.
        changes: Whether it says that something changed.
        decides: Whether it says that something was decided.
        is_open: Whether it asks, plans, doubts or says that all is as it was.
        adds: Whether it says that something comes on top.
        happened: Whether it tells what happened once, and no state.
        did: Whether it begins with what was done, as in "Rewrote the parser".
        denies: Whether it has a word that says no.
    """

    words: tuple[str, ...]
    shapes: str
    led: str
    left: frozenset[str]
    changes: bool
    decides: bool
    is_open: bool
    adds: bool
    happened: bool
    did: bool
    denies: bool

    @property
    def holds(self) -> bool:
        """Whether it says what holds: what changed, a decision, a preference or a state.

        A state is said in few words: of more, no single value could be compared.
        """
        is_state = not self.happened and len(self.words) <= policy.STATEMENT_WORDS
        return not self.is_open and (self.changes or self.decides or is_state)

    @property
    def subject(self) -> frozenset[str]:
        """Its words in no order."""
        return frozenset(self.words)

    @property
    def numbers(self) -> frozenset[str]:
        """Those of its words that are numbers."""
        return self._of_shape("0")

    @property
    def names(self) -> frozenset[str]:
        """Those of its words that are names."""
        return self._of_shape("A")

    def _of_shape(self, wanted: str) -> frozenset[str]:
        pairs = zip(self.words, self.shapes, strict=True)
        return frozenset(word for word, shape in pairs if shape == wanted)


class _Clause(NamedTuple):
    """One thing that a text says.

    Attributes:
        words: What it is about.
        happened: Whether it tells what happened once, and no state.
        makes: Whether from then on there is something that was not there before.
        is_of_it: Whether it begins with "it", or another word for what was named before.
    """

    words: frozenset[str]
    happened: bool
    makes: bool
    is_of_it: bool


@lru_cache(maxsize=policy.STATEMENTS_KEPT)
def read_statement(text: str) -> Statement:
    """What the beginning of a text says."""
    head = _folded_head(text)
    found = _words_of(text[: policy.REPLACING_LENGTH])
    # What stands before such a word takes five times as long to find as the rest: 0.09 ms a text.
    leaving = _LEFT_OR_GONE if any(word in head for word in _GONE_WORDS) else _LEFT
    left = [part for each in re.finditer(leaving, head) for part in each.groups() if part]
    return Statement(
        words=tuple(word for word, *_ in found),
        shapes="".join(shape for _, shape, _ in found),
        led="".join(led for *_, led in found),
        left=frozenset(word for word, *_ in _words_of(" ".join(left))),
        changes=says_change(text),
        decides=_DECIDES.search(head) is not None,
        is_open=_OPEN.search(head) is not None,
        adds=_ADDS.search(head) is not None,
        happened=(did := _begins_with_deed(head)) or _is_past_event(head),
        did=did,
        denies=_NOT.search(head) is not None,
    )


@lru_cache(maxsize=policy.STATEMENTS_KEPT)
def subject_of(text: str) -> frozenset[str]:
    """The subject of `read_statement` alone, which takes a third of its time."""
    return frozenset(word for word, *_ in _words_of(text[: policy.REPLACING_LENGTH]))


def says_change(text: str) -> bool:
    """Whether a text has words that say that something changed, and none that take it back."""
    head = _folded_head(text)
    # Each word by itself first: most texts have none, and a pattern takes ten times as long.
    return (
        any(word in head for word in _CHANGE_WORDS)
        and _CHANGES.search(head) is not None
        and _OPEN.search(head) is None
    )


def _folded_head(text: str) -> str:
    return with_plain_apostrophes(text[: policy.REPLACING_LENGTH].casefold())


def _words_of(text: str) -> list[tuple[str, str, str]]:
    """What a text is about, a word each: its beginning, its shape, and whether it is led to."""
    words = []
    before = ""
    # What is preferred or decided is led to as by "is".
    for word in _WORD.findall(_GENERAL.sub(" is ", _CHANGES.sub(" ", text))):
        folded = word.casefold()
        if folded in _NO_SUBJECT:
            before = before if folded in _ARTICLES else folded
        elif len(word) > 1 or word.isdigit():
            is_number = word[0].isdigit() or folded in _NUMBER_WORDS
            shape = "0" if is_number else "A" if word != folded else "a"
            base = BASES.get(folded, folded)
            stem = folded if word[0].isdigit() else _ENDING.sub("", base)[:_STEM]
            words.append((stem, shape, "1" if before in _LEADING else "0"))
            before = folded
    return words


def _begins_with_deed(head: str) -> bool:
    """Whether the first word of a folded text says what was done to a thing."""
    first = _WORD.search(head)
    return first is not None and first[0] in _DID


def _is_past_event(head: str) -> bool:
    """Whether a folded text has a verb in the past that no "is" stands before."""
    before = ""
    for word in _WORD.findall(head):
        is_regular = word.endswith(_PAST) and len(word) >= _SHORTEST_PAST
        is_past = is_regular or (word in BASES and word not in _IS)
        if is_past and word not in _NO_PAST and before not in _IS and before not in _BEFORE_NOUNS:
            return True
        before = word
    return False


def takes_place(new: Statement, old: Statement, cosine: float | None) -> float:
    """How likely the new one says what holds in place of the old, in [0, 1].

    cosine: Of both texts, on the scale from 0 to 1; None where it is not known.
    """
    both = new.subject & old.subject
    if new.is_open or old.is_open or not both:
        return 0.0
    covered = len(both) / len(old.subject)
    near = covered if cosine is None else (covered + cosine) / 2
    if _leaves(new, old, cosine):
        return max(near, policy.REPLACING_LEAST)
    repeats = new.subject >= old.subject and new.denies == old.denies
    if new.adds or repeats or _are_two_deeds(new, old):
        return 0.0
    if new.changes or new.decides:
        return near if len(both) > 1 or cosine is not None else 0.0
    if new.denies != old.denies and covered >= policy.DENIED_LEAST:
        return near
    return near if _differs_in_value(new, old) else 0.0


def _are_two_deeds(new: Statement, old: Statement) -> bool:
    """Whether both tell what was done once, and the new one names no value that holds since.

    "Rewrote the migration: it was slow" leaves true that somebody measured it; "Moved hosting to
    Hetzner" does not leave true that it was set up on Fly.io.
    """
    names_a_value = bool(new.left) or "1" in new.led or new.denies != old.denies
    return new.did and old.happened and not names_a_value


def _leaves(new: Statement, old: Statement, cosine: float | None) -> bool:
    """Whether the new one names as left what the old one is about, and more of it, or is near."""
    left = (new.left & old.subject) - old.left
    is_most = len(left) > len(old.subject) / 2
    is_near = cosine is not None and cosine >= policy.LEFT_NEAR
    return bool(left) and (is_most or is_near or new.subject & old.subject > left)


def names_answer(says: Statement, asked: frozenset[str]) -> bool:
    """Whether a text has a name or a place beside what is asked about, or nothing beside it.

    "Our landlord raised the rent to 900" does not say who that is.
    """
    parts = zip(says.words, says.shapes, says.led, strict=True)
    rest = [(word, shape, led) for word, shape, led in parts if word not in asked]
    return not rest or any(
        word not in _DATES and (shape == "A" or (shape == "a" and led == "1"))
        for word, shape, led in rest
    )


def share_to_follow(
    new_text: str, old_text: str, asked: frozenset[str], *, asks_name: bool
) -> float | None:
    """Of two that speak of what is asked about, when the new one is taken for what holds.

    Args:
        new_text: What was written later.
        old_text: What was written before.
        asked: The words of the question.
        asks_name: Whether it asks who or where.

    Returns:
        The least of the old one's score that it must have: less where it says itself that it is
        another way; None where no score is enough.
    """
    new, old = read_statement(new_text), read_statement(old_text)
    # To have all words of the question again is to repeat nothing that answers it.
    repeats = _repeats(new, old) and not old.subject <= asked
    if new.is_open or old.is_open or repeats:
        return None
    if max(len(new.words), len(old.words)) > policy.STATEMENT_WORDS:
        return None
    if _names_former(new_text, old.subject, asked):
        return policy.CHANGED_SHARE
    if new.adds:
        return None
    if new.changes or new.decides or _has_new_one(new_text, asked):
        return policy.CHANGED_SHARE
    is_alike = _is_alike(new_text, old_text, asked, asks_name=asks_name)
    return policy.FOLLOWING_SHARE if is_alike else None


def _is_alike(new_text: str, old_text: str, asked: frozenset[str], *, asks_name: bool) -> bool:
    """Whether both answer what is asked: a state, or a deed from which on another one holds."""
    new, old = read_statement(new_text), read_statement(old_text)
    if not new.happened or _states_what_is_asked(new_text, asked):
        # "980 a month" and "due on Friday" answer two questions.
        return bool(new.numbers) == bool(old.numbers)
    if asks_name and _BEGAN.search(_folded_head(new_text)):
        return True
    is_other = bool(old.numbers) and bool(new.numbers - old.numbers)
    return is_other and not _units(new_text).isdisjoint(_units(old_text))


def _names_former(text: str, former: frozenset[str], asked: frozenset[str]) -> bool:
    """Whether a text says something new of what is asked, and in another clause what was.

    "Flour comes from the Rauch mill; Hofer closed" does, of "We buy flour from the Hofer mill".
    """
    clauses = _clauses(text)
    answers = [
        each.words
        for each in clauses
        if (each.makes or not each.happened)
        and each.words & asked & former
        and each.words - asked - former
    ]
    return any(
        each.words is not answer and (each.words & former) - asked - answer
        for answer in answers
        for each in clauses
    )


def _states_what_is_asked(text: str, asked: frozenset[str]) -> bool:
    """Whether one clause of a text tells how that stands, whatever happened in the others."""
    return any(
        not each.happened and each.words - asked and (each.is_of_it or each.words & asked)
        for each in _clauses(text)
    )


def _clauses(text: str) -> list[_Clause]:
    """What a text's beginning says, a clause each."""
    found = []
    for part in _CLAUSE_END.split(text[: policy.REPLACING_LENGTH]):
        head = _folded_head(part)
        first = _WORD.search(head)
        clause = _Clause(
            words=frozenset(word for word, *_ in _words_of(part)),
            happened=_is_past_event(head),
            makes=_MAKES.search(head) is not None,
            is_of_it=first is not None and first[0] in _PRONOUNS,
        )
        found.append(clause)
    return found


def _has_new_one(text: str, asked: frozenset[str]) -> bool:
    """Whether a text calls new what is asked for: "New wifi password: …"."""
    called = " ".join(word for pair in _NEW.findall(_folded_head(text)) for word in pair)
    return any(word in asked for word, *_ in _words_of(called))


def _units(text: str) -> frozenset[str]:
    """What a text counts: the word after each of its numbers, empty for one without."""
    found = _UNIT.findall(text[: policy.REPLACING_LENGTH])
    return frozenset((after or named).casefold() for after, named in found)


def words_at_new_number(new_text: str, old_text: str, asked: frozenset[str]) -> int:
    """How many words of a question stand beside a number that a text calls new.

    Not beside one that the old text has, of the same things. 0 where there is none.
    """
    known = {number for number, _, _ in _numbers_in(old_text)}
    return max(
        (
            len(words & asked)
            for number, words, is_new in _numbers_in(new_text)
            if is_new and number not in known
        ),
        default=0,
    )


@lru_cache(maxsize=policy.STATEMENTS_KEPT)
def _numbers_in(text: str) -> tuple[tuple[tuple[str, str], frozenset[str], bool], ...]:
    """Each number of a text's beginning with what it counts, the words beside, whether it is new.

    What is beside it lies in the same sentence.
    """
    said = _WORD_OR_END.findall(_folded_head(text))
    ends = [-1, *(n for n, word in enumerate(said) if word in _SENTENCE_ENDS), len(said)]
    found = []
    for start, end in pairwise(ends):
        for place in range(start + 1, end):
            word = said[place]
            if word[0].isdigit() or word in _NUMBER_WORDS:
                counted = said[place + 1] if place + 1 < len(said) else ""
                beside = " ".join(said[max(start + 1, place - _BEFORE) : min(end, place + _AFTER)])
                about = frozenset(each for each, *_ in _words_of(beside))
                found.append(((word, counted), about, _NEWLY.search(beside) is not None))
    return tuple(found)


def _repeats(new: Statement, old: Statement) -> bool:
    """Whether the new one says the same again: all of the old in one piece, or part of it."""
    if new.denies != old.denies:
        return False
    if new.subject == old.subject or (new.subject < old.subject and not new.changes):
        return True
    length = len(old.words)
    starts = range(len(new.words) - length + 1)
    return any(new.words[start : start + length] == old.words for start in starts)


def _differs_in_value(new: Statement, old: Statement) -> bool:
    """Whether two statements are the same but for one value: a number, a name, a few words."""
    if new.happened or old.happened:
        return False
    if new.numbers and old.numbers and new.numbers != old.numbers:
        rest = old.subject - old.numbers
        if rest and len(rest & new.subject) / len(rest) >= policy.SAME_BUT_NUMBERS:
            return True
    return _differs_in_one_place(new, old)


def _differs_in_one_place(new: Statement, old: Statement) -> bool:
    """Whether two statements differ in one place alone, by values of which one can hold."""
    a, b = new.words, old.words
    shortest = min(len(a), len(b))
    start = next((n for n in range(shortest) if a[n] != b[n]), shortest)
    rest = shortest - start
    end = next((n for n in range(rest) if a[-1 - n] != b[-1 - n]), rest)
    mine, yours = new.shapes[start : len(a) - end], old.shapes[start : len(b) - end]
    if not 0 < len(mine) <= _SLOT or not 0 < len(yours) <= _SLOT or start + end < _FRAME:
        return False
    if "0" in mine + yours:
        return "0" in mine and "0" in yours
    if not start:
        return {*mine, *yours} == {"A"}
    is_led = new.led[start] == old.led[start] == "1"
    return is_led and (end > 0 or {*mine, *yours} == {"A"} or start >= 2 * _FRAME)


def may_follow(later: Doc, former: Doc) -> bool:
    """Whether an entry may take the place of another: a later one of the same project.

    A repository's or a client's word never comes before what is the owner's own.
    """
    if later.at <= former.at or later.ref == former.ref or later.covers or former.covers:
        return False
    if later.word not in (OWN, former.word):
        return False
    mine, yours = _project_of(later), _project_of(former)
    return not mine or not yours or mine == yours or _is_below(mine, yours)


def _project_of(doc: Doc) -> str:
    """The folder or the section that an entry belongs to; empty for none, and for the user's own.

    Journals name projects in ways of their own: of two journals none is taken for the same.
    """
    if doc.journal == "notebook":
        return f"notebook:{doc.scope.partition('/')[0]}"
    return "" if doc.scope == "user" else doc.scope


def _is_below(one: str, other: str) -> bool:
    """Whether one of two folders lies in the other."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def speaks_of_same(later: Doc, former: Doc, cosine: float | None) -> float:
    """How likely a later entry says what holds in place of a former one, in [0, 1]."""
    if not may_follow(later, former):
        return 0.0
    return takes_place(read_statement(later.own_text), read_statement(former.own_text), cosine)
