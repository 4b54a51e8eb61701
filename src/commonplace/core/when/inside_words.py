"""The words around a time in a question, and the kinds of time they let stand (`inside.py`).

Holds no rule of its own: which kind is said with which preposition, and what spoils it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from commonplace.core.when.days import COUNT, MONTHS
from commonplace.core.when.feasts import FEAST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Kind: TypeAlias = Literal[
    "shaky",  # last minute, this may: more often no time
    "clock",  # 9am
    "number",  # 2025, 2026-11, week 46
    "range",  # monday to friday
    "dated range",  # nov 1 to nov 15
    "rolling",  # the last 3 weeks
    "ago",  # 3 days ago, a while back
    "relative day",  # last friday, 9am yesterday
    "relative",  # yesterday, last week, recently
    "iso day",  # 2026-11-03
    "day",  # nov 3
    "dated",  # spring 2025, monday morning, early november
    "listed",  # june and july 2022, friday and monday
    "feast",  # christmas, easter
    "weekend",
    "weekday",
    "span",  # october, q3, winter
    "bare",  # any other
]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WEEKDAYS = _set("monday tuesday wednesday thursday friday saturday sunday")
_DAYS = _WEEKDAYS | _set("tue tues wed weds thu thur thurs fri")
_SEASONS = _set("spring summer autumn fall winter")
FEASTS = _set("christmas xmas easter thanksgiving halloween valentine valentines")
ADVERBS = _set("recently lately")
PLURALS = _set("minutes hours days weeks weekends months quarters years")
UNITS = PLURALS | _set("minute hour day week weekend month quarter year")
TIME_WORDS = (
    _DAYS
    | _SEASONS
    | UNITS
    | frozenset(MONTHS)
    | _set("morning afternoon evening night noon midnight")
    | _set("today yesterday tomorrow tonight now ago last next")
)
"""Beside a phrase: it may be a part of a longer one that is not understood as a whole."""

HOMONYMS = _set("may march mar april june august jan spring fall sun sat mon now")
"""Alone they are a name, a verb or a number as often as a time."""
NAMES = _WEEKDAYS | (frozenset(month for month in MONTHS if len(month) > 4) - HOMONYMS)  # noqa: PLR2004  whole names
"""A single word that is a time even where it owns something: monday's standup."""

NAMED_SPANS = _set("q1 q2 q3 q4 summer autumn winter")
"""The same of spans that are no month."""

PLACING = _set("in on at during over within throughout around")
BOUNDS = _set("since before after until till between")
LEADS = PLACING | BOUNDS | _set("of from for by")
OPENERS = (
    LEADS
    | TIME_WORDS
    | _set("the a an one two three four five six seven eight nine ten eleven twelve couple half")
    | _set("this past previous q1 q2 q3 q4 early earlier mid late beginning start middle end")
    | _set("first second third fourth 1st 2nd 3rd 4th")
    | _set("about roughly approximately nearly almost few several some sometime quite many not")
    | _set("recent new")
    | ADVERBS
    | FEASTS
)
CLOSERS = (
    TIME_WORDS
    | ADVERBS
    | FEASTS
    | _set("mon sat sun far date am pm a.m p.m mins min hrs secs sec eve back")
)

# Before a phrase.
NOT_LIKE_IT = _set(
    "not nor except excluding besides but than like unlike as without versus vs against"
)
NOT_BEFORE = NOT_LIKE_IT | _set(
    "a an the my our your his her their its every each any some no which whose another other "
    "about regarding concerning by to with around almost nearly roughly approximately circa least "
    "most called named titled labelled labeled version tag revision"
)
"""They make it a name, a topic, a side of a comparison, or only near; so do prepositions."""
NOT_OF_IT = _set("due expire expires expiring scheduled planned born deadline")
"""The time is the thing's, not that of what was written about it."""
COMPARED = _set("compared relative similar back up due prior according difference gap choose")
NOT_BEFORE_LEAD: Mapping[str, frozenset[str]] = {
    "of": _set("instead because ahead out outside short independent regardless"),
    "from": UNITS
    | _set("apart aside away far different start starts starting started beginning change changed")
    | _set("changes recover recovered do did done work works worked working"),
    **dict.fromkeys(
        ("before", "after", "until", "till"),
        UNITS | _set("just shortly right soon long immediately directly"),
    ),
    "between": COMPARED,
}
NOT_ADVERBS = _set("how more less so too very")
"""Before recently: they make a measure of it."""
COUNTED = re.compile(
    r".*[0-9].*|(?:.*-)?(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
    r"|.*(?:teen|ty|hundred|thousand|million|dozen)s?|half|few|quarter|couple|of|more|fewer"
)
"""Before weeks ago: a number that is not understood."""
SUBJECTS = _set("i we you he she it they")

