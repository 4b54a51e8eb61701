"""Two overviews made one by a language model, and the check that its answer loses no line.

Never trusts an answer: what it leaves out is put back and marked, and one that leaves out half is
not taken. Asks no model under a lock, and writes nothing.
"""

from __future__ import annotations

import re
import time
from importlib import resources
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, Unavailable
from commonplace.core.redact import Screen
from commonplace.core.values import Passage, Question
from commonplace.journals.notebook.merge import blocks_of, merge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Literal, TypeAlias

    from commonplace.core.ports import Language

    Maker: TypeAlias = Literal["client", "llm", "merge"]

MOST_CHARACTERS = 48_000
"""Of both versions together; longer ones are merged by block."""

PATIENCE_S = 15.0
"""After so long a second model is not begun: the caller waits a minute at most."""

LEAST_KEPT = 0.5
"""An answer that keeps a smaller share of the lines is none."""

_SPARE_TOKENS = 500
_BYTES_A_TOKEN = 2  # more tokens than there are: an answer that is cut off is lost
_SPARE_CHARACTERS = 2_000
_FEWEST_WORDS = 3
_LEADING = re.compile(r"\s*(?:#{1,6}|[-*+>]|\d{1,9}[.)])(?=\s|$)")
_EDGES = "*_`\"'.,;:!?()[]"
_FENCES = ("```", "~~~")
_SAYS = re.compile(r"\w")
_WRAPPED = re.compile(r"\s*(`{3,})(?:markdown|md)?[ \t]*\n(?P<inside>.*)\n\1\s*", re.DOTALL)

END_OF_LEFT_OUT = "<!-- end of what the model left out -->"


class OverviewPair(Struct, frozen=True, kw_only=True):
    """Two versions of a section's overview; base: what both began from, where that is known."""

    section: str
    version_a: str
    version_b: str
    base: str | None = None
    work_context: str = ""


class Synthesis(Struct, frozen=True, kw_only=True):
    """One text of two, and who made it.

    Attributes:
        text: The merged overview.
        made_by: Who merged: the client's model, the configured one, or a merge by block.
        model: The name of the model, empty without one.
        left_out: Lines that the model left out and that stand at the end, marked.
        own: Lines of the text that stand in neither version.
        differing, added: Of a merge by block, as `Merged` has them.
        notes: Why another maker did not make it.
    """

    text: str
    made_by: Maker
    model: str = ""
    left_out: int = 0
    own: int = 0
    differing: int = 0
    added: int = 0
    notes: tuple[str, ...] = ()


_WHO: dict[Maker, str] = {"client": "The client's model", "llm": "The configured LLM"}


