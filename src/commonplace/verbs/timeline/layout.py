"""What a stored summary says, without what it is laid out with: sentences under headings. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

_COUNTED = re.compile(
    r"(?:\[[\d:]+-[\d:]+\] )?[\d,]+ entr(?:y|ies)\b.*\.|\[[\d:]+-[\d:]+\]"
    r"|\*\*(?:Projects|Tags|Actions|Tools)\*\*: .*\([\d,]+\)(?: and \d+ more)?"
)
_TITLE = re.compile(r"\*\*[^*]+\*\*")
_HEADING = re.compile(r"\*\*(?P<headed>[^*]+)\*\*: ?(?P<rest>.*)|(?P<plain>Milestones|Blockers):")
_LINE = re.compile(
    r"(?:[•*-] )?(?:\[(?P<when>\d{4}-\d\d-\d\d|\d\d:\d\d(?:-\d\d:\d\d)?)\] )?(?P<text>.*)"
)
FIGURES = "Figures"
"""The heading of the numbers that entries carried."""


class SummaryLine(NamedTuple):
    """A sentence of a summary, and when it was: an ISO date, a time of day, or empty."""

    when: str
    text: str


class SummaryPart(NamedTuple):
    """What stands under one heading; an empty one for what stands before the first."""

    heading: str
    lines: list[SummaryLine]


def parts_of(content: str) -> list[SummaryPart]:
    """What a summary says, without its title, what is counted in it and whom it names."""
    parts = [SummaryPart("", [])]
    for number, line in enumerate(each.strip() for each in content.splitlines()):
        if (not number and _TITLE.fullmatch(line)) or _COUNTED.fullmatch(line):
            continue
        said = line
        if headed := _HEADING.fullmatch(line):
            parts.append(SummaryPart(headed["headed"] or headed["plain"], []))
            said = headed["rest"] or ""
        if (read := _LINE.fullmatch(said)) and read["text"]:
            parts[-1].lines.append(SummaryLine(read["when"] or "", read["text"]))
    return [part for part in parts if part.lines]


def first_sentence(content: str) -> str:
    """The sentence that names a period: the first one that is no figure; empty for none."""
    return next((x.lines[0].text for x in parts_of(content) if x.heading != FIGURES), "")


def sentences(text: str) -> str:
    """The sentences of a summary one behind the other; of one with bullets what stands at these."""
    lines = [line.strip() for line in text.splitlines()]
    said = [line for line in lines if line.startswith("• ")] or lines
    read = (_LINE.fullmatch(line) for line in said if not _COUNTED.fullmatch(line))
    return " ".join(found["text"] for found in read if found and found["text"])