# Behind a phrase.
SOFT = SUBJECTS | _set(
    "there that the a an my our your his her their its this these those did do does was were is "
    "are am have has had been would could should might will in on at with to for from about by "
    "and or but because when where why how what who which if while so as via after before during "
    "since without regarding concerning around near not only again then too also until till between"
)
"""They begin something else, so that the phrase is not the first half of a name."""
NARROWING = _set("of in on at with to for from before after during since as until till")
"""The last week of school, the last month before the release: not the week or month till now."""
JOINS = _set("and or to till until through - \u2013 \u2014 & /")
DASHES = _set("- \u2013 \u2014")
AND_MORE = _set("so earlier later before after since beyond onward onwards previously")
GOES_ON = _set("until till through onward onwards forward")

WENT: Mapping[tuple[str, str], frozenset[str]] = {
    ("how", "did"): _set("go look turn end"),
    ("how", "does"): _set("look"),
    ("how", "is"): _set("going looking"),
    ("how", "was"): SOFT,
    ("how", "has"): _set("been gone"),
    ("what", "was"): _set("like"),
}
"""How a time itself is asked about: the two words before, and those that may stand behind."""

AHEAD = _set("should shall will must")
"""Anywhere: what is asked for may be written before the time it names."""

OWN_ARTICLE = re.compile(
    r"the (?:(?:last|past) (?:\S+ )?(?:minute|hour|day|week|month|quarter|year)s?"
    r"|day before yesterday|other day|weekend|(?:spring|summer|autumn|fall|winter)\b.*|.+ of .+)"
)
"""Where `the` belongs to the time; elsewhere it makes it a thing: the today page, on the monday."""

_MONTH = rf"\b(?:{'|'.join(MONTHS)})\b"
_CLOCK = r"(?:[0-9]{1,2}(?::[0-9]{2}){0,2} ?(?:[ap]\.?m)?|noon)"
_TO = "(?:and|to|until|till|through)"
_WEEKDAY = rf"(?:{'|'.join(sorted(_DAYS))})"
_NAMES = (_WEEKDAY, _MONTH, "q[1-4]", f"(?:{'|'.join(sorted(_SEASONS))})")
_OF_YEAR = r"(?: (?:of )?(?:[0-9]{4}|(?:last|this) year))?"
_TWO = "|".join(rf"(?:the )?{x}{_OF_YEAR} (?:and|or) {x}{_OF_YEAR}" for x in _NAMES)
_PATTERNS: Sequence[tuple[str, Kind]] = (
    (r"(?:the )?last (?:minute|second)|this (?:may|march|mar|fall|sat|sun|mon)", "shaky"),
    # "did I get up early last month"
    (r"(?:early|late) (?:last|this) .+", "shaky"),
    (r".+ week of .+", "dated"),
    (_TWO, "listed"),
    (FEAST, "feast"),
    (rf"(?:{FEAST}|{'|'.join(_NAMES[1:])}) (?:of )?(?:last|this) year", "dated"),
    ("recently|lately|the other day", "relative"),
    (rf"{_CLOCK}(?: {_TO} {_CLOCK})?", "clock"),
    (rf"[0-9]{{4}}(?: (?:{_TO}|or) [0-9]{{4}})?|[0-9]{{4}}-[0-9]{{2}}|week [0-9]+", "number"),
    (rf"(?=.*(?:{_MONTH}|[0-9]-)).*[0-9].* {_TO} .*", "dated range"),
    (rf".+ {_TO} .+", "range"),
    (rf"the (?:last|past) .+|(?:last|past) {COUNT} .+|(?:past|recent) .+", "rolling"),
    (r".+ (?:ago|back)", "ago"),
    (rf"(?:last|this|past|previous) {_WEEKDAY}(?: .+)?", "relative day"),
    (rf"{_WEEKDAY}(?: of)? (?:last|this|previous) week", "relative day"),
    (r"(?:noon|[0-9].*) (?:today|yesterday)", "relative day"),
    (r"(?:last|this|previous|earlier) .+", "relative"),
    (r"(?:.+ )?(?:today|yesterday|tonight|so far|to date)(?: .+)?", "relative"),
    (r"[0-9]{4}-(?:[0-9]{2}|w[0-9]{2})-[0-9].*", "iso day"),
    (rf".*{_MONTH} (?:the )?[0-9]{{1,2}}(?:[^0-9].*)?", "day"),
    (rf".*\b[0-9]{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}.*", "day"),
    (rf".+[0-9]{{4}}|[0-9]{{4}}.+|{_WEEKDAY} .+|(?:early|mid|late)[ -].+|.+ of .+", "dated"),
    (r"(?:the )?weekend", "weekend"),
    (_WEEKDAY, "weekday"),
    (rf"(?:the )?(?:{_MONTH}|q[1-4]|{'|'.join(_SEASONS)})", "span"),
)
_KINDS: Sequence[tuple[re.Pattern[str], Kind]] = [
    (re.compile(pattern), kind) for pattern, kind in _PATTERNS
]

