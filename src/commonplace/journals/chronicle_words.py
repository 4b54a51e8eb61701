"""Owns which messages bear every word of a question, in whatever form the word has in each.

Never reads a storage and never ranks: it is told messages, and says which of them count.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import unicodedata
from typing import TYPE_CHECKING

from commonplace.core.text import STOP_WORDS, well_formed, words_text
from commonplace.journals.chronicle_layouts import SQL

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
        telling = [word for word in words if not _is_stop_word(word)]
        asked = {piece: match for word in telling or words for piece, match in _pieces(word)}
        stems = _stems(list(asked)[:MOST_WORDS])
        self.phrases = tuple(asked[piece] for piece in stems)
        # Stemming replaces what a word ends with: all but the last character begins all its forms.
        plain = {stem[:-1] for each in stems.values() for stem in each if stem.isascii()}
        self._beginnings = sorted(plain, key=len, reverse=True)
        self.beginning = self._beginnings[0] if plain else ""

    def among(self, messages: Iterable[tuple[int, str]]) -> list[int]:
        """The keys of those messages that bear every word, ascending; none without a word."""
        if not self.phrases:
            return []
        with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
            conn.execute("BEGIN")  # ten times as fast as a transaction for each
            conn.execute(SQL["create_said"])
            may = ((key, words_text(said)) for key, said in messages if self._may_bear(said))
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
        return all(each in folded for each in self._beginnings)


def _is_stop_word(word: str) -> bool:
    parts = _PART.findall(word.casefold())
    return bool(parts) and STOP_WORDS.issuperset(parts)


def _stems(words: list[str]) -> dict[str, list[str]]:
    """The stems of each word that has any: signs alone have none."""
    stems: dict[str, list[str]] = {}
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
        conn.execute(SQL["create_said"])
        conn.execute(SQL["create_stems"])
        conn.executemany(SQL["add_said"], enumerate(map(words_text, words)))
        for place, stem in conn.execute(SQL["list_stems"]):
            stems.setdefault(words[place], []).append(stem)
    return stems


def _pieces(word: str) -> Iterator[tuple[str, str]]:
    """A word, and how it is matched: as a phrase; of a script without spaces each pair."""
    folded = words_text(word)
    if folded == word:
        yield word, _quoted(word)
        return
    for piece in folded.split():
        # A character by itself may be half of a pair there.
        yield piece, _quoted(piece) + ("*" if len(piece) == 1 else "")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
