"""What is done to text everywhere alike: folding, query terms, bigrams for CJK, excerpts, hashes.

Pure functions over strings; never reads a file and never raises for any text.
"""

from __future__ import annotations

import re
import unicodedata
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from commonplace.core.digest import sha256_hex
from commonplace.core.stop_words import stop_words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXCERPT_LENGTH = 200
EXCERPT_STEP = 20
# A question is longer only by accident, and each of its words is sought in the whole text.
_EXCERPT_WORDS = 64
_EARLY_WINDOWS = 3000

# Scripts written without spaces between words; runs of them are cut into overlapping pairs.
_CJK = (
    "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff"
)
_CJK_RUN = re.compile(f"[{_CJK}]+")
_WORD = re.compile(r"\w+")
_ASKED_WORD = re.compile(r"(\w+)(\*(?!\S))?")
_EMPHASIS = re.compile(r"(?<!\w)\*(?=\w)([^*]*)\*(?!\S)")
_STEM, _ENDING = 4, 3
"""The shortest beginning and the longest ending of two forms of a word."""
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_HAS_HUMP = re.compile(r"[A-Z](?<=[a-z].)")  # its rarer part first: a quarter of the time
_NAME = re.compile(r"[^\W_]+")
# What is longer was encoded, not named: its parts would be noise.
_LONGEST_NAME = 64
_LONGEST_NEAR = 200
_TIME_WORD = re.compile(
    r"""\b(?:yesterday|today|tonight|tomorrow|ago|since|during|until
    |(?:last|next|this|past|every)\s(?:night|morning|afternoon|evening|day|week|weekend|month|year
        |summer|winter|spring|autumn|fall)
    |(?:mon|tues|wednes|thurs|fri|satur|sun)day
    |january|february|march|april|june|july|august|september|october|november|december
    |(?:19|20)\d\d|\d{1,2}(?::\d\d)?\s?(?:am|pm)|\d{1,2}:\d\d
    |(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?))\b""",
    re.IGNORECASE | re.VERBOSE,
)
_SURROGATE = re.compile("[\ud800-\udfff]")
# The length of a secret at most: the longest are private keys of some kilobytes.
_SECRET_REACH = 8192
_SCREENED_KEPT = 128
_LONG_SECRETS, _LONGEST_SECRET = ("-----BEGIN ", "Private-Lines:"), 20_200
_screen_now: ContextVar[Callable[[str], str] | None] = ContextVar("_screen_now", default=None)


class Term(NamedTuple):
    """A word of a query; prefix: any word that begins so matches."""

    text: str
    prefix: bool = False


def well_formed(text: str) -> str:
    """The text as UTF-8 can hold it: lone surrogates become U+FFFD, as other JSON writers do."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def storable(text: str) -> str:
    """The text as every store can hold it: NUL and lone surrogates become U+FFFD."""
    return well_formed(text).replace("\0", "\ufffd")


def text_hash(text: str) -> str:
    """The text's identity for derived data: the first 16 hex digits of its sha256."""
    return sha256_hex(well_formed(text).encode())[:16]


def fold_name(name: str) -> str:
    """A heading or tag as it is compared: NFKC, no case; `_`, `-` and spaces are one space."""
    return " ".join(
        re.sub(r"[_\-\s]+", " ", unicodedata.normalize("NFKC", name).casefold()).split()
    )


def words_text(text: str) -> str:
    """The text as the word index reads it: NFC, NUL as space, CJK runs as spaced pairs.

    A run's last character stands alone as well: a query of one character is a prefix, and would
    find it in no pair.
    """
    if text.isascii():
        return text.replace("\0", " ")
    composed = unicodedata.normalize("NFC", well_formed(text).replace("\0", " "))
    return _CJK_RUN.sub(
        lambda run: f" {' '.join(dict.fromkeys([*_pairs(run.group()), run.group()[-1]]))} ",
        composed,
    )


def name_parts(text: str) -> str:
    """The words that names in camelCase are made of, spaced: "getUserName" gives get User Name."""
    if _HAS_HUMP.search(text) is None:
        return ""
    names = (name for name in _NAME.findall(text) if len(name) <= _LONGEST_NAME)
    return " ".join(_HUMP.sub(" ", name) for name in names if _HUMP.search(name))


