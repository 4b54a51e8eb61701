"""Vague times (`recently`, `a few months ago`, `about a week ago`) as wide, plain time phrases.

For a search that leans to a time. Never for one that cuts: where a vague time begins and ends is a
guess, and what a wrong guess cuts away is not missed.

| vague | plain |
|---|---|
| recently, lately | the last 30 days |
| the other day | 14 days ago to yesterday |
| not long ago | the last 2 months |
| a while ago, a while back, some time ago | 365 days ago to 14 days ago |
| a few, several, some weeks ago (or back) | 5 weeks ago to 2 weeks ago |
| the past few weeks, recent weeks | the last 5 weeks |
| weeks ago | 10 weeks ago to 2 weeks ago |
| years ago | until 2 years ago |
| about, around, almost 2 months ago | 60 days ago, a quarter of them more or less |
| about a month ago | 30 days ago, half of them more or less: never less than half a unit |
"""

from __future__ import annotations

import re

from commonplace.core.when.days import COUNT, count_of, one_of

# What each unit is counted in, so that a half of it can be named.
_SIZES = {
    "second": ("seconds", 1),
    "minute": ("seconds", 60),
    "hour": ("seconds", 3600),
    "day": ("days", 1),
    "week": ("days", 7),
    "month": ("days", 30),
    "quarter": ("days", 91),
    "year": ("days", 365),
}
_UNIT = one_of("unit", _SIZES)
_FEW = "a few|few|several"
_ABOUT = re.compile(rf"(?:about|around|roughly|approximately|nearly|almost) {COUNT} {_UNIT}s? ago")
_RULES = tuple(
    (re.compile(pattern), plain)
    for pattern, plain in (
        (r"recently|lately", "last 30 days"),
        (r"the other day", "14 days ago to yesterday"),
        (r"not (?:(?:too|so|that|very) )?long ago", "last 2 months"),
        (r"(?:quite )?a while (?:ago|back)|some ?time ago", "365 days ago to 14 days ago"),
        (rf"(?:{_FEW}|some) {_UNIT}s (?:ago|back)", r"5 \g<unit>s ago to 2 \g<unit>s ago"),
        (rf"(?:the )?(?:(?:last|past) (?:few|several)|recent) {_UNIT}s", r"last 5 \g<unit>s"),
        (r"(?:many )?years ago", "until 2 years ago"),
        (rf"(?:many )?{_UNIT}s ago", r"10 \g<unit>s ago to 2 \g<unit>s ago"),
    )
)


def in_plain_words(text: str) -> str | None:
    """The wide time phrase that a vague one, in lower case, stands for; None for any other text.

    Raises Invalid for a count of 0.
    """
    if found := _ABOUT.fullmatch(text):
        base, size = _SIZES[found["unit"]]
        long = size * count_of(found)
        off = max(-(-size // 2), -(-long // 4))
        return f"{long + off} {base} ago to {max(long - off, 1)} {base} ago"
    for pattern, plain in _RULES:
        if found := pattern.fullmatch(text):
            return found.expand(plain)
    return None
