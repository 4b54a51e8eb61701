"""Selects the entries to forget by words, a time, a project or a journal (pure functions).

Never selects by meaning: an entry is taken for the words in it, not for what it may be about.
"""

from __future__ import annotations

import os
import re
import unicodedata
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import Invalid
from commonplace.core.text import well_formed
from commonplace.core.values import Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from commonplace.core.values import Doc

_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Characters of scripts without spaces between words: there a word is matched inside others."""


class EntrySelection(Struct, frozen=True, kw_only=True):
    """The conditions of an entry to be taken; all of them must hold.

    Attributes:
        query: It contains all these words, in any order and case.
        within: It is of this time.
        project: It was written in this folder or below it; empty for any.
        journals: It is of one of these journals; empty for any.
    """

    query: str = ""
    within: Interval = Interval()
    project: str = ""
    journals: tuple[str, ...] = ()

    def matcher(self, places: Mapping[str, Callable[[str], str]]) -> Callable[[Doc], bool]:
        """A function that says whether an entry is taken; a summary never is.

        Args:
            places: For each journal whose scopes are folders, the folder of a scope.

        Raises:
            Invalid: The query has no word, so every entry would fit it.
        """
        words = [_word_pattern(each) for each in dict.fromkeys(_WORD.findall(_folded(self.query)))]
        if self.query and not words:
            raise Invalid(
                f"Invalid query: {self.query!r} has no word.", hint="Give words that it contains."
            )
        folder = os.path.realpath(os.path.expanduser(self.project)) if self.project else ""

        def is_taken(doc: Doc) -> bool:
            if doc.covers or (self.journals and doc.journal not in self.journals):
                return False
            if not self.within.holds(doc.at):
                return False
            if folder and not _lies_in(doc, folder, places):
                return False
            folded = _folded(doc.text) if words else ""
            return all(word.search(folded) for word in words)

        return is_taken


def _word_pattern(word: str) -> re.Pattern[str]:
    pattern = re.escape(word)
    return re.compile(pattern if _UNSPACED.search(word) else rf"\b{pattern}\b")


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", well_formed(text).casefold())


def _lies_in(doc: Doc, folder: str, places: Mapping[str, Callable[[str], str]]) -> bool:
    place_of = places.get(doc.journal)
    place = place_of(doc.scope) if place_of is not None else ""
    if not os.path.isabs(place):
        return False
    real = os.path.realpath(place)
    return real == folder or real.startswith(folder.rstrip(os.sep) + os.sep)
