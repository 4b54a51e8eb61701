"""Words as the word index has them: split, folded and stemmed by SQLite's own tokenizer.

Keeps one small table in memory for it; nothing of a journal ever lies there longer than a call.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from commonplace.core.text import name_parts, query_terms, words_text
from commonplace.core.when.dates_in_text import days_named, with_days
from commonplace.core.word_forms import BASES, base_forms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.text import Term


_TABLE_LOCK = threading.Lock()
# Of each ASCII character: itself in a word, else a blank.
_SPACED = re.sub(r"\W", " ", "".join(map(chr, range(128))))


class Stem(NamedTuple):
    """A token of the word index; with `prefix` it stands for all tokens that begin so."""

    token: str
    prefix: bool = False


def stems(terms: Sequence[Term]) -> list[Stem]:
    """The distinct stems of a question's terms, in their order; a term may be cut into several."""
    cut = zip(terms, tokens([term.text for term in terms]), strict=True)
    return list(dict.fromkeys(Stem(token, term.prefix) for term, own in cut for token in own))


def question_stems(question: str) -> list[Stem]:
    """The distinct stems of a question, the days that it names as they are filed."""
    return stems(query_terms(with_days(question)))


def tokens(texts: Sequence[str]) -> list[list[str]]:
    """The tokens of each text, in its order."""
    found: list[list[str]] = [[] for _ in texts]
    with _TABLE_LOCK:
        conn = _table()
        conn.execute("BEGIN")
        try:
            rows = enumerate(map(folded_words, texts))
            conn.executemany("INSERT INTO words (rowid, body) VALUES (?, ?)", rows)
            for row, token in conn.execute("SELECT doc, term FROM instances ORDER BY doc, offset"):
                found[row].append(token)
        finally:
            conn.rollback()
    return found


def folded_words(text: str) -> str:
    """A text as the word index reads it: CJK runs in pairs, without case (as query terms are).

    The parts of names in camelCase follow it, and the days it names in the one spelling in which a
    question's are. A question's terms have no case: they stay whole.
    """
    if text.isascii() and text.isalnum() and text == text.lower():
        return BASES.get(text, text)  # like most words of a question: no parts, and no day
    days = " ".join(day.unsaid for day in days_named(text))
    folded = f"{words_text(text)} {name_parts(text)} {days}".casefold()
    if not folded.isascii():
        return base_forms(folded)
    # The same words with blanks between them, which takes half the time.
    words = folded.translate(_SPACED).split()
    return " ".join(map(BASES.get, words, words))


@cache
def _table() -> sqlite3.Connection:
    # Asked for while `_TABLE_LOCK` is held: `cache` lets two threads make one each, one lost.
    conn = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    conn.execute("PRAGMA temp_store = MEMORY")  # else a long text is sorted in a file
    conn.execute(
        "CREATE VIRTUAL TABLE words USING fts5"
        " (body, content = '', tokenize = 'porter unicode61 remove_diacritics 2')"
    )
    conn.execute("CREATE VIRTUAL TABLE instances USING fts5vocab (words, instance)")
    return conn