_Kinds: TypeAlias = frozenset[Kind]


def _kinds(*kinds: Kind) -> _Kinds:
    return frozenset(kinds)


_RELATIVE: _Kinds = _kinds("rolling", "ago", "relative day", "relative")
_DATED: _Kinds = _kinds("iso day", "day", "dated range", "dated")
_BARE: _Kinds = _kinds("weekend", "weekday", "span")
_SPANS: _Kinds = _kinds("range", "dated range")
RANGES: _Kinds = _SPANS | _kinds("listed")
_CLOCK_ONLY: _Kinds = _kinds("clock")
_SHAKY: _Kinds = _kinds("shaky")
# `on yesterday` is never said: that preposition belongs to what was done.
_AT: _Kinds = _kinds("rolling", "ago", "relative day", "weekend", "listed", "feast") | _DATED
_IN: _Kinds = _kinds("number", "span") | _SHAKY | _AT
_ON: _Kinds = _kinds("weekday") | _AT
_WITHIN: _Kinds = _kinds("rolling", "relative day", "relative", "weekend")
_OVER: _Kinds = _kinds("dated", "span", "listed", "feast") | _WITHIN
AS_OF: _Kinds = _kinds("iso day", "day")
_BOUND: _Kinds = _kinds("number", "range", "bare", "feast") | _RELATIVE | _DATED | _BARE
SAID_WITH: Mapping[str, _Kinds] = {
    "": _RELATIVE | _DATED,
    "in": _IN,
    "on": _ON,
    "at": _AT,
    "during": _IN | _ON | _RELATIVE,
    "throughout": _IN | _RELATIVE,
    "within": _WITHIN | _SHAKY,
    "over": _OVER,
    "around": _kinds("feast", "ago", "relative", "dated"),
    # The deadline of nov 3 is no time of an entry.
    "of": _RELATIVE,
    # What was so by a day, or as of one, may be written on it.
    "by": AS_OF,
    # `from monday` is of Monday or since Monday.
    "from": _RELATIVE | RANGES,
    "for": _kinds("rolling"),
    "since": _BOUND | _CLOCK_ONLY | _SHAKY,
    "between": RANGES,
    **dict.fromkeys(("before", "after", "until", "till"), _BOUND),
}
"""Which kinds are said with which preposition, and without any."""
SAID_ALONE: _Kinds = _kinds("number") | _RELATIVE | _DATED | _BARE | _SPANS | _CLOCK_ONLY
"""What is a time where the question holds nothing else."""
SUBJECT_KINDS: _Kinds = _RELATIVE | _kinds(
    "number", "iso day", "dated", "feast", "weekend", "weekday", "span"
)
"""What may be asked about itself: how did october go."""
ENDING: _Kinds = _kinds("day", "dated", "dated range")
"""What is only read at an end of the question or of a clause, where it has no preposition."""


def kind_of(core: str) -> Kind:
    """What kind of time a phrase would be, without its preposition."""
    return next((kind for pattern, kind in _KINDS if pattern.fullmatch(core)), "bare")
