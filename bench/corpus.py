"""Journal entries and questions made from word lists: the same for the same seed, on any machine.

Never reads or writes a file, and never asks a clock.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

DAYS = 400
FIRST_DAY = datetime(2025, 1, 6, tzinfo=UTC)
SHORTEST, LONGEST = 20, 250
"""Words of an entry; most are short notes, few are long."""


def _list(words: str) -> list[str]:
    return words.split()


_THINGS = _list("""
    parser scheduler invoice migration deployment cache index queue webhook dashboard importer
    tokenizer checkout mailer report exporter session cookie endpoint gateway worker container
    snapshot backup ledger calendar notebook transcript template stylesheet form validator router
    certificate proxy socket compiler linter formatter fixture benchmark profiler debugger
    spreadsheet survey newsletter catalogue warehouse shipment refund subscription coupon thermostat
    sensor camera printer keyboard bicycle garden kitchen library museum harbour orchard violin
    recipe workshop timetable passport bridge river mountain storm telescope glacier volcano lantern
""")
_PARTS = _list("""
    timeout lock retry buffer header checksum encoding timestamp offset threshold permission
    password schema column constraint transaction connection callback exception warning log branch
    merge commit release version flag option default limit budget deadline estimate meeting review
    comment title colour margin font animation memory thread process signal handle pointer leak
    rounding currency language timezone address identifier hash token vector weight floor score
""")
_FAILURES = _list("""
    hung crashed drifted leaked overflowed deadlocked stalled regressed flickered misfired
    duplicated truncated expired vanished looped starved corrupted lagged disagreed refused
""")
_REMEDIES = _list("""
    rewrote split removed simplified documented cached batched renamed reverted pinned
    isolated measured traced reordered postponed delegated automated tested reviewed replaced
""")
_MOODS = _list("""
    relieved curious frustrated proud uneasy calm tired delighted puzzled hopeful impatient
    grateful doubtful surprised satisfied worried
""")
_PEOPLE = _list("""
    Amara Bruno Chiara Dmitri Elena Farid Greta Hiro Ines Jonas Kavya Leila Mateo Nadia Oskar
    Priya Quentin Rosa Selim Tomas Uma Viktor Wanda Yusuf
""")

_SENTENCES = (
    "The {thing} {failure} again because its {part} was {adverb} wrong after the {thing2} changed.",
    "I {remedy} the {part} of the {thing}, and the {thing2} got {percent} percent faster.",
    "{person} asked why the {thing} needs a {part} at all, and I had no good answer.",
    "Felt {mood} when the {part} test for {file} passed on the {ordinal} try.",
    "Note to self: never trust the {part} that the {thing} reports before the {thing2} is warm.",
    "The trick was to look at {file}, where the {part} is read twice and the {thing} {failure}.",
    "{person} prefers a small {thing} with one {part} over a clever {thing2}.",
    "Ticket {number} was about the {thing}; the cause lay in the {part} of the {thing2}.",
    "We {remedy} it together, which left me {mood} and {mood2} at once.",
    "Tomorrow I want to check whether the {thing} still {failure} without the {part}.",
    "A {part} in the {thing} is cheap, a {part2} in the {thing2} costs {number} milliseconds.",
    "It reminded me of the {thing2} that {failure} in {month}, when {person} {remedy} the {part}.",
)
_QUESTIONS = (
    "why did the {thing} {failure}",
    "what did {person} say about the {part} of the {thing}",
    "{thing} {part} {thing2}",
    "when was I {mood} about the {thing2}",
    "how was the {part} fixed in {file}",
    "which {part} makes the {thing} slow",
    "ticket {number} {part}",
    "does {person} like a small {thing}",
)
_MONTHS = _list("January March April June July September October November")
_FIELDS = _list("""
    reflections observations project_notes user_context technical_insights world_knowledge feelings
