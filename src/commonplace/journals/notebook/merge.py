"""Owns how two overviews are merged by Markdown block, without any model.

Pure. Never loses a line of either side, and never chooses where both changed the same.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

_FENCE = re.compile(r" {0,3}(?P<ticks>`{3,}|~{3,})(?P<rest>.*)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")

END = "<!-- both versions agree from here on -->"


class Merged(Struct, frozen=True, kw_only=True):
    """What came of a merge.

    Attributes:
        differing: Places that are marked in the text.
        added: Blocks of one side alone that were new against the base, and stand unmarked.
    """

    text: str
    differing: int
    added: int


def merge(version_a: str, version_b: str, *, base: str | None = None) -> Merged:
    """Both texts as one: what they share once, what differs side by side between marks.

    base: what both began from, where that is known. A block that only one side has and the base has
    not was added: it is taken as it is. All else that differs is marked, with what became of it.
    Every line of either side but blank ones is in the text, in its own order.
    """
    ours, theirs = blocks_of(version_a), blocks_of(version_b)
    began = None if base is None else frozenset(blocks_of(base))
    parts: list[str] = []
    differing = added = 0
    for tag, a, b, c, d in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        left, right = ours[a:b], theirs[c:d]
        if tag == "equal":
            parts += left
        elif began is not None and not (left and right) and began.isdisjoint([*left, *right]):
            added += len(left) + len(right)
            parts += [*left, *right]
        else:
            differing += 1
            if left:
                parts += [f"<!-- version A{_outcome(left, right, began, 'B')}: -->", *left]
            if right:
                parts += [f"<!-- version B{_outcome(right, left, began, 'A')}: -->", *right]
            parts.append(END)
    return Merged(text="\n\n".join(parts), differing=differing, added=added)


def try_merge(base: str, ours: str, theirs: str) -> str | None:
    """The text with what each side changed since the base; None where both changed one place.

    A side that changed nothing gives way as it is; the same change on both sides is one.
    """
    if ours in (theirs, base):
        return theirs
    if theirs == base:
        return ours
    began, left, right = blocks_of(base), _edits(base, ours), _edits(base, theirs)
    parts: list[str] = []
    at = 0
    for edit in sorted({*left, *right}):
        if edit.start < at or any(_overlaps(edit, x) for x in (*left, *right)):
            return None
        parts += [*began[at : edit.start], *edit.blocks]
        at = edit.end
    return "\n\n".join([*parts, *began[at:]])


class _Edit(NamedTuple):
    """Blocks in the place of those from start to end of the base."""

    start: int
    end: int
    blocks: tuple[str, ...]


def _edits(base: str, text: str) -> list[_Edit]:
    began, blocks = blocks_of(base), blocks_of(text)
    return [
        _Edit(a, b, tuple(blocks[c:d]))
        for tag, a, b, c, d in SequenceMatcher(None, began, blocks, autojunk=False).get_opcodes()
        if tag != "equal"
    ]


def _overlaps(edit: _Edit, other: _Edit) -> bool:
    """Whether two edits are of one place: they share a block, or a gap that both fill."""
    if edit == other:
        return False
    if edit.start == other.start and (edit.start == edit.end or other.start == other.end):
        return True
    return edit.start < other.end and other.start < edit.end


def blocks_of(text: str) -> list[str]:
    """The blocks of a Markdown text, without the blank lines between them.

    A heading is a block, so is a fenced listing with its blank lines, and a run of other lines.
    """
    blocks: list[list[str]] = []
    fence = ""
    is_open = False  # whether the next line goes on with the last block
    for line in text.replace("\r\n", "\n").split("\n"):
        found = _FENCE.fullmatch(line)
        if fence:
            blocks[-1].append(line)
            if found and found["ticks"].startswith(fence) and not found["rest"].strip():
                fence, is_open = "", False
        elif found and not ("`" in found["ticks"] and "`" in found["rest"]):
            blocks.append([line])
            fence = found["ticks"]
        elif not line.strip():
            is_open = False
        elif _HEADING.match(line) or not is_open:
            blocks.append([line])
            is_open = not _HEADING.match(line)
        else:
            blocks[-1].append(line)
    return ["\n".join(lines) for lines in blocks]


def _outcome(
    own: Sequence[str], others: Sequence[str], began: frozenset[str] | None, other: str
) -> str:
    """What became of these blocks, seen from what both versions began from."""
    if began is not None and began.issuperset(own):
        return f", unchanged; {other} {'changed' if others else 'took out'} this"
    return "" if others else " alone"
