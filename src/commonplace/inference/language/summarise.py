"""Summaries of the timeline's periods by a language model, laid out as the design has them.

Never trusts an answer: one that is cut off, too long, of another form or about something else is
refused, and a sentence with a number that nobody wrote is left out. Stores nothing.
"""

from __future__ import annotations

import hashlib
import re
from importlib import resources
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.clock import local_date, render_date, to_local
from commonplace.core.errors import Invalid
from commonplace.core.fence import visible
from commonplace.core.rollups import (
    NoSummary,
    Summary,
    last_named,
    numbers_of,
    ranked,
    render_numbers,
)
from commonplace.core.text import count_words, opening, words_text
from commonplace.core.values import Passage, Question
from commonplace.inference.language.extract import figures_lines, named_lines, text_of, title_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from commonplace.core.clock import Level
    from commonplace.core.ports import Language
    from commonplace.core.rollups import Material
    from commonplace.core.values import Completion

MOST_WORDS: Mapping[Level, int] = {"hour": 100, "day": 200, "week": 300, "month": 400, "year": 600}
"""The design's limits, and ours for the months and years that it has none for."""

TOO_LONG = 1.5
"""An answer of so many times the limit is none: models count badly, but not so badly."""

MOST_INPUT = 60_000
"""Characters of a question: what is more is shortened, each entry to its share."""

LEAST_SHARED = 0.25
"""The least share of an answer's words that must stand in what it is a summary of."""

_BEFORE = "before"
_FEWEST_WORDS = 3
_LEAST_SHARE = 160
_TOKENS_A_WORD = 8  # a model that thinks first spends most of them unseen
_NAMES = 20
_HEADINGS: Mapping[Level, tuple[str, ...]] = {
    "hour": (),
    "day": ("Accomplishments", "Projects", "Progress", "Blockers", "Next Steps"),
    "week": (
        *("Major Achievements", "Project Status", "Key Wins", "Trends", "Learnings", "Next Week"),
    ),
    "month": (
        *("Overview", "Major Achievements", "Projects", "Decisions", "Challenges", "Learnings"),
        "Ahead",
    ),
    "year": (
        *("Overview", "Milestones", "Projects", "Decisions", "Challenges", "Learnings", "Ahead"),
    ),
}

_HEADING = re.compile(
    r"\s*(?P<marks>#{0,6}\s*\*{0,2})(?P<name>[A-Z][A-Za-z -]{2,30}?)"
    r"\*{0,2}\s*:\s*\*{0,2}\s*(?P<rest>.*)"
)
_BULLET = re.compile(r"^\s*(?:[-*•+]|\d{1,2}[.)])\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+")
_TIME = re.compile(r"^\s*\[\d{1,2}:\d{2}\s*[-\u2013]\s*\d{1,2}:\d{2}\]\s*")
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]+")


class Price(Struct, frozen=True, kw_only=True):
    """What a million tokens cost in US dollars, those read and those written."""

    tokens_in: float
    tokens_out: float

    @classmethod
    def parse(cls, text: str) -> Price:
        """A price from what `llm.price` holds: `1/5`."""
        read, _, written = text.partition("/")
        return cls(tokens_in=float(read), tokens_out=float(written))

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """What an answer cost."""
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1_000_000


class ModelSummariser:
    """A model that puts some levels into words; see `core.rollups.Summariser`. Thread-safe.

    Args:
        model: Its name as it is configured.
        price: None where it is not known.
    """

    def __init__(
        self, language: Language, *, model: str, levels: Sequence[Level], price: Price | None = None
    ) -> None:
        self._language = language
        self._prompts = {level: read_prompt(level) for level in levels}
        self._price = price
        digest = hashlib.sha256("\n".join(self._prompts.values()).encode()).hexdigest()
        self._generator = f"{model} {digest[:8]}"

    @property
    def generator(self) -> str:
        """The model's name and a hash of its prompts."""
        return self._generator

    def takes(self, material: Material) -> bool:
        """Its levels; private text only where the model may see it."""
        if material.level not in self._prompts or not any(x.text for x in material.items):
            return False
        return not material.is_private or self._language.sees_private

    def summarise(self, material: Material) -> Summary:
        """The period in words. Raises: as the port."""
        passages = passages_of(material)
        question = Question(
            instructions=self._prompts[material.level],
            passages=passages,
            max_tokens=MOST_WORDS[material.level] * _TOKENS_A_WORD,
            is_private=material.is_private,
        )
        said = self._language.complete(question)
        price = self._price
        spent = Summary(
            text="",
            generator=self._generator,
            model=said.model,
            tokens_in=said.tokens_in,
            tokens_out=said.tokens_out,
            cost_usd=None if price is None else price.of(said.tokens_in, said.tokens_out),
        )
        try:
            return replace(spent, text=lay_out(said, material, passages))
        except Invalid as exc:
            raise NoSummary(exc.message, hint=exc.hint, spent=spent) from exc


