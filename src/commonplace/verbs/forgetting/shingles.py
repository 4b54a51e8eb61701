"""The shingles of a text by which what is left of it is known, in a text and in bytes (pure).

A shingle has 12 words; a shorter text is one shingle. Never reads a file.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.phrase import Phrase
from commonplace.core.text import body_of, well_formed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

WORDS = 12
SHORT = 4
"""Fewer words than these may stand anywhere by chance: they accuse nothing."""

_SPACES = re.compile(r"[ \t\r\n\f\v]+")
_LONGEST = 40
"""Characters of a word that is looked for whole; a longer one, as in Chinese, is cut up."""
_GAP = r"(?:\s|\\[nrt]|>)+"
_GAP_BYTES = _GAP.encode()
_CUT = b"[forgotten]"
_LETTER = rb"[0-9A-Za-z_\x80-\xff]"


class Shingle(Struct, frozen=True, kw_only=True):
    """Words that stand together in a text, and how they look in a text and in a file.

    Attributes:
        phrase: What an index finds it by.
        longest_word: What does not hold that holds no shingle.
        pattern: Of the shingle in a text.
        forms: The same in bytes, as it is and as JSON writes it: longest word and pattern.
        is_short: Whether it may be there by chance.
    """

    phrase: Phrase
    longest_word: str
    pattern: re.Pattern[str]
    forms: tuple[tuple[bytes, re.Pattern[bytes]], ...]
    is_short: bool

    def is_in(self, text: str) -> bool:
        """Whether a text says it, however its lines are broken."""
        return self.longest_word in text and self.pattern.search(text) is not None

    def is_in_bytes(self, content: bytes) -> bool:
        """Whether a file's bytes hold it."""
        return any(
            content.find(longest_word) >= 0 and pattern.search(content) is not None
            for longest_word, pattern in self.forms
        )


def shingles_of(text: str) -> tuple[Shingle, ...]:
    """The shingles of what was written, without its front matter and headings.

    They lie end to end, and the last one ends with the text, so that no 23 words of it are without
    one.
    """
    words = _SPACES.split(well_formed(body_of(text)).strip())
    parts = [part for word in words for part in _parts_of(word)]
    if not parts:
        return ()
    starts = dict.fromkeys([*range(0, len(parts) - WORDS + 1, WORDS), max(0, len(parts) - WORDS)])
    shingles = [parts[start : start + WORDS] for start in starts]
    return tuple(
        _shingle(each, is_short=len(words) < SHORT and len(text) < _LONGEST) for each in shingles
    )


def shingles_in(shingles: Iterable[Shingle], text: str) -> set[Shingle]:
    """Those of the shingles that a text says."""
    return {each for each in shingles if each.is_in(text)}


def cutter(shingles: Iterable[Shingle]) -> Callable[[bytes], bytes]:
    """A function that cuts the shingles out of a file; short ones, which may be chance, stay."""
    patterns = [form for each in shingles if not each.is_short for form in each.forms]

    def cut(content: bytes) -> bytes:
        spans = [
            found.span()
            for longest_word, pattern in patterns
            if longest_word in content
            for found in pattern.finditer(content)
        ]
        if not spans:
            return content
        kept: list[bytes] = []
        end = 0
        # Shingles overlap: one mark stands for all that they cover together.
        for start, until in sorted(spans):
            if start > end or not kept:
                kept += [content[end:start], _CUT]
            end = max(end, until)
        return b"".join([*kept, content[end:]])

    return cut


def _parts_of(word: str) -> list[tuple[str, bool]]:
    """A word in parts of bearable length; whether each goes on with the one before it."""
    cut = [word[at : at + _LONGEST] for at in range(0, len(word), _LONGEST)]
    return [(part, number > 0) for number, part in enumerate(cut)]


def _shingle(parts: list[tuple[str, bool]], *, is_short: bool) -> Shingle:
    words = [word for word, _ in parts]
    joined = "".join(
        ("" if number == 0 or glued else _GAP) + re.escape(word)
        for number, (word, glued) in enumerate(parts)
    )
    writings = {
        tuple(write(word) for word in words) for write in (str.encode, _as_json, _as_ascii_json)
    }
    glued = [glued for _, glued in parts]
    # A part that goes on, or is gone on with, is no whole word.
    whole = [not (here or after) for here, after in zip(glued, [*glued[1:], True], strict=True)]
    inner = [word for word, is_whole in zip(words[1:-1], whole[1:-1], strict=True) if is_whole]
    return Shingle(
        phrase=Phrase(parts=tuple(dict.fromkeys(words)), inner=tuple(inner)),
        longest_word=max(words, key=len),
        pattern=re.compile(joined),
        forms=tuple(
            (max(each, key=len), _bytes_pattern(each, glued, alone=is_short))
            for each in sorted(writings)
        ),
        is_short=is_short,
    )


def _bytes_pattern(
    words: tuple[bytes, ...], glued: list[bool], *, alone: bool
) -> re.Pattern[bytes]:
    joined = b"".join(
        (b"" if number == 0 or glued[number] else _GAP_BYTES) + re.escape(word)
        for number, word in enumerate(words)
    )
    if alone:  # `art` is not in `party`
        joined = b"(?<!" + _LETTER + b")" + joined + b"(?!" + _LETTER + b")"
    return re.compile(joined)


def _as_json(word: str) -> bytes:
    return json.dumps(word, ensure_ascii=False)[1:-1].encode()


def _as_ascii_json(word: str) -> bytes:
    return json.dumps(word)[1:-1].encode()