def count_words(text: str) -> int:
    """The words of a text as the word index has them, a pair of CJK characters being one."""
    return len(_WORD.findall(words_text(text)))


def names_time(text: str) -> bool:
    """Whether a text says when or for how long: a day, a month, a year, an hour, a span."""
    return _TIME_WORD.search(text) is not None


def query_terms(query: str, *, limit: int = 64) -> list[Term]:
    """The distinct terms of a question, in its order; stop words go unless nothing else is left.

    Those are of the language that it is asked in. A word that ends in `*` is a prefix, unless
    Markdown stresses it by two; so is a lone CJK character, since the index holds pairs.
    """
    terms: dict[Term, None] = {}
    stops: dict[Term, None] = {}
    composed = unicodedata.normalize("NFC", well_formed(query).replace("\0", " "))
    plain = _EMPHASIS.sub(r"\1", composed)
    if not plain.isascii():
        plain = _CJK_RUN.sub(lambda run: f" {run.group()} ", plain)
    words = _ASKED_WORD.findall(plain)
    stop_words = stop_words_of(word.casefold() for word, _ in words)
    for word, star in words:
        if not word.isascii() and _CJK_RUN.fullmatch(word):
            for pair in _pairs(word):
                terms[Term(pair, prefix=len(pair) == 1)] = None
            continue
        folded = word.casefold()
        is_stop = folded in stop_words and not star
        (stops if is_stop else terms)[Term(folded, prefix=bool(star))] = None
    return list(terms or stops)[:limit]


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


@contextmanager
def screening(screen: Callable[[str], str] | None) -> Iterator[None]:
    """Screen every text that is cut inside this context, since a secret cut in two is not found."""
    # One answer cuts a text several times: to find a part, and to fit a budget.
    token = _screen_now.set(screen and lru_cache(_SCREENED_KEPT)(screen))
    try:
        yield
    finally:
        _screen_now.reset(token)


def shown_now(text: str) -> str:
    """A text as the screen of this context shows it; unchanged where there is none."""
    screen = _screen_now.get()
    return text if screen is None else screen(text)


def _screened(text: str, start: int, end: int) -> str:
    """The whole text, screened where a secret is in this part or lies across one of its ends."""
    screen = _screen_now.get()
    if screen is None:
        return text
    low = max(start - _SECRET_REACH, 0)
    for begins in _LONG_SECRETS:  # a key of many lines may begin farther away
        if (at := text.rfind(begins, max(start - _LONGEST_SECRET, 0), start)) >= 0:
            low = min(low, at)
    around = text[low : end + _SECRET_REACH]
    return text if screen(around) == around else screen(text)


def excerpt(text: str, query: str, length: int = EXCERPT_LENGTH) -> str:
    """The 200 characters of the text that hold most words of the query, `...` where it is cut.

    A window slides by 20 characters; the first of the best wins. Source: private journal design,
    "Excerpt Generation". length: another one of the window.
    """
    if len(text) <= length:
        return text
    start = excerpt_start(text, query, length)
    shown = _screened(text, start, start + length)
    if shown is not text:
        if len(shown) <= length:
            return shown
        text, start = shown, excerpt_start(shown, query, length)
    end = start + length
    return ("..." if start else "") + text[start:end].strip() + ("..." if end < len(text) else "")


def excerpt_start(text: str, query: str, length: int) -> int:
    """Where the excerpt of a text begins; 0 for a text of at most that length."""
    last = max(len(text) - length, 0) // EXCERPT_STEP
    words = list(dict.fromkeys(query.lower().split()))[:_EXCERPT_WORDS]
    lowered = text.lower()
    # No window holds more than all the words: where an early one does, the search ends.
    start, most = _best_window(lowered, words, min(last, _EARLY_WINDOWS), length)
    if most < len(words):
        start, _ = _best_window(lowered, words, last, length)
    return start * EXCERPT_STEP


def _best_window(lowered: str, words: list[str], last: int, length: int) -> tuple[int, int]:
    """The first of the windows 0..last that hold most words, and how many it holds."""
    totals = list(accumulate(_window_gains(lowered, words, last, length)[: last + 1]))
    most = max(totals)
    return totals.index(most), most


