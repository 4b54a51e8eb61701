"""Finds secrets of known shapes in a text: the one table of them, each with its kind and source.

Pure, and light: a shape is compiled when a text first holds one of its hints. Knows these shapes
and no others: a random string with neither a known beginning nor a name before it passes.
"""

from __future__ import annotations

import re
from functools import cache

from commonplace.core.shapes.beginnings import BEGINNINGS
from commonplace.core.shapes.names import NAMED
from commonplace.core.shapes.shape import Shape, Span, Value
from commonplace.core.shapes.string_kinds import is_blanked, regex

__all__ = ["SHAPES", "Shape", "Span", "find", "hinted", "undisguised"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SHAPES: tuple[Shape, ...] = (*BEGINNINGS, *NAMED)

_HINTS = [(hint, x) for x, each in enumerate(SHAPES) for hint in each.hints]
_SPLIT = [(hint, x) for hint, x in _HINTS if not SHAPES[x].named and SHAPES[x].is_split]
_WHOLE = [(hint, x) for hint, x in _HINTS if not SHAPES[x].named and not SHAPES[x].is_split]

_FIRST = 3
_ANYWHERE = [
    (hint, x)
    for hint, x in _WHOLE
    if SHAPES[x].before or len(hint) < _FIRST or not hint[0].isalnum()
]
_BY_FIRST: dict[str, list[tuple[str, int]]] = {}
"""The other hints, which a word begins with, by their first three signs: most words have none."""

_NAMED: dict[str, set[int]] = {}
_BY_ROOT: dict[str, list[str]] = {}
"""The hints of names by what is in them: where a text has no `pass`, it has no `passphrase`."""


def _fill() -> None:
    """Put each hint where `hinted` looks for it."""
    for hint, x in _WHOLE:
        if (hint, x) not in _ANYWHERE:
            _BY_FIRST.setdefault(hint[:_FIRST], []).append((hint, x))
    beside: dict[str, str] = {}
    for hint, x in _HINTS:
        if SHAPES[x].named:
            _NAMED.setdefault(hint, set()).add(x)
            beside.setdefault(hint, SHAPES[x].beside)
    roots = {"=", " code", *(hint for hint in _NAMED if not beside[hint])}
    shortest = sorted(roots, key=len)
    for hint, root in beside.items():
        _BY_ROOT.setdefault(root or next(x for x in shortest if x in hint), []).append(hint)


_fill()

_SHORTEST = 15
"""Of the words that may hold a secret with a beginning of its own, in characters."""

_FIRSTS = r"(?<![A-Za-z0-9])(?=([A-Za-z0-9][^\n]{2}))"
_ESCAPES = r"\\[nrt]|%[0-9A-Fa-f]{2}"
_MADE = re.compile(r"[0-9]|[a-z][A-Z]|hf_|api_org_|otpauth:")
"""What each secret with a beginning has, most words not; Hugging Face uses letters alone."""

_CLEAR_BEGINNING = 4

_QUOTED = frozenset("deqb")
_QUERY = r"[?&][\w.%-]*$"
_ASSIGNED = (
    r"[ \t-]{0,8}(?:export |set |ENV |\$env:)?[\w.-]{1,60}(?:=|[ \t]?[=:][ \t])"
    r"[^\s\"'`]{3,400}[ \t]*(?:\n|$)"
)
_LONGEST_NAME, _LONGEST_LINE = 60, 99
_READ_ONCE = 256
"""A longer value without a blank that is no secret is not read again from each name in it."""

_DISGUISES = re.compile(
    "[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff\uff01-\uff5e\U0001d400-\U0001d7ff]"
)


@cache
def _compiled(shape: Shape) -> re.Pattern[str]:
    """The shape as it is looked for; what goes by no name begins where no word goes on."""
    if shape.named:
        return re.compile(shape.pattern, re.IGNORECASE)
    inside = shape.pattern.startswith(("(?<=", "://", "/", "-", ":", r"\."))
    # In JSON and in a URL an escape ends in a letter or a digit, which is no part of the secret.
    # A long beginning also counts after `x_` or `x-`; `task-sk-team` is a word.
    signs = "" if min(map(len, shape.hints)) >= _CLEAR_BEGINNING else "-"
    begins = rf"(?:(?<![A-Za-z0-9{signs}])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{{2}}))"
    return re.compile(shape.pattern if inside else f"{begins}(?:{shape.pattern})")


def hinted(text: str) -> list[Shape]:
    """The shapes of which a text holds a hint, in the order of the table; mostly none.

    What has a beginning of its own is looked for in the long words alone, which are few: 2 % of a
    write of 1 KB, where looking through all of the text takes 15 %. Only the beginnings are tried
    whose first three signs begin a word: 1 KB of a program takes 53 us, and 66 where all are.
    """
    if disguised := undisguised(text):
        text = f"{text}\n{disguised[0]}"
    folded = _folded(text)
    found: set[int] = set()
    for root in [x for x in _BY_ROOT if x in folded]:
        for hint in _BY_ROOT[root]:
            if hint == root or hint in folded:
                found |= _NAMED[hint]
    found.update([x for hint, x in _SPLIT if hint in text])
    words = "\n".join([word for word in text.split() if len(word) >= _SHORTEST])
    if words and _MADE.search(words):
        split = regex(_ESCAPES).sub(" ", words) if "\\" in words or "%" in words else words
        firsts = set(regex(_FIRSTS).findall(split))
        found.update([x for hint, x in _ANYWHERE if hint in words])
        for first in _BY_FIRST.keys() & firsts:
            found.update([x for hint, x in _BY_FIRST[first] if hint in words])
    return [SHAPES[x] for x in sorted(found)]


def find(text: str, shapes: Iterable[Shape] | None = None) -> list[Span]:
    """Where secrets stand in a text, in its order; what overlaps is one, of the kind found first.

    Args:
        text: Any text, however hostile: the time is linear in its length.
        shapes: Those that `hinted` gave for it, or for a longer text around it.
    """
    shapes = list(hinted(text) if shapes is None else shapes)
    found = _found(text, shapes)
    if shapes and (disguised := undisguised(text)):
        plain, places = disguised
        found += [
            (places[start], places[end - 1] + 1, order, kind)
            for start, end, order, kind in _found(plain, shapes)
        ]
    return _joined(sorted(found))


def undisguised(text: str) -> tuple[str, Sequence[int]] | None:
    """A text without invisible characters and with wide letters as plain ones; None for most texts.

    Text that was copied from a page or a chat has such characters. The second value is the position
    of each character of the plain text in the text.
    """
    if text.isascii() or not _DISGUISES.search(text):
        return None
    from array import array
    from unicodedata import normalize

    signs: list[str] = []
    places = array("L")
    done = 0
    for match in _DISGUISES.finditer(text):
        at = match.start()
        signs.append(text[done:at])
        places.extend(range(done, at))
        done = at + 1
        if len(plain := normalize("NFKC", match[0])) == 1 and plain != match[0]:
            signs.append(plain)
            places.append(at)
    signs.append(text[done:])
    places.extend(range(done, len(text)))
    return "".join(signs), places


def _found(text: str, shapes: Sequence[Shape]) -> list[tuple[int, int, int, str]]:
    found: list[tuple[int, int, int, str]] = []
    folded = ""
    for order, shape in enumerate(shapes):
        if shape.named and not folded:
            folded = _folded(text)
        for start, end in _places(shape, text, folded if shape.named else text):
            found.append((start, end, order, shape.kind))
    return found


def _folded(text: str) -> str:
    """In lower case, each sign where it was."""
    folded = text.lower()
    return folded if len(folded) == len(text) else "".join(x.lower()[0] for x in text)


def _places(shape: Shape, text: str, hay: str) -> Iterator[tuple[int, int]]:
    """Where secrets of a shape stand, by its hints: far faster than a pattern that looks alone."""
    for hint in shape.hints:
        done, at = 0, hay.find(hint)
        while at >= 0:
            pattern = _compiled(shape)
            for start in range(max(done, at - shape.before), at + 1):
                match = pattern.match(text, start)
                end, places = _secrets(shape, match) if match else (0, [])
                if places or (match and shape.inner) or end - at > _READ_ONCE:
                    done = end
                    yield from places
                    break
            at = hay.find(hint, max(at + len(hint), done))


def _secrets(shape: Shape, match: re.Match[str]) -> tuple[int, list[tuple[int, int]]]:
    """Where the reading ends, and where secrets stand in it: mostly one; none if a word follows."""
    name, start = match[0], match.start()
    if shape.then:
        follows = regex(shape.then).match(match.string, match.end())
        return _judged(shape, follows, name, start) if follows else (0, [])
    if not shape.inner:
        return _judged(shape, match, "", start)
    found = regex(shape.inner).finditer(match.string, *match.span())
    places = [place for each in found for place in _judged(shape, each, "", each.start())[1]]
    return match.end(), places


def _judged(
    shape: Shape, match: re.Match[str], name: str, start: int
) -> tuple[int, list[tuple[int, int]]]:
    """Where a match, or a value that is no secret, ends; and the place of one that is a secret."""
    groups = match.re.groupindex
    group = next((x for x in "sdqebt" if x in groups and match[x] is not None), "")
    if is_blanked(match[group or 0]):
        return match.end(), []
    if shape.judge is None:
        return match.end(), [match.span(group or 0)]
    text, (begin, end) = match[group], match.span(group)
    if group == "s":
        text, end = _trimmed(match, start)
    if not text:  # `?token=&page=2`
        return begin, []
    if not name and "n" in groups:
        name = match["n"]
    value = Value(text, group in _QUOTED, match, name, start)
    if shape.judge(value):
        return match.end(), [(begin, end)]
    return (begin + len(text) if group == "s" else begin), []


def _trimmed(match: re.Match[str], start: int) -> tuple[str, int]:
    """What of a value without quotes is judged, and where it ends in the text.

    What ends a sentence is none of it, unless it stands alone in its line as in an environment; an
    exclamation mark is replaced, but does not make a word a password.
    """
    text, begin, whole = match["s"], match.start("s"), match.string
    if regex(_QUERY).search(whole, max(start - _LONGEST_NAME, 0), start):
        text = text.partition("&")[0]
    if not text:
        return "", begin
    bare = text.rstrip(".:!?)}") or text
    line = max(whole.rfind("\n", 0, begin) + 1, begin - _LONGEST_LINE)
    is_of_a_command = "more" not in match.re.groupindex and text[-1] not in ")}"
    if is_of_a_command or regex(_ASSIGNED).match(whole, line):
        return bare, begin + len(text)
    return bare, begin + len(text.rstrip(".:?)}") or text)


def _joined(found: list[tuple[int, int, int, str]]) -> list[Span]:
    """What overlaps as one, of the kind that stands first in the table."""
    spans: list[Span] = []
    first = 0
    for start, end, order, kind in found:
        last = spans[-1] if spans else None
        if last is None or start >= last.end:
            spans.append(Span(start, end, kind))
            first = order
        else:
            spans[-1] = Span(last.start, max(end, last.end), kind if order < first else last.kind)
            first = min(first, order)
    return spans
