"""A phrase of a text, by which an index finds what says the same and leaves no text out."""

from __future__ import annotations

import re

from msgspec import Struct

from commonplace.core.word_forms import base_forms

_ASKED = 4  # the longest words, together: few texts have all of them
# Such a word is one token wherever a phrase has it; another may be cut, composed or paired.
_SURE = re.compile(r"[A-Za-z]{2,}")
_BEFORE = ("", "n", "r", "t")  # the letter of an escaped line end is taken for a part of the word


class Phrase(Struct, frozen=True, kw_only=True):
    """Words that stand together in a text.

    Attributes:
        parts: Strings that every text with the phrase contains.
        inner: Those of them that are whole words with another one on each side; between two lies
            nothing but white space, `>` and line ends as JSON writes them (a backslash, a letter).
    """

    parts: tuple[str, ...]
    inner: tuple[str, ...]

    def may_be_in(self, text: str) -> bool:
        """Whether a text contains all of its parts."""
        return all(part in text for part in self.parts)

    def sure_words(self) -> list[list[str]]:
        """Words that every text with the phrase has, each in all its forms, folded, not stemmed."""
        words = {word.lower() for word in self.inner if _SURE.fullmatch(word)}
        chosen = sorted(words, key=lambda word: (-len(word), word))[:_ASKED]
        return [[base_forms(before + word) for before in _BEFORE] for word in chosen]
