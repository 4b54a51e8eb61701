"""Summaries without a model: the sentences that say most, what was decided, the first and the last.

Pure, and the same for the same material in any order. Invents nothing: every sentence stands in an
entry, every number comes with the material.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING

from commonplace.core.clock import local_date, render_date, to_local
from commonplace.core.rollups import (
    Figures,
    Point,
    Summary,
    last_named,
    numbers_of,
    ranked,
    render_numbers,
)
from commonplace.core.text import body_of, counted_entries, opening

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.clock import Level
    from commonplace.core.rollups import Item, Material

GENERATOR = "extractive 3"

# Sentences and decisions that a summary of each level shows, and that larger ones may quote.
_SENTENCES: Mapping[Level, int] = {"hour": 4, "day": 7, "week": 9, "month": 12, "year": 15}
_DECISIONS: Mapping[Level, int] = {"hour": 3, "day": 6, "week": 8, "month": 10, "year": 12}
_LONGEST_SENTENCE = 220
_READ_OF_AN_ENTRY = 4000
_SENTENCES_OF_AN_ENTRY = 12
_NAMES_SHOWN = 8
_FEWEST_WORDS = 3

# The last two as full width has them.
_ENDS = ".!?\u3002\uff01\uff1f"
_SENTENCE_END = re.compile(rf"(?<=[{_ENDS}])\s+|\n+")
_WORD = re.compile(r"\w{3,}")
_OURS = "timeline"
_DECIDED = re.compile(
    r"\b(?:decid(?:ed?|ing|es)|decision|chose|chosen|agreed (?:to|on|that)|settled (?:on|for)"
    r"|opted|going with|went with|will (?:use|keep|drop|switch|move)|approved|rejected)\b",
    re.IGNORECASE,
)
_COMMON = frozenset(
    [
        *("the", "and", "for", "that", "with", "was", "were", "this", "from", "are", "but", "not"),
        *("have", "has", "had", "they", "you", "his", "her", "our", "its", "all", "can", "will"),
        *("into", "then", "than", "there", "been", "also", "out", "now", "about", "which", "who"),
    ]
)


class Extractive:
    """The summariser that always stands; see `core.rollups.Summariser`. Never raises."""

    generator = GENERATOR

    def takes(self, material: Material) -> bool:
        """Whatever it is."""
        return True

    def summarise(self, material: Material) -> Summary:
        """Counts, projects, tags, tools, decisions, the sentences that say most, first and last."""
        points = _points(material)
        return Summary(text=text_of(material, points), generator=GENERATOR, points=points)


def text_of(material: Material, points: Sequence[Point]) -> str:
    """The text of a summary from what it keeps; the items of the material are not looked at."""
    return (_hour if material.level == "hour" else _headed)(material, points)


def _points(material: Material) -> tuple[Point, ...]:
    """What is worth keeping, in the order of time: the first and the last of it always.

    What is said several times is worth it once, where it was said first; the sentences of an entry
    stay in its order.
    """
    points = [x for item in material.items for x in item.points]
    points += _weighed([item for item in material.items if not item.points])
    points.sort(key=lambda x: (x.at, x.ref))
    firsts: dict[str, Point] = {}
    for point in points:
        firsts.setdefault(point.text.casefold().rstrip(f"{_ENDS}…: "), point)
    points = list(firsts.values())
    if not points:
        return ()
    best = _spread(sorted(points, key=lambda x: -x.weight), material)
    decisions = [x for x in best if x.decision][: _DECISIONS[material.level]]
    kept = {points[0], points[-1], *decisions, *best[: _SENTENCES[material.level]]}
    return tuple(x for x in points if x in kept)


def _spread(best: Sequence[Point], material: Material) -> list[Point]:
    """The best of each thing the material is made of, then the second best: a period has parts."""
    starts = sorted(item.at for item in material.items)
    taken: Counter[int] = Counter()
    rounds: list[tuple[int, int, Point]] = []
    for place, point in enumerate(best):
        part = sum(start < point.at for start in starts) if material.level != "hour" else 0
        rounds.append((taken[part], place, point))
        taken[part] += 1
    return [point for *_, point in sorted(rounds, key=lambda x: x[:2])]


def _weighed(items: Sequence[Item]) -> list[Point]:
    """The sentences of raw entries; a sentence weighs what its words weigh among all of them."""
    sentences = [
        (item, sentence, frozenset(_WORD.findall(sentence.casefold())) - _COMMON)
        for item in items
        for sentence in _sentences(item.text if item.journal == _OURS else body_of(item.text))
    ]
    counts = Counter(word for _, _, words in sentences for word in words)
    most = max(counts.values(), default=1)
    return [
        Point(
            ref=item.ref,
            at=item.at,
            text=sentence,
            weight=_weight(words, counts, most),
            decision=_DECIDED.search(sentence) is not None,
        )
        for item, sentence, words in sentences
    ]


def _weight(words: frozenset[str], counts: Counter[str], most: int) -> float:
    """In [0, 1], to three decimals: how much of what was written about stands in it."""
    if not words:
        return 0.0
    said = sum(counts[word] for word in words) / most
    # Divided by the root: of two sentences with words of equal weight the longer one says more.
    return round(min(said / math.sqrt(len(words)) / 4, 1.0), 3)


def _sentences(text: str) -> Iterator[str]:
    """The sentences of an entry's beginning, a line each; of one or two words only the first."""
    found = 0
    for part in _SENTENCE_END.split(text[:_READ_OF_AN_ENTRY]):
        sentence = " ".join(part.split()).strip("-*•# ")
        if sentence and (not found or len(sentence.split()) >= _FEWEST_WORDS):
            found += 1
            yield opening(sentence, _LONGEST_SENTENCE)
        if found == _SENTENCES_OF_AN_ENTRY:
            return