_RETRY = "Try again; if it stays so, name another model."


def read_prompt(level: Level) -> str:
    """Our instructions for a level: the rules of all, then its own."""
    folder = resources.files("commonplace.inference.language").joinpath("prompts")
    texts = (folder.joinpath(f"{name}.md").read_text("utf-8") for name in ("rules", level))
    return "\n".join(texts)


def passages_of(material: Material) -> tuple[Passage, ...]:
    """What a model is shown of a period, oldest first, in at most `MOST_INPUT` characters or so.

    Longer entries are shortened to their share; where even shares are too short, entries are left
    out evenly, and the question says how many.
    """
    # Of an entry that expired unquoted there is no text.
    items = tuple(x for x in material.items if x.text)
    most = max(2, MOST_INPUT // _LEAST_SHARE)
    if len(items) > most:
        # The first and the last are always among them.
        items = tuple(items[round(n * (len(items) - 1) / (most - 1))] for n in range(most))
    share = _share([len(item.text) for item in items])
    passages = [
        Passage(origin=_origin(item.at, material), text=opening(item.text, share))
        if len(item.text) > share
        else Passage(origin=_origin(item.at, material), text=item.text)
        for item in items
    ]
    counted = Passage(origin="counted", text="\n".join(_counted(material, left=len(items))))
    return (counted, *_before(material), *passages)


def _before(material: Material) -> Iterator[Passage]:
    """The period before: what was counted in it, and its summary."""
    if before := material.before:
        counted = _counted(before.material, left=0)
        text = "\n".join([*counted, "", text_of(before.material, before.points)])
        yield Passage(origin=_BEFORE, text=text)


def lay_out(answer: Completion, material: Material, passages: Sequence[Passage]) -> str:
    """An answer in the form of its level. Raises: Invalid where it is cut, or has no such form."""
    if not answer.whole:
        raise Invalid(f"The summary of {material.key} was cut off.", hint=_RETRY)
    lines = [line.rstrip() for line in visible(answer.text).strip().split("\n")]
    known = _Known(material, passages)
    body = _hour(lines, known) if material.level == "hour" else _headed(lines, material, known)
    said = "\n".join(body)
    words = count_words(said)
    if words < _FEWEST_WORDS:
        raise Invalid(f"The summary of {material.key} says nothing of it.", hint=_RETRY)
    if words > MOST_WORDS[material.level] * TOO_LONG:
        raise Invalid(f"The summary of {material.key} has {words} words.", hint=_RETRY)
    if not known.shares(said):
        raise Invalid(f"The summary of {material.key} is about something else.", hint=_RETRY)
    figures, written = figures_lines(material), set[str]()
    if material.level == "hour":
        start, end = (_clock(at, material) for at in (material.period.start, material.period.end))
        body[0] = f"[{start}-{end}] {body[0]}"
    else:
        written = {line.strip("*:") for line in body if line.startswith("**")}
        body.insert(0, f"**{title_of(material)}**")
        figures = ["", *figures] if figures else []
    # What entries counted and named comes from them, whatever a model makes of it.
    return "\n".join([body[0], *figures, *body[1:], *named_lines(material, without=written)])


class _Known:
    """What stands in a period: its numbers and its words."""

    def __init__(self, material: Material, passages: Sequence[Passage]) -> None:
        texts = [x.origin + " " + x.text for x in passages if x.origin != _BEFORE]
        start, end = material.period.start, material.period.end
        texts += [render_date(local_date(at, material.zone)) for at in (start, end) if at]
        texts += [material.key, *(_clock(at, material) for at in (start, end))]
        self._stems = _stems("\n".join(texts).casefold())
        # What was before may be compared with; a summary of that alone is about something else.
        texts += [x.text for x in passages if x.origin == _BEFORE]
        self._numbers = {x.lstrip("0") for text in texts for x in _NUMBER.findall(text)}

    def true(self, line: str) -> str:
        """A line without the sentences that hold a number nobody wrote."""
        return " ".join(
            sentence
            for sentence in _SENTENCE_END.split(line)
            if all(x.lstrip("0") in self._numbers for x in _NUMBER.findall(sentence))
        )

    def shares(self, text: str) -> bool:
        """Whether enough of a text's words stand there, however they end."""
        stems = _stems(text)
        return len(stems & self._stems) >= LEAST_SHARED * len(stems)


def _hour(lines: Sequence[str], known: _Known) -> list[str]:
    """Plain sentences: without a time or a greeting that the model put before, and bullets."""
    found = [_BULLET.sub("", line, count=1) for line in lines if line.strip()]
    if len(found) > 1 and found[0].endswith((":", "\uff1a")):
        del found[0]
    if found:
        found[0] = _TIME.sub("", found[0], count=1)
    return [true for line in found if (true := known.true(line.strip()))]


def _headed(lines: Sequence[str], material: Material, known: _Known) -> list[str]:
    """The level's headings with what stands under each, those without anything left out.

    What stands before the first of them (a date, a greeting) goes, and what stands under others.
    Raises: Invalid for none.
    """
    names = {name.casefold(): name for name in _HEADINGS[material.level]}
    sections: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in lines:
        found = _HEADING.fullmatch(line)
        name = names.get(found["name"].strip().casefold()) if found else None
        if found and (name or found["marks"]):
            current = sections.setdefault(name, []) if name else None
            line = found["rest"]  # noqa: PLW2901  what stands beside a heading stands under it
        if current is not None and (true := known.true(_plain(line))):
            current.append(true)
    if not sections:
        raise Invalid(f"The summary of {material.key} has none of its headings.", hint=_RETRY)
    body: list[str] = []
    for name in _HEADINGS[material.level]:
        if section := sections.get(name):
            body += ["", f"**{name}**:", *section]
    return body


def _plain(line: str) -> str:
    """A line with one kind of bullet."""
    found = _BULLET.match(line)
    return f"• {line[found.end() :].strip()}" if found else line.strip()


def _share(lengths: Sequence[int]) -> int:
    """To how many characters the longer texts are cut so that all together fit."""
    left, open_ = MOST_INPUT, sorted(lengths)
    while open_ and open_[0] <= left // len(open_):
        left -= open_.pop(0)
    return left // len(open_) if open_ else max(lengths, default=0)


def _origin(at: datetime, material: Material) -> str:
    """When an entry was, or which period a summary is of."""
    if material.level == "hour":
        return _clock(at, material)
    if material.level == "day":
        return f"hour from {_clock(at, material)}"
    day = local_date(at, material.zone)
    return render_date(day) if material.level != "year" else render_date(day).partition(" ")[2]


def _counted(material: Material, *, left: int) -> Iterator[str]:
    figures = material.figures
    yield f"period: {title_of(material)}"
    yield f"entries: {figures.entries}"
    yield f"active hours: {figures.hours}"
    for label, counts in (
        ("projects", figures.projects),
        ("tags", figures.tags),
        ("actions", figures.actions),
        ("tools", figures.tools),
    ):
        if counts:
            names = (f"{opening(x, 60)} ({counts[x]})" for x in ranked(counts, _NAMES))
            yield f"{label}: {', '.join(names)}"
    if numbers := render_numbers(numbers_of(figures)):
        yield f"figures: {numbers}"
    for label, named in (("blockers", figures.blockers), ("milestones", figures.milestones)):
        if named:
            yield f"{label}:"
            for name, at in last_named(named, _NAMES):
                yield f"- {render_date(local_date(at, material.zone))}: {name}"
    there = sum(bool(item.text) for item in material.items)
    if left < there:
        yield f"shown below: {left} of {there}"


def _clock(at: datetime | None, material: Material) -> str:
    assert at is not None
    return f"{to_local(at, material.zone):%H:%M}"


def _stems(text: str) -> set[str]:
    """What its longer words begin with, so that endings do not count; pairs of CJK characters."""
    words = _WORD.findall(words_text(text.casefold()))
    return {word[:5] for word in words if len(word) > (3 if word.isascii() else 1)}
