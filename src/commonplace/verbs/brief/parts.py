"""Which of what journals hold newest goes into a brief: what was done, what is open, what stands.

Pure functions over items; reads no journal, and asks no model: only words and tags decide.
"""

from __future__ import annotations

import re

from commonplace.core.brief_item import BriefItem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

OPEN_TAGS = frozenset({"todo", "to-do", "open", "wip", "next", "blocked", "unfinished"})
DECIDED_TAGS = frozenset({"decision", "decided", "convention", "rule"})

_OPEN = re.compile(
    r"^[^\w\[]*(?:\[ \]|(?:todo|fixme|wip|next(?: steps?| up)?|open(?: questions?)?|unfinished"
    r"|left to do|still to do|blocked (?:by|on))\b)",
    re.IGNORECASE,
)
_DONE = re.compile(r"^[^\w\[]*(?:\[x\]|(?:done|finished|closed)\b)", re.IGNORECASE)
_MARK = re.compile(
    r"^[^\w\[]*(?:\[[ x]\]|(?:todo|fixme|wip|next(?: steps?| up)?|open(?: questions?)?|unfinished"
    r"|left to do|still to do|done|finished|closed)\b)?\W*",
    re.IGNORECASE,
)
_DECIDED = re.compile(
    r"\b(?:decid(?:ed|e|es)|decisions?|we chose|agreed (?:to|on|that)|settled on|convention)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
# Before a sentence that is marked, beyond doubt: many models end a note with one.
_MARKED = re.compile(
    r"(?<=[.!?;])[^\S\n]+(?=(?:TODO|FIXME)\b(?!\.)"
    r"|(?:Todo|Next(?: steps?)?|Open(?: questions?)?|Left to do|Still to do|Done) ?:)"
)


def find_open(items: Sequence[BriefItem]) -> list[BriefItem]:
    """What is marked as still to do and was not marked as done since, newest first.

    A line counts by its first word (`TODO`, `Next:`, `- [ ]`), a sentence by its first word in
    capitals or before a colon; an event by its tags as well.
    """
    return [line for line, is_open in _marked(items) if is_open]


def find_settled(items: Sequence[BriefItem]) -> list[BriefItem]:
    """What is marked as still to do, and was marked as done or said again since."""
    return [line for line, is_open in _marked(items) if not is_open]


def _marked(items: Sequence[BriefItem]) -> Iterator[tuple[BriefItem, bool]]:
    settled: set[str] = set()
    for item in items:
        by_tag = item.kind == "todo" or not OPEN_TAGS.isdisjoint(item.tags)
        for line in (item.text,) if by_tag else _lines(item.text):
            what = _MARK.sub("", line, count=1).strip().lower()
            if _DONE.match(line):
                settled.add(what)
            elif what and (by_tag or _OPEN.match(line)):
                yield BriefItem(item.at, line, item.ref, item.kind), what not in settled
                settled.add(what)


def find_decided(items: Iterable[BriefItem]) -> list[BriefItem]:
    """The sentences that say what was decided, and the events that are tagged so, newest first."""
    found = []
    for item in items:
        if not DECIDED_TAGS.isdisjoint(item.tags):
            found.append(item)
            continue
        for line in _lines(item.text):
            sentences = [x for x in _SENTENCE.split(line) if _DECIDED.search(x)]
            if sentences:
                found.append(BriefItem(item.at, " ".join(sentences), item.ref, item.kind))
    return found


def without(items: Iterable[BriefItem], shown: Iterable[BriefItem]) -> list[BriefItem]:
    """The items less the lines that are shown elsewhere; one of which nothing is left goes.

    Args:
        items: What was written, newest first.
        shown: What other parts show of it.
    """
    lines: dict[str, str] = {}
    for item in shown:
        lines[item.ref] = f"{lines.get(item.ref, '')}\n{item.text}"
    left = []
    for item in items:
        elsewhere = lines.get(item.ref, "")
        text = "\n".join(x for x in _lines(item.text) if x not in elsewhere)
        if text:
            left.append(BriefItem(item.at, text, item.ref, item.kind, item.tags))
    return left


def find_distinct(items: Iterable[BriefItem]) -> list[BriefItem]:
    """The items without those that say the same as one before them."""
    seen: dict[str, BriefItem] = {}
    for item in items:
        seen.setdefault(" ".join(item.text.lower().split()), item)
    return list(seen.values())


def _lines(text: str) -> Iterator[str]:
    """The lines, cut before each sentence that is marked as open or done."""
    lines = (part for line in text.splitlines() for part in _MARKED.split(line))
    return (line for line in lines if line.strip())