def synthesize(
    sides: OverviewPair,
    makers: Sequence[tuple[Maker, Callable[[], Language | None]]],
    *,
    screen: Screen | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Synthesis:
    """The text of the first maker whose answer can be used, else the merge by block.

    makers: each gives a model when it is asked for one, or None; screen: hides secrets from it.
    """
    notes: list[str] = []
    began = clock()
    if sides.version_a.strip() == sides.version_b.strip():
        makers = ()
    elif len(sides.version_a) + len(sides.version_b) > MOST_CHARACTERS:
        notes.append(f"No model was asked: both are more than {MOST_CHARACTERS:,} characters.")
        makers = ()
    for maker, find in makers:
        if clock() - began > PATIENCE_S:
            break
        try:
            language = find()
            if language is not None:
                return replace(
                    _asked(sides, maker, language, screen or Screen()), notes=tuple(notes)
                )
        except CommonplaceError as exc:
            notes.append(f"{_WHO[maker]} did not make this: {exc.message}")
    merged = merge(sides.version_a, sides.version_b, base=sides.base)
    return Synthesis(
        text=merged.text,
        made_by="merge",
        differing=merged.differing,
        added=merged.added,
        notes=tuple(notes),
    )


def checked(sides: OverviewPair, text: str) -> Synthesis:
    """A model's text with every line of both sides in it, those it left out at the end.

    A line is kept where its words stand in the text, one after the other: marks of lists, headings
    and emphasis, case and line breaks do not count. One of fewer than three words must be a line of
    its own; a code listing must stand there to the letter. Lines without a letter or a digit are
    not looked for, nor is the order of lines, nor how often one stands there.
    Raises: Unavailable where less than half of the lines are kept, or the text is far too long.
    """
    text = text.strip("\n")
    units_a, units_b = (dict.fromkeys(_each_unit(x)) for x in (sides.version_a, sides.version_b))
    answer = _Text(text)
    units = units_a | units_b
    lost = [unit for unit in units if not answer.holds(unit)]
    if len(lost) > (1 - LEAST_KEPT) * len(units):
        raise Unavailable(f"Its answer leaves out {len(lost)} of {len(units)} lines.")
    if len(text) > 2 * (len(sides.version_a) + len(sides.version_b)) + _SPARE_CHARACTERS:
        raise Unavailable("Its answer is far longer than both versions.")
    known = _Text(f"{sides.version_a}\n\n{sides.version_b}")
    own = sum(not known.holds(unit) for unit in _each_unit(text))
    whence = {
        "both versions": [x for x in lost if x in units_a and x in units_b],
        "version A": [x for x in lost if x not in units_b],
        "version B": [x for x in lost if x not in units_a],
    }
    parts = [text]
    if lost:
        # What follows an unclosed listing would be a part of it.
        parts[0] += _missing_fence((blocks_of(text) or [""])[-1])
    for who, group in whence.items():
        if group:
            parts.append(f"<!-- the model left out, from {who}: -->")
            parts += [f"{unit}{_missing_fence(unit)}" for unit in group]
    if lost:
        parts.append(END_OF_LEFT_OUT)
    return Synthesis(text="\n\n".join(parts), made_by="merge", left_out=len(lost), own=own)


def _asked(sides: OverviewPair, maker: Maker, language: Language, screen: Screen) -> Synthesis:
    """What a model makes of both. Raises: as the model; Unavailable for an answer of no use."""
    hidden = screen.hide(
        [sides.version_a, sides.version_b, sides.base or "", sides.section, sides.work_context]
    )
    origins = ("version A", "version B", "what both began from", "the page", "the kind of work")
    passages = tuple(
        Passage(origin=origin, text=text)
        for origin, text in zip(origins, hidden.texts, strict=True)
        if text or origin.startswith("version")
    )
    size = len(f"{sides.version_a}{sides.version_b}".encode("utf-8", "replace"))
    prompt = resources.files("commonplace.verbs.notebook").joinpath("synthesis.md")
    question = Question(
        instructions=prompt.read_text("utf-8"),
        passages=passages,
        max_tokens=size // _BYTES_A_TOKEN + _SPARE_TOKENS,
    )
    completion = language.complete(question)
    if not completion.whole:
        raise Unavailable("Its answer was cut off.")
    text = completion.text
    # Without a fence around all of it, where neither version begins with one.
    wrapped = _WRAPPED.fullmatch(text)
    if wrapped and not any(
        x.lstrip().startswith("```") for x in (sides.version_a, sides.version_b)
    ):
        text = wrapped["inside"]
    made = checked(sides, hidden.shown(text))
    return replace(made, made_by=maker, model=completion.model)


class _Text:
    """A text that can be asked whether it holds a line or a code listing."""

    def __init__(self, text: str) -> None:
        lines = text.replace("\r\n", "\n").split("\n")
        self._lines = _joined([line.rstrip() for line in lines], "\n")
        words = [_words(line) for line in lines]
        self._short = frozenset(words)
        self._words = _joined([word for line in words for word in line], " ")

    def holds(self, unit: str) -> bool:
        """Whether a line, or what a listing holds, stands here."""
        if _is_listing(unit):
            return _joined(_inside(unit), "\n") in self._lines
        words = _words(unit)
        if len(words) < _FEWEST_WORDS:
            return words in self._short
        return _joined(words, " ") in self._words


def _is_listing(block: str) -> bool:
    return block.lstrip().startswith(_FENCES)


def _inside(listing: str) -> list[str]:
    """The lines between the fences, without blank ones at the end."""
    _, *inside = [line.rstrip() for line in listing.split("\n")]
    if not _missing_fence(listing):
        inside.pop()
    while inside and not inside[-1]:
        inside.pop()
    return inside


def _missing_fence(block: str) -> str:
    """What closes an unclosed listing, on a line of its own; else nothing."""
    if not _is_listing(block):
        return ""
    first, *rest = block.split("\n")
    ticks = re.match(r"`+|~+", first.lstrip())
    assert ticks is not None
    last = rest[-1].strip() if rest else ""
    closed = set(last) == set(ticks[0]) and len(last) >= len(ticks[0])
    return "" if closed else f"\n{ticks[0]}"


def _joined(parts: Sequence[str], sign: str) -> str:
    """Parts with the sign between and around them, so that one is found whole."""
    return f"{sign}{sign.join(parts)}{sign}"


def _each_unit(text: str) -> Iterator[str]:
    """What must not be lost: code listings whole, other lines that say something one by one."""
    for block in blocks_of(text):
        if _is_listing(block):
            if any(line.strip() for line in _inside(block)):
                yield block
        else:
            yield from (line for line in block.split("\n") if _SAYS.search(line))


def _words(line: str) -> tuple[str, ...]:
    """The words of a line as they are compared."""
    found = (word.strip(_EDGES).casefold() for word in _LEADING.sub("", line, count=1).split())
    return tuple(word for word in found if word)
