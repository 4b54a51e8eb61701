"""Which turns of a session are filed as one: one of a few words with what it answers. Pure.

Never reads a file, and never knows more of a turn than its catalog does.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

FEW_BYTES = 40
"""A turn of fewer bytes, as UTF-8, says little by itself: "ok", "Committed."."""

MOST_TURNS = 4
"""Turns of a few words that follow one another are filed together, so many at the most."""

SILENT, WORDS, FEW, ASKS = range(4)
"""What a turn says: nothing, a text, a few words, a few words that ask for what comes next."""

_QUESTION_MARKS = ("?", "\uff1f", "\u061f")


class Turn(NamedTuple):
    """What the catalog knows of a turn that says something.

    Attributes:
        n: Its number in the session.
        crc: The checksum of its line.
        says: `WORDS`, `FEW` or `ASKS`.
        day: In UTC.
    """

    n: int
    crc: int
    says: int
    day: str


class Exchange(NamedTuple):
    """Turns that are filed as one, in their order, under the number of the one that says most.

    Attributes:
        numbers: Of all of them.
        n: Under which they are filed.
        stamp: A token that changes with each of them.
    """

    numbers: tuple[int, ...]
    n: int
    stamp: str


def said_by(text: str) -> int:
    """What a turn says: `SILENT`, `WORDS`, `FEW` or `ASKS`."""
    text = text.strip()
    if not text:
        return SILENT
    if len(text.encode("utf-8", "surrogatepass")) >= FEW_BYTES:
        return WORDS
    return ASKS if text.endswith(_QUESTION_MARKS) else FEW


def each_alone(turns: Iterable[Turn]) -> Iterator[Exchange]:
    """Each turn by itself."""
    return (exchange_of([turn]) for turn in turns)


def in_exchanges(turns: Iterable[Turn]) -> Iterator[Exchange]:
    """The turns of a session, one of a few words with the turn before it.

    One that asks goes with what follows, and so does what nothing but a few words stands before.
    Turns of two days are never one.
    """
    together: list[Turn] = []
    for turn in turns:
        if together and not _goes_with(turn, together):
            yield exchange_of(together)
            together = []
        together.append(turn)
    if together:
        yield exchange_of(together)


def _goes_with(turn: Turn, before: list[Turn]) -> bool:
    if len(before) >= MOST_TURNS or turn.day != before[0].day:
        return False
    return turn.says == FEW or all(each.says != WORDS for each in before)


def exchange_of(turns: Sequence[Turn]) -> Exchange:
    """These turns as one."""
    most = next((turn for turn in turns if turn.says == WORDS), turns[0])
    if len(turns) == 1:
        return Exchange((most.n,), most.n, f"{most.crc:08x}")
    parts = " ".join(f"{turn.n}:{turn.crc:08x}" for turn in turns)
    return Exchange(tuple(x.n for x in turns), most.n, f"{zlib.crc32(parts.encode()):08x}")
