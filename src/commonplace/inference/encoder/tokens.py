"""Owns the tokenizer: ids cut at the model's maximum, and texts split into chunks that fit it.

Never runs a model, and never tokenises a long text in one piece: 10 MB would take gigabytes.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from commonplace.inference.encoder.sentencepiece import SUFFIX, read_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokenizers import Encoding, Tokenizer

OVERLAP = 48
"""Tokens that neighbouring chunks share, so that a sentence at the seam is whole in one of them."""

# Characters tokenised at once.
_BLOCK = 16_384
# No chunk is much longer than this in characters, however few tokens it has.
_LONGEST = 32_768
# The first so many characters decide over the first 512 tokens of any text that has words.
_FARTHEST = 262_144
# WordPiece turns words over 100 characters into one token: nearer to a cut nothing is settled.
_UNSETTLED = 128
# A word of more tokens than this may be cut inside (writing without spaces).
_WHOLE_WORD = 32


class _Unit(NamedTuple):
    """What is never cut: a word, or a token of a very long one, as characters [start, end)."""

    start: int
    end: int
    tokens: int


class Tokens:
    """A tokenizer as published, without the padding and truncation it was published with.

    A `tokenizer.json`, or a `.model` of SentencePiece. Thread-safe. Texts must be well-formed.
    Raises OSError or ValueError for a broken file.
    """

    def __init__(self, path: Path, *, max_tokens: int) -> None:
        self._tokenizer = _read(path)
        # all-MiniLM's file pads every text to 128 tokens and cuts it there.
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        probe = self._tokenizer.encode("a")
        inner = [number for number, special in enumerate(probe.special_tokens_mask) if not special]
        first, last = (inner[0], inner[-1] + 1) if inner else (1, 1)
        self._before, self._after = probe.ids[:first], probe.ids[last:]
        self._max_tokens = max_tokens

    @property
    def special(self) -> int:
        """How many special tokens every text gets."""
        return len(self._before) + len(self._after)

    def count(self, text: str) -> int:
        """Tokens of a text of moderate length, special ones not included."""
        return len(self._encoding(text))

    def ids(self, text: str) -> list[int]:
        """The ids of the text, special ones included, cut at the model's maximum."""
        room = self._max_tokens - self.special
        reach = _BLOCK
        while True:
            encoding = self._encoding(text[:reach])
            if reach >= min(len(text), _FARTHEST) or _settled(encoding, room, reach):
                return [*self._before, *encoding.ids[:room], *self._after]
            reach *= 4

    def split(
        self, text: str, *, limit: int, most: int | None = None
    ) -> tuple[tuple[int, int], ...]:
        """(start, end) of overlapping chunks of at most `limit` tokens, special ones included.

        In characters; together they hold every character that is not space. () for a blank text.
        most: so many of the first chunks; what follows is not read.
        """
        if not text or text.isspace():
            return ()
        room = limit - self.special
        if len(text) <= _BLOCK and self.count(text) <= room:
            return ((0, len(text)),)
        chunks = _chunks(self._units(text), len(text), room)
        fitting = (part for start, end in chunks for part in self._fitting(text, start, end, room))
        found: dict[tuple[int, int], None] = {}
        for part in fitting:
            if len(found) == most:
                break
            found[part] = None
        return tuple(found)

    def _encoding(self, text: str) -> Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)

    def _units(self, text: str) -> Iterator[_Unit]:
        start = 0
        while start < len(text):
            end = _seam(text, start)
            encoding = self._encoding(text[start:end])
            if not encoding.ids:
                yield _Unit(start, end, 0)
            yield from _units_of(encoding, start)
            start = end

    def _fitting(self, text: str, start: int, end: int, room: int) -> Iterator[tuple[int, int]]:
        """The chunk without space at its ends; halved while it has too many tokens by itself.

        A word cut inside may have more tokens alone than it had in its place.
        """
        chunk = text[start:end]
        start, end = end - len(chunk.lstrip()), start + len(chunk.rstrip())
        if start >= end:
            return
        if end - start == 1 or self.count(text[start:end]) <= room:
            yield start, end
            return
        middle = (start + end) // 2
        yield from self._fitting(text, start, middle, room)
        yield from self._fitting(text, middle, end, room)


def _read(path: Path) -> Tokenizer:
    if path.suffix == SUFFIX:
        return read_tokenizer(path.read_bytes())
    from tokenizers import Tokenizer

    return Tokenizer.from_str(path.read_text(encoding="utf-8"))


def _settled(encoding: Encoding, room: int, reach: int) -> bool:
    """Whether the first `room` tokens stay the same, whatever follows after `reach` characters."""
    if len(encoding) < room:
        return False
    place = encoding.token_to_chars(room - 1)
    return place is not None and place[1] <= reach - _UNSETTLED


def _seam(text: str, start: int) -> int:
    """The end of the block that begins here: at a space if there is one in its second half."""
    end = start + _BLOCK
    if end >= len(text):
        return len(text)
    half = start + _BLOCK // 2
    space = max(text.rfind(" ", half, end), text.rfind("\n", half, end))
    return end if space < 0 else space


def _units_of(encoding: Encoding, shift: int) -> Iterator[_Unit]:
    words = encoding.word_ids
    places = encoding.offsets
    first = 0
    for number in range(1, len(words) + 1):
        if number < len(words) and words[number] == words[first]:
            continue
        if number - first <= _WHOLE_WORD:
            yield _Unit(places[first][0] + shift, places[number - 1][1] + shift, number - first)
        else:
            for start, end in places[first:number]:
                yield _Unit(start + shift, end + shift, 1)
        first = number


def _chunks(units: Iterator[_Unit], length: int, room: int) -> Iterator[tuple[int, int]]:
    """Windows over the units, each beginning with the last units of the one before."""
    window: deque[_Unit] = deque()
    start = tokens = 0
    for unit in units:
        if window and (tokens + unit.tokens > room or unit.end - start > _LONGEST):
            yield start, unit.start
            while window and not _may_stay(window[0], tokens, unit, room):
                tokens -= window.popleft().tokens
            start = window[0].start if window else unit.start
        window.append(unit)
        tokens += unit.tokens
    yield start, length


def _may_stay(first: _Unit, tokens: int, following: _Unit, room: int) -> bool:
    """Whether a chunk may begin with this unit, which it then shares with the chunk before."""
    return (
        tokens <= OVERLAP
        and tokens + following.tokens <= room
        and following.end - first.start <= _LONGEST
    )