def _window_gains(lowered: str, words: list[str], last: int, length: int) -> list[int]:
    """How many more words each window holds than the one before it; windows are numbered 0..last.

    Goes from find to find, since a look at each window takes minutes for a long entry.
    """
    gains = [0] * (last + 2)
    for word in words:
        window = 0
        while window <= last and (at := lowered.find(word, window * EXCERPT_STEP)) >= 0:
            first = max(window, -((length - at - len(word)) // EXCERPT_STEP))
            window = at // EXCERPT_STEP + 1
            after = min(window, last + 1)
            if first < after:
                gains[first] += 1
                gains[after] -= 1
    return gains


def opening(text: str, length: int = 150, sign: str = "...") -> str:
    """The first characters of a text, with a sign where it is cut."""
    if len(text) > length:
        text = _screened(text, 0, length)
    return text if len(text) <= length else text[:length] + sign


def first_words(text: str, length: int = 80) -> str:
    """The beginning of a text on one line, `...` where it is cut; no word of it is broken.

    A text that begins with a longer word is cut inside it. A heading stands apart from what is
    below it.
    """
    text = text.lstrip()
    if len(text) > length:
        text = _screened(text, 0, 4 * length)
    line = " ".join(_HEADED.sub(r"\1 ·", text[: 4 * length + 1]).split())
    if len(line) <= length and len(text) <= 4 * length:
        return line
    return (line[: length + 1].rpartition(" ")[0] or line[:length]) + "..."


def body_of(text: str) -> str:
    """What was written in a Markdown file, without its front matter and headings.

    Where nothing else is in it, the headings.
    """
    body = without_front_matter(text)
    return _HEADING.sub("", body).strip() or body.strip() or text


def with_plain_apostrophes(text: str) -> str:
    """A text with the apostrophe of a keyboard wherever it has the typographic one."""
    return text.replace("\u2019", "'")


def without_front_matter(text: str) -> str:
    """A Markdown file without the block of keys above it."""
    return _FRONT_MATTER.sub("", text, count=1)


_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n.*?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^#{1,6} .*$", re.MULTILINE)
_HEADED = re.compile(r"^(#{1,6} +\S.*)$(?=\s+\S)", re.MULTILINE)


def counted(count: int, one: str, many: str) -> str:
    """How many there are, in words: `1 place`, `1,200 places`."""
    return f"{count:,} {one if count == 1 else many}"


def counted_entries(count: int) -> str:
    """How many entries there are, in words: `1 entry`, `3 entries`."""
    return counted(count, "entry", "entries")


def nearest(name: str, known: list[str]) -> str:
    """The known name most like this one, for a "did you mean"; empty when none is near."""
    import difflib

    if len(name) > _LONGEST_NEAR:  # each letter is compared with each, and none is near
        return ""
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=0.5)), "")


def asked_spans(text: str, about: str) -> list[tuple[int, int]]:
    """Where the words of a question stand in a text, in any of their forms, as [start, end)."""
    asked = query_terms(about) if about else ()
    if not asked:
        return []
    return [
        found.span()
        for found in _WORD.finditer(text)
        if any(_is_form_of(found[0].casefold(), term) for term in asked)
    ]


def _is_form_of(word: str, term: Term) -> bool:
    """Whether a word looks like a term, but for an ending: `deploys` and `deployed`."""
    other = term.text
    if word == other or (term.prefix and word.startswith(other)):
        return True
    same = max(_STEM, max(len(word), len(other)) - _ENDING)
    return len(word) >= same and word[:same] == other[:same]


def json_kind(value: object) -> str:
    """What JSON calls a value, with its article: `a list`, `a string`, `null`."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    kinds = {bool: "a boolean", str: "a string", list: "a list", int: "a number", float: "a number"}
    return kinds.get(type(value), type(value).__name__)


TOKEN_BYTES = 4
"""Bytes of UTF-8 that count as one token: about four letters of English, one sign of Chinese."""


def tokens_in(text: str) -> int:
    """How many tokens a text counts as, rounded up; a lone surrogate counts as one byte."""
    return -(-len(text.encode("utf-8", "replace")) // TOKEN_BYTES)
