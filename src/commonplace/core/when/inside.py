"""A time named inside a question ("why did we leave Postgres last spring"), read out of it.

Never guesses: what may as well be a name, a number, a topic or one of two times stays where it is.

A phrase is read where a time would stand: after a preposition that goes with it, or alone; at an
end of the question, or before punctuation or a word such as `did` or `about`.

| inside a question | |
|---|---|
| last spring, yesterday, this week, 3 days ago, nov 3 | read alone |
| october, monday, q3, week 46, 2025, easter | read after their preposition (`in`, `on`, `since`) |
| as of 27 march 2022, by november 7 | of that day, but vague: it is so on others too |
| in june and july 2022, in 2019 or 2020, on monday and tuesday | read: the span that holds both |
| over the summer, over easter, around christmas, first quarter of 2022 | read |
| a few days ago, a while back, years ago, recently, the other day | read, but vague |
| about a week ago, around 3 days ago | read with their about or around, but vague |
| how did october go, how was last week, how is this year going | read: the time is asked about |
| yesterday's bug, monday's standup | read; the rest keeps the thing |
| the bug from yesterday, the outage of last week | read; `from monday` may be since then: left |
| 9am | read with its day, and after since; `at 9am` may be every day's: left |
| the recently viewed page, how recently, until recently, christmas card | no time of it: left |
| the today page, in march madness, in spring, at the last minute | names: left |
| about yesterday, for last week, than last year | topics: left |
| on nov 3 and 5, a week ago today, twenty years ago | not wholly understood: left |
| in october, and again on nov 3 | two times: left; of a plain and a vague one the plain is read |
| in 2030, what should I do today | no time that has been: left |
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import Invalid
from commonplace.core.text import with_plain_apostrophes
from commonplace.core.when.days import MONTHS
from commonplace.core.when.feasts import FEAST
from commonplace.core.when.inside_words import (
    ADVERBS,
    AHEAD,
    AND_MORE,
    AS_OF,
    BOUNDS,
    CLOSERS,
    COMPARED,
    COUNTED,
    DASHES,
    ENDING,
    FEASTS,
    GOES_ON,
    HOMONYMS,
    JOINS,
    LEADS,
    NAMED_SPANS,
    NAMES,
    NARROWING,
    NOT_ADVERBS,
    NOT_BEFORE,
    NOT_BEFORE_LEAD,
    NOT_LIKE_IT,
    NOT_OF_IT,
    OPENERS,
    OWN_ARTICLE,
    PLACING,
    PLURALS,
    RANGES,
    SAID_ALONE,
    SAID_WITH,
    SOFT,
    SUBJECT_KINDS,
    SUBJECTS,
    TIME_WORDS,
    WENT,
    Kind,
    kind_of,
)
from commonplace.core.when.phrases import LONGEST_PHRASE, parse_named
from commonplace.core.when.vague import in_plain_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.values import Interval

LONGEST_QUESTION = 100
"""In words. A longer text is a statement, not a question, and stays as it is."""

_LONGEST_TIME = 10


class FoundWhen(Struct, frozen=True, kw_only=True):
    """A question and the time read out of it.

    Attributes:
        text: The question without its time words; blank where it has no others; as it was where no
            time is read.
        phrase: The words read, as written.
        interval: What they name; None where none is read.
        vague: Whether its bounds are a guess (`a few days ago`), by which nothing may be cut.
        feast: The name of the feast in the phrase: entries are written about it, as they are not of
            a date.
    """

    text: str
    phrase: str = ""
    interval: Interval | None = None
    vague: bool = False
    feast: str = ""


def find_when(text: str, *, now: datetime, zone: tzinfo) -> FoundWhen:
    """The one past time that a question names, and the question without it. now: aware."""
    words = text.split()
    if len(words) > LONGEST_QUESTION:
        return FoundWhen(text=text)
    tokens = _tokens(words)
    found = list(_times(tokens, now, zone))
    # "the cake she made recently, in May": the plain time says more.
    times = [each for each in found if each[0].plain is None] or found
    if len(times) != 1:
        return FoundWhen(text=text)
    (phrase, interval), *_ = times
    first = phrase.first - phrase.is_as_of
    running = interval.end is None or interval.end > now
    if _is_part(phrase) or (running and any(token.word in AHEAD for token in tokens)):
        return FoundWhen(text=text)
    feast = re.search(FEAST, phrase.core)
    return FoundWhen(
        text=" ".join([*words[:first], *words[phrase.after :]]).strip(" ,;:"),
        phrase=" ".join(words[first : phrase.after]).rstrip(".,;:?!"),
        interval=interval,
        vague=phrase.plain is not None or phrase.is_as_of or phrase.lead == "by",
        feast=feast[0] if feast else "",
    )


class _Token(Struct, frozen=True, kw_only=True):
    """A word in lower case, without what closes or owns; what did so; whether it is quoted."""

    word: str
    mark: str
    owning: bool
    quoted: bool


def _tokens(words: Sequence[str]) -> list[_Token]:
    tokens = [_token(word) for word in words]
    return [
        # New year's and valentine's are names: the day owns nothing.
        replace(token, owning=False)
        if token.word == "valentine" or (before.word, token.word) == ("new", "year")
        else token
        for before, token in zip([_token(""), *tokens], tokens, strict=False)
    ]


def _token(written: str) -> _Token:
    text = with_plain_apostrophes(written.lower())
    bare = text.rstrip(".,;:?!")
    owning = bare.endswith("'s")
    word = bare.removesuffix("'s")
    quoted = word != word.strip("\"'`\u2018\u201c\u201d\u00ab\u00bb()[]{}<>*_")
    return _Token(word=word, mark=text[len(bare) :], owning=owning, quoted=quoted)


def _closes(token: _Token) -> bool:
    """Whether a sentence or a clause may end here; the dot of `Nov.` and `p.m.` ends none."""
    return bool(token.mark) and not (
        token.mark == "." and (token.word in MONTHS or token.word.endswith(".m"))
    )


class _Phrase(Struct, frozen=True, kw_only=True):
    """The tokens [first, after) of a question, looked at as a time.

    Attributes:
        lead: The preposition it begins with, if any.
        core: The rest of it in words.
    """

    tokens: Sequence[_Token]
    first: int
    after: int
    lead: str
    core: str

    @property
    def words(self) -> str:
        """What is parsed: with the preposition where it says how wide, or which side."""
        keeps = self.lead in BOUNDS | {"around"} or re.search(FEAST, self.core)
        return f"{self.lead} {self.core}" if self.lead and keeps else self.core

    @property
    def plain(self) -> str | None:
        """The plain phrase that a vague one stands for."""
        with suppress(Invalid):
            return in_plain_words(self.words)
        return None

    @property
    def is_as_of(self) -> bool:
        """Whether it says as of when something is so."""
        return (self.before(), self.lead) == ("as", "of")

    @property
    def alone(self) -> bool:
        return self.first == 0 and self.after == len(self.tokens)

    @property
    def owning(self) -> bool:
        return self.tokens[self.after - 1].owning

    @property
    def ends(self) -> bool:
        """Whether nothing, or punctuation, stands behind."""
        behind = self.behind()
        return not behind or _closes(self.tokens[self.after - 1]) or behind in DASHES

    def before(self, back: int = 1) -> str:
        """The word so many places before; none over punctuation."""
        at = self.first - back
        if at < 0 or any(_closes(token) for token in self.tokens[at : self.first]):
            return ""
        return self.tokens[at].word

    def behind(self, on: int = 1) -> str:
        """The word so many places behind."""
        at = self.after + on - 1
        return self.tokens[at].word if at < len(self.tokens) else ""


def _times(
    tokens: Sequence[_Token], now: datetime, zone: tzinfo
) -> Iterator[tuple[_Phrase, Interval]]:
    """Each phrase that stands as a time does, the longest at its place, and what it names."""
    first = 0
    while first < len(tokens):
        for after in range(min(first + _LONGEST_TIME, len(tokens)), first, -1):
            phrase = _phrase(tokens, first, after)
            interval = _interval(phrase, now, zone) if phrase else None
            if phrase and interval:
                yield phrase, interval
                first = after
                break
        else:
            first += 1


def _phrase(tokens: Sequence[_Token], first: int, after: int) -> _Phrase | None:
    """The tokens as one phrase; None where they cannot be one."""
    own = tokens[first:after]
    opener, closer = own[0].word, own[-1].word
    if opener.split("-")[0] not in OPENERS and not opener[:1].isdigit():
        return None
    if closer.split("-")[-1] not in CLOSERS and not any(sign.isdigit() for sign in closer):
        return None
    if any(token.quoted for token in own):
        return None
    if any(token.owning or (_closes(token) and token.mark != ",") for token in own[:-1]):
        return None
    lead = opener if opener in LEADS and len(own) > 1 else ""
    core = " ".join("to" if token.word in DASHES else token.word for token in own[bool(lead) :])
    if len(core) > LONGEST_PHRASE:
        return None
    return _Phrase(tokens=tokens, first=first, after=after, lead=lead, core=core)


def _interval(phrase: _Phrase, now: datetime, zone: tzinfo) -> Interval | None:
    """What the phrase names where it stands; None where it is no time, or one that has not been."""
    kind = kind_of(phrase.core)
    stands = _is_said(phrase, kind) and _follows(phrase, kind) and _is_closed(phrase, kind)
    if not (stands or _is_subject(phrase, kind)) or _is_measured(phrase):
        return None
    with suppress(Invalid):
        read = parse_named(phrase.plain or phrase.words, now=now, zone=zone)
        begun = read.start is None or read.start < now
        ahead = phrase.lead == "before" and read.end is not None and read.end > now
        return read if begun and not ahead else None
    return None


def _is_measured(phrase: _Phrase) -> bool:
    """Whether the word before makes a measure of it: how recently, twenty years ago."""
    if phrase.core in ADVERBS:
        return phrase.before() in NOT_ADVERBS
    is_plural = phrase.core.partition(" ")[0] in PLURALS
    return is_plural and COUNTED.fullmatch(phrase.before()) is not None


def _is_said(phrase: _Phrase, kind: Kind) -> bool:
    """Whether a time of this kind is said with its preposition, or without any."""
    core = phrase.core
    if core.startswith("the ") and not OWN_ARTICLE.fullmatch(core):
        return False
    if phrase.lead:
        # "choose redis over may", but "in may"; "what did I hear of recently".
        names = HOMONYMS if phrase.lead == "over" else {"spring", "sun", "sat", "mon"}
        kinds = AS_OF if phrase.is_as_of else SAID_WITH[phrase.lead]
        return kind in kinds and core not in names | ADVERBS
    if phrase.alone:
        return kind in SAID_ALONE and not (core in HOMONYMS or re.fullmatch("[0-9]{4}", core))
    if phrase.owning and core in NAMES:
        return True
    # "did we ship this fall", but not "why did this fall".
    if core == "this fall":
        return phrase.ends and phrase.before() not in SOFT | {"made"}
    return kind in SAID_WITH[""]


def _follows(phrase: _Phrase, kind: Kind) -> bool:
    """Whether the words before let the phrase be the time of what is asked."""
    lead, word, earlier = phrase.lead, phrase.before(), phrase.before(2)
    if lead:
        # "what did I do from monday" is since then; "from monday to friday" is a span.
        own = (
            frozenset()
            if lead == "from" and kind in RANGES
            else NOT_BEFORE_LEAD.get(lead, frozenset())
        )
        return phrase.is_as_of or word not in NOT_LIKE_IT | NOT_OF_IT | own
    if phrase.owning:
        return word not in NOT_BEFORE | {"on", "for"} | BOUNDS
    if word in {"about", "to", "with"} and phrase.ends:
        # "what about last week", "what did I talk about last week": nothing hangs on the word.
        asks = phrase.tokens[0].word in {"what", "who", "whom", "which"}
        return (asks and earlier not in COMPARED) or earlier == "how"
    if word in SUBJECTS and phrase.core.removeprefix("last ") in HOMONYMS:
        return False
    if word == "time" and earlier in {"this", "that", "same"}:
        return False
    # "what was I working on yesterday": a preposition of what was done.
    dangles = LEADS - BOUNDS if phrase.core in ADVERBS else {"in", "on", "at"}
    dangling = word in dangles and kind == "relative"
    return dangling or word not in NOT_BEFORE | NOT_OF_IT | LEADS


def _is_closed(phrase: _Phrase, kind: Kind) -> bool:
    """Whether the phrase ends where it ends, and is not the first half of a name."""
    behind = phrase.behind()
    if phrase.owning or phrase.ends:
        return not (phrase.owning and phrase.lead)
    if kind == "ago" or (kind in {"day", "iso day"} and phrase.lead in {"in", "on", "at", "since"}):
        return True
    if kind in ENDING and not phrase.lead:
        return False
    if phrase.core in ADVERBS and phrase.before() in SUBJECTS:
        return True
    if kind == "rolling" and phrase.core.startswith("the ") and behind in NARROWING:
        return False
    return behind in SOFT


def _is_subject(phrase: _Phrase, kind: Kind) -> bool:
    """Whether it is asked how the time itself was: how did october go, how was last week."""
    core, asked = phrase.core, (phrase.before(2), phrase.before())
    if phrase.lead or phrase.owning or kind not in SUBJECT_KINDS or asked not in WENT:
        return False
    # "how did april go" asks for a person as often as for a month.
    if kind in {"span", "weekday"} and core not in NAMES | NAMED_SPANS:
        return False
    if core.startswith("the ") and not OWN_ARTICLE.fullmatch(core):
        return False
    return phrase.behind() in WENT[asked] or (asked == ("how", "was") and phrase.ends)


def _is_part(phrase: _Phrase) -> bool:
    """Whether the words around belong to the time too, so that it is understood only in part."""
    tokens, first, kind = phrase.tokens, phrase.first, kind_of(phrase.core)
    behind, further = phrase.behind(), phrase.behind(2)
    is_month = not phrase.lead and phrase.core.split()[0] in MONTHS
    if is_month and phrase.before().rstrip("stndrh").isdigit():
        return True  # of "by 7 november, 2022" the month alone, but not of "version 2 in november"
    if behind in TIME_WORDS or (behind in GOES_ON and phrase.lead != "since"):
        return True
    if phrase.lead == "from" and behind in {"on", "and", "to"}:
        return True
    if behind in JOINS:
        a_day = kind == "day" and further[:1].isdigit()
        a_year = kind == "number" and re.fullmatch("[0-9]{4}", further)
        near = {phrase.behind(on) for on in (2, 3, 4)}
        if a_day or a_year or further in AND_MORE or near & (TIME_WORDS | FEASTS):
            return True
    nearest = tokens[first - 1].word if first else ""
    if nearest in JOINS:  # two or 3 days ago, monday and on tuesday
        return kind == "ago" or any(
            token.word in TIME_WORDS | FEASTS for token in tokens[max(0, first - 4) : first - 1]
        )
    return phrase.lead not in PLACING | {"of"} and nearest in TIME_WORDS - PLURALS