def _hour(material: Material, points: Sequence[Point]) -> str:
    start, end = (_clock(at, material.zone) for at in (material.period.start, material.period.end))
    figures = material.figures
    names = [
        f"{label}: {', '.join(ranked(counts, _NAMES_SHOWN))}"
        for label, counts in (("projects", figures.projects), ("tools", figures.tools))
        if counts
    ]
    head = "; ".join([counted_entries(figures.entries), *names])
    said = [*figures_lines(material), *(_ended(x.text) for x in points), *named_lines(material)]
    return "\n".join([f"[{start}-{end}] {head}.", *said])


def _headed(material: Material, points: Sequence[Point]) -> str:
    figures = material.figures
    lines = [f"**{title_of(material)}**", "", _counted(figures, material.zone)]
    named = (
        ("Projects", figures.projects),
        ("Tags", figures.tags),
        ("Actions", figures.actions),
        ("Tools", figures.tools),
    )
    lines += [f"**{label}**: {_names(counts)}" for label, counts in named if counts]
    lines += [*figures_lines(material), *named_lines(material)]
    decisions = [x for x in points if x.decision]
    others = [x for x in points if not x.decision]
    for label, listed in (("Decisions", decisions), ("Highlights", others)):
        if listed:
            lines += ["", f"**{label}**:"]
        lines += [f"• [{_when(x.at, material)}] {_ended(x.text)}" for x in listed]
    return "\n".join(lines)


def figures_lines(material: Material) -> list[str]:
    """A line of the numbers that entries carried; none where they carried none."""
    said = render_numbers(numbers_of(material.figures))
    label = "Figures" if material.level == "hour" else "**Figures**"
    return [f"{label}: {said}"] if said else []


def named_lines(material: Material, *, without: Container[str] = ()) -> list[str]:
    """The milestones and the blockers that entries named, a list each; of many the last.

    without: the headings of those that are left out.
    """
    lines: list[str] = []
    most = _DECISIONS[material.level]
    for label, named in (
        ("Milestones", material.figures.milestones),
        ("Blockers", material.figures.blockers),
    ):
        if not named or label in without:
            continue
        lines += [f"{label}:"] if material.level == "hour" else ["", f"**{label}**:"]
        latest = last_named(named, most)
        lines += [f"• [{_when(at, material)}] {_ended(name)}" for name, at in latest]
        lines += [f"• and {len(named) - most} more"] if len(named) > most else []
    return lines


def _when(at: datetime, material: Material) -> str:
    """The time of an entry of an hour or a day, and the date of one of a larger period."""
    if material.level in {"hour", "day"}:
        return _clock(at, material.zone)
    return local_date(at, material.zone).isoformat()


def title_of(material: Material) -> str:
    """A period in words: `4 February 2025`, `Week of 3 February 2025`, `February 2025`, `2025`."""
    start = material.period.start
    assert start is not None
    day = local_date(start, material.zone)
    match material.level:
        case "week":
            return f"Week of {render_date(day)}"
        case "month":
            return render_date(day).partition(" ")[2]
        case "year":
            return material.key
        case _:
            return render_date(day)


def _counted(figures: Figures, zone: tzinfo) -> str:
    if figures.first is None or figures.last is None:
        return f"{counted_entries(figures.entries)}."
    first, last = (to_local(at, zone) for at in (figures.first, figures.last))
    if figures.entries == 1:
        return f"1 entry, {render_date(first.date())} {first:%H:%M}."
    hours = f"{figures.hours} {'hour' if figures.hours == 1 else 'hours'}"
    if first.date() == last.date():
        span = f"{first:%H:%M} to {last:%H:%M}"
    else:
        span = f"{render_date(first.date())} to {render_date(last.date())}"
    return f"{counted_entries(figures.entries)} in {hours}, {span}."


def _names(counts: Mapping[str, int]) -> str:
    shown = ranked(counts, _NAMES_SHOWN)
    more = len(counts) - len(shown)
    named = ", ".join(f"{name} ({counts[name]:,})" for name in shown)
    return f"{named} and {more} more" if more > 0 else named


def _clock(at: datetime | None, zone: tzinfo) -> str:
    assert at is not None
    return f"{to_local(at, zone):%H:%M}"


def _ended(sentence: str) -> str:
    return sentence if sentence[-1:] in f"{_ENDS}…:" else f"{sentence}."
