"""Owns which messages bear every word of a question, in whatever form the word has in each.

Never reads a storage and never ranks: of messages it is given, it says which count.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from commonplace.core.stop_words import stop_words_of
from commonplace.core.text import well_formed, words_text
from commonplace.core.word_forms import BASES, base_forms
from commonplace.journals.chronicle.layouts import SQL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_WORDS = 64
"""Words of a question that are looked for; nobody counts by more."""

_PART = re.compile(r"\w+")


class Words:
    """The words of a question; stop words go unless nothing else is left.

    phrases: each as SQLite's word index reads it; `v2.1.0` is three words in a row. beginning: in
    lower case, the most that every message in plain ASCII holds that bears them all; may be empty.
    """

    def __init__(self, text: str) -> None:
        words = unicodedata.normalize("NFC", well_formed(text).replace("\0", " ")).split()
        parts = [_PART.findall(word.casefold()) for word in words]
        stop_words = stop_words_of(part for each in parts for part in each)
        content = [
            word
            for word, each in zip(words, parts, strict=True)
            if not each or not stop_words.issuperset(each)
        ]
        asked = {term: match for word in content or words for term, match in _terms(word)}
        stems = _stems(list(asked)[:MOST_WORDS])
        self.phrases = tuple(asked[term] for term in stems)
        # Stemming replaces what a word ends with: all but the last character begins its forms, but
        # for irregular ones.
        plain = {stem for each in stems.values() for stem in each if stem.isascii()}
        irregular = _irregular() if plain else {}
        self._beginnings = [(stem[:-1], *irregular.get(stem, ())) for stem in plain]
        self.beginning = max(
            (x for x, *other in self._beginnings if not other), key=len, default=""
        )

    def among(self, messages: Iterable[tuple[int, str]]) -> list[int]:
        """The keys of those messages that bear every word, ascending; none without a word."""
        if not self.phrases:
            return []
        with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
            conn.execute("BEGIN")  # ten times as fast as a transaction for each
            conn.execute(SQL["create_said"])
            # Other words of a message need not be read so closely: that takes most of the time.
            is_plain = all(len(each) == 1 for each in self._beginnings)
            read = _cased if is_plain else _folded
            may = ((key, read(said)) for key, said in messages if self._may_bear(said))
            conn.executemany(SQL["add_said"], may)
            asked = {"match": " AND ".join(self.phrases)}
            return [row[0] for row in conn.execute(SQL["list_said"], asked)]

    def _may_bear(self, message: str) -> bool:
        """Whether a message holds the beginning of every word: most do not, and cost no more."""
        folded = message.lower()
        if not message.isascii():
            # What is left of an accented letter is the letter, as SQLite sees it.
            letters = unicodedata.normalize("NFKD", message).casefold()
            folded = letters.encode("ascii", "ignore").decode()
        return all(any(x in folded for x in each) for each in self._beginnings)


def _stems(words: list[str]) -> dict[str, list[str]]:
    """The stems of each word that has any: signs alone have none."""
    stems: dict[str, list[str]] = {}
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
        conn.execute(SQL["create_said"])
        conn.execute(SQL["create_stems"])
        conn.executemany(SQL["add_said"], enumerate(map(_folded, words)))
        for place, stem in conn.execute(SQL["list_stems"]):
            stems.setdefault(words[place], []).append(stem)
    return stems


def _terms(word: str) -> Iterator[tuple[str, str]]:
    """A word, and how it is matched: as a phrase; of a script without spaces each pair."""
    if words_text(word) == word:
        yield word, _quoted(_folded(word))
        return
    for term in _folded(word).split():
        # A character by itself may be half of a pair there.
        yield term, _quoted(term) + ("*" if len(term) == 1 else "")


def _folded(text: str) -> str:
    """A text as the search index reads it, with the base form of irregular words."""
    return base_forms(_cased(text))


def _cased(text: str) -> str:
    return words_text(text).casefold()


@cache
def _irregular() -> dict[str, list[str]]:
    """The irregular forms of a word, by the stem of its base form: `went` and `gone` of `go`."""
    stems = _stems(list(set(BASES.values())))
    forms: dict[str, list[str]] = {}
    for form, base in BASES.items():
        forms.setdefault(stems[base][0], []).append(form)
    return forms


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
