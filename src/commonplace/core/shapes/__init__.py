"""Finds secrets of known shapes in a text: the one table of them, each with its kind and source.

Pure, and light: a shape is compiled when a text first holds one of its hints. Knows these shapes
and no others: a password in plain prose, or a random string with no known beginning, passes.
"""

from __future__ import annotations

import re
from functools import cache

from commonplace.core.shapes.beginnings import BEGINNINGS
from commonplace.core.shapes.judgement import span_of
from commonplace.core.shapes.names import NAMED
from commonplace.core.shapes.shape import Shape, Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SHAPES: tuple[Shape, ...] = (*BEGINNINGS, *NAMED)

_HINTS = [(hint, x) for x, each in enumerate(SHAPES) for hint in each.hints]
_NAMED = [(hint, x) for hint, x in _HINTS if SHAPES[x].named]
_SPLIT = [(hint, x) for hint, x in _HINTS if not SHAPES[x].named and SHAPES[x].is_split]
_WHOLE = [(hint, x) for hint, x in _HINTS if not SHAPES[x].named and not SHAPES[x].is_split]
_SHORTEST = 15
"""Of the words that may hold a secret with a beginning of its own, in characters."""

_CLEAR_BEGINNING = 4

_DISGUISES = re.compile(
    "[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff\uff01-\uff5e\U0001d400-\U0001d7ff]"
)


@cache
def _compiled(shape: Shape) -> re.Pattern[str]:
    """The shape as it is looked for; what goes by no name begins where no word goes on."""
    if shape.named:
        return re.compile(shape.pattern, re.IGNORECASE)
    inside = shape.pattern.startswith(("(?<=", "://", "/", "-", r"\."))
    # In JSON and in a URL an escape ends in a letter or a digit, which is no part of the secret.
    # A long beginning also counts after `x_` or `x-`; `task-sk-team` is a word.
    signs = "" if min(map(len, shape.hints)) >= _CLEAR_BEGINNING else "-"
    begins = rf"(?:(?<![A-Za-z0-9{signs}])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{{2}}))"
    return re.compile(shape.pattern if inside else f"{begins}(?:{shape.pattern})")


def hinted(text: str) -> list[Shape]:
    """The shapes of which a text holds a hint, in the order of the table; mostly none.

    What has a beginning of its own is looked for in the long words alone, which are few: 2 % of a
    write of 1 KB, where looking through all of the text takes 15 %.
    """
    if disguised := undisguised(text):
        text = f"{text}\n{disguised[0]}"
    folded = _folded(text)
    found = {x for hint, x in _NAMED if hint in folded}
    found.update(x for hint, x in _SPLIT if hint in text)
    words = "\n".join([word for word in text.split() if len(word) >= _SHORTEST])
    if words:
        found.update(x for hint, x in _WHOLE if hint in words)
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
        for match in _matches(shape, text, folded if shape.named else text):
            span = span_of(shape, match)
            if span is not None:
                found.append((*span[:2], order, shape.kind))
    return found


def _folded(text: str) -> str:
    """In lower case, each sign where it was."""
    folded = text.lower()
    return folded if len(folded) == len(text) else "".join(x.lower()[0] for x in text)


def _matches(shape: Shape, text: str, hay: str) -> Iterator[re.Match[str]]:
    """Where the shape stands, by its hints: far faster than a pattern that looks for itself."""
    for hint in shape.hints:
        done, at = 0, hay.find(hint)
        while at >= 0:
            pattern = _compiled(shape)
            for start in range(max(done, at - shape.before), at + 1):
                if match := pattern.match(text, start):
                    done = match.end()
                    yield match
                    break
            at = hay.find(hint, max(at + len(hint), done))


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