""")
# Most of what is written is private; a third belongs to the project.
_FIELD_WEIGHTS = (22, 18, 30, 6, 16, 4, 4)


class Thought(Struct, frozen=True, kw_only=True):
    """One entry to be: what is written under which field, and when (aware UTC)."""

    at: datetime
    thoughts: dict[str, str]

    @property
    def is_project(self) -> bool:
        """Whether it belongs to the project's root: a project note stands alone here."""
        return "project_notes" in self.thoughts


def make_thoughts(count: int, *, seed: int = 1) -> list[Thought]:
    """Entries of 20 to 250 words spread evenly over 400 days, oldest first."""
    chance = random.Random(seed)  # noqa: S311  a corpus, no secret
    step = timedelta(days=DAYS) / max(count, 1)
    return [
        Thought(at=FIRST_DAY + step * number, thoughts=_thoughts(chance)) for number in range(count)
    ]


def make_texts(*, seed: int, longest: int = LONGEST) -> Iterator[str]:
    """Texts of the same kind without end; lengths evenly spread from 20 words to `longest`."""
    chance = random.Random(seed)  # noqa: S311  as above
    while True:
        yield _text(chance, chance.randint(SHORTEST, longest))


def make_lines(*, seed: int) -> Iterator[str]:
    """Lines of a log without end, as somebody would write them: a sentence, one in four of two."""
    chance = random.Random(seed)  # noqa: S311  as above
    while True:
        sentences = 2 if chance.random() < 0.25 else 1  # noqa: PLR2004  one line in four
        yield " ".join(
            chance.choice(_SENTENCES).format_map(_words(chance)) for _ in range(sentences)
        )


def make_questions(count: int, *, seed: int = 2) -> list[str]:
    """Questions about what entries tell, in their words."""
    chance = random.Random(seed)  # noqa: S311  as above
    kinds = (chance.choice(_QUESTIONS).format_map(_words(chance)) for _ in iter(int, 1))
    return list(islice(kinds, count))


def _thoughts(chance: random.Random) -> dict[str, str]:
    length = min(LONGEST, SHORTEST + int(chance.expovariate(1 / 22)))
    field = chance.choices(_FIELDS, _FIELD_WEIGHTS)[0]
    if field != "project_notes" and length > 2 * SHORTEST and chance.random() < 0.25:  # noqa: PLR2004  one entry in four has a second heading
        return {field: _text(chance, length // 2), "feelings": _text(chance, length // 2)}
    return {field: _text(chance, length)}


def _text(chance: random.Random, words: int) -> str:
    # An entry has a subject: a few things and parts come back in all its sentences.
    things = [_pick(chance, _THINGS) for _ in range(3)]
    parts = [_pick(chance, _PARTS) for _ in range(3)]
    sentences: list[str] = []
    count = 0
    while count < words:
        sentence = chance.choice(_SENTENCES).format_map(_words(chance, things, parts))
        sentences.append(sentence)
        count += sentence.count(" ") + 1
    return " ".join(" ".join(sentences).split(" ")[: max(words, SHORTEST)])


def _words(
    chance: random.Random, things: list[str] | None = None, parts: list[str] | None = None
) -> dict[str, str]:
    things, parts = things or _THINGS, parts or _PARTS
    return {
        "thing": chance.choice(things),
        "thing2": _pick(chance, _THINGS),
        "part": chance.choice(parts),
        "part2": _pick(chance, _PARTS),
        "failure": chance.choice(_FAILURES),
        "remedy": chance.choice(_REMEDIES),
        "mood": chance.choice(_MOODS),
        "mood2": chance.choice(_MOODS),
        "person": _pick(chance, _PEOPLE),
        "adverb": chance.choice(("quietly", "plainly", "always", "sometimes")),
        "percent": str(chance.randint(2, 90)),
        "ordinal": chance.choice(("second", "third", "fifth", "last")),
        "number": str(chance.randint(10, 9999)),
        "month": chance.choice(_MONTHS),
        "file": f"{chance.choice(_THINGS)}_{chance.choice(_PARTS)}.py",
    }


def _pick(chance: random.Random, words: list[str]) -> str:
    """A word, the first of the list far more often than the last, as in any language."""
    return words[int(len(words) * chance.random() ** 2)]
