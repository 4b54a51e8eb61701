"""Owns the table of contents: sections and the folders around them, as a tree of nodes.

Pure; reads nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from commonplace.journals.notebook.ledger import SectionTally


class TocNode(Struct, frozen=True, kw_only=True):
    """A section, or a folder without a file of its own (a group), with what lies below it.

    Attributes:
        last_updated: Of itself, of a group the newest below it; None where nothing says.
        subsections: As far as the depth asked for reaches.
        below: How many sections lie below it, at any depth.
    """

    id: str
    type: Literal["section", "group"]
    last_updated: datetime | None
    entry_count: int
    subsections: tuple[TocNode, ...] = ()
    below: int = 0


def build_toc(
    sections: Iterable[str], tallies: Mapping[str, SectionTally], *, top: str, depth: int
) -> tuple[TocNode, ...]:
    """The nodes right below `top`, by name, each with what lies below it to the depth.

    Args:
        sections: The names of all that there are.
        tallies: How many entries each has, and when the newest was.
        top: Empty for the root.
        depth: 1 or more.
    """
    start = f"{top}/" if top else ""
    below: dict[str, list[str]] = {}
    for section in sections:
        if section.startswith(start):
            name = start + section[len(start) :].partition("/")[0]
            below.setdefault(name, []).append(section)
    return tuple(
        _node(name, inside, tallies, depth=depth) for name, inside in sorted(below.items())
    )


def _node(
    name: str, inside: list[str], tallies: Mapping[str, SectionTally], *, depth: int
) -> TocNode:
    is_section = name in inside
    counted = [name] if is_section else inside
    newest = [tallies[x].newest for x in counted if x in tallies]
    return TocNode(
        id=name,
        type="section" if is_section else "group",
        last_updated=max(newest, default=None),
        entry_count=tallies[name].count if is_section and name in tallies else 0,
        subsections=build_toc(inside, tallies, top=name, depth=depth - 1) if depth > 1 else (),
        below=len(inside) - is_section,
    )
