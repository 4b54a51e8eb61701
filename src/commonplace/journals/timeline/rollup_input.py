"""Owns what a rollup is made from: the rows of a period, counted, linked and hashed.

Only reads; a period's smaller ones are taken as they are, and those that are missing are named.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.core.clock import parse_time, period_key, render_time
from commonplace.core.rollups import Figures, Item, Material, Point, last_named, numbers_of, ranked
from commonplace.journals.timeline.due_periods import MADE_FROM, PeriodSpan, smaller_of
from commonplace.journals.timeline.entry import (
    JOURNAL,
    LEVELS,
    SUPERSEDES,
    id_of,
    ref_of,
    unpack_id,
)
from commonplace.journals.timeline.figures import (
    NAMED,
    figures_of,
    merged,
    parse_figures,
    render_figures,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from commonplace.core.time_book import TimeBook
    from commonplace.journals.timeline.ports import TimelineRows


_NAMES_KEPT = 50
_SENTENCE_END = re.compile(r"[.!?]+(?=\s|$)|\n")


class FedEntry(Struct, frozen=True, kw_only=True):
    """An entry of another journal, as a rollup reads it: linked by its ref, never copied."""

    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    is_private: bool = False


class Feed(Protocol):
    """What opens entries of other journals for a rollup."""

    def read(self, refs: Sequence[str]) -> Mapping[str, FedEntry]:
        """The entries under these refs; one that is gone is left out.

        Raises: Unavailable where a journal does not answer now.
        """
        ...


class Part(Struct, frozen=True, kw_only=True):
    """One thing a period is made from.

    Attributes:
        link: Its number and hash; None for what is not stored.
        names: Its id, or where it is not stored the ids of what it is made from.
        figures: Of a smaller rollup; a raw entry's are counted together.
        span: The period of a smaller rollup.
        is_replaced: Whether another entry took its place: it is counted, but not in the text.
        former: The time of the entry whose place it took; None for none.
    """

    item: Item
    names: tuple[str, ...]
    link: tuple[int, bytes] | None = None
    figures: Figures = field(default_factory=Figures)
    span: PeriodSpan | None = None
    is_replaced: bool = False
    former: datetime | None = None


class RollupInput(Struct, frozen=True, kw_only=True, dict=True):
    """A period's material as it lies in rows.

    Attributes:
        figures: Of all its parts.
        missing: Smaller periods in which something was recorded, and which are not rolled up.
        empty: Those in which nothing was.
        expected: How many there are in all.
    """

    span: PeriodSpan
    key: str
    parts: tuple[Part, ...] = ()
    figures: Figures = field(default_factory=Figures)
    missing: tuple[PeriodSpan, ...] = ()
    empty: tuple[PeriodSpan, ...] = ()
    expected: int = 0

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """What a summariser reads, oldest first."""
        return tuple(sorted((x.item for x in self.parts), key=lambda x: (x.at, x.ref)))

    @cached_property
    def links(self) -> tuple[tuple[int, bytes], ...]:
        """What it is linked to."""
        return tuple(x.link for x in self.parts if x.link is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """The ids of what it is made from."""
        return tuple(name for part in self.parts for name in part.names)

    @cached_property
    def input_hash(self) -> bytes:
        """A token of all it is made from."""
        digest = hashlib.sha256(f"{self.span.level} {self.key} {self.span.zone_name}".encode())
        for (source, linked), part in sorted(
            ((x.link, x) for x in self.parts if x.link is not None), key=lambda found: found[0]
        ):
            digest.update(f"|{source} ".encode() + linked)
            if part.is_replaced:
                digest.update(b" replaced")
            if part.span is not None:
                # A rollup may count and quote otherwise and read the same.
                counted = json.dumps(render_figures(part.figures), sort_keys=True)
                digest.update(f"{counted} {render_points(part.item.points)}".encode())
        return digest.digest()[:16]

    @property
    def is_private(self) -> bool:
        """Whether any of it comes from the private journal."""
        return any(item.is_private for item in self.items)

    def material(self, owner: str) -> Material:
        """The same as a summariser sees it."""
        return Material(
            owner=owner,
            level=self.span.level,
            key=self.key,
            period=self.span.interval,
            zone=self.span.zone,
            items=self.items,
            figures=self.figures,
        )


def empty_input(span: PeriodSpan) -> RollupInput:
    """A period in which nothing was recorded."""
    return RollupInput(span=span, key=period_key(span.start, span.level, span.zone))


def gather(conn: TimelineRows, span: PeriodSpan, owner: str) -> RollupInput:
    """All that a period is made from, read in one transaction of the caller's."""
    return _of_entries(conn, span) if span.level == "hour" else _of_rollups(conn, span, owner)


def without_replaced(found: RollupInput, book: TimeBook | None) -> RollupInput:
    """The same input, with entries replaced by one that is gone counted, but not in the text.

    Asked of another store: outside of a transaction. Two that each held a connection of a database
    and wanted a second one, where there are two in all, waited for each other.
    """
    known = {} if book is None else book.find(part.item.ref for part in found.parts)
    if not known:
        return found
    parts = [
        replace(part, item=replace(part.item, text=""), is_replaced=True)
        if part.item.ref in known
        else part
        for part in found.parts
    ]
    return replace(found, parts=tuple(parts))


def read_fed(found: RollupInput, feed: Feed | None) -> RollupInput:
    """The same with the texts of other journals' entries; one that is gone is left out.

    Raises: Unavailable where a journal does not answer.
    """
    refs = [x.item.ref for x in found.parts if x.item.journal != JOURNAL]
    if not refs:
        return found
    read = {} if feed is None else feed.read(refs)
    parts: list[Part] = []
    counted: list[tuple[datetime, Mapping[str, Any]]] = []
    for part in found.parts:
        fed = read.get(part.item.ref)
        if part.item.journal == JOURNAL:
            parts.append(part)
        elif fed is not None:
            text = _text_of_part(part, fed.text, found.span)
            item = replace(part.item, text=text, is_private=fed.is_private)
            parts.append(replace(part, item=item))
            counted.append((item.at, fed.metadata))
    figures = merged([found.figures, figures_of(counted)])
    # Both are of one hour.
    figures = replace(figures, hours=min(figures.hours, 1))
    return replace(found, parts=tuple(parts), figures=figures)


def _of_entries(conn: TimelineRows, span: PeriodSpan) -> RollupInput:
    asked = {"start": render_time(span.start), "end": render_time(span.end)}
    parts: list[Part] = []
    counted: list[tuple[datetime, Mapping[str, Any]]] = []
    rows = conn.run("raw_within", asked).fetchall()
    facts_of = {row[0]: json.loads(row[4]) if row[4] != "{}" else {} for row in rows}
    # An entry that was corrected within the hour is counted once, as it is now.
    put_right = {facts.get(SUPERSEDES) for facts in facts_of.values()}
    for seq, entry_id, timestamp, content, _, digest, is_replaced in rows:
        at, ref = parse_time(timestamp), ref_of(entry_id)
        part = Part(
            item=Item(ref=ref, at=at, text=""),
            names=(entry_id,),
            link=(seq, digest),
            is_replaced=bool(is_replaced),
            former=_former_time(conn, facts_of[seq]),
        )
        text = _text_of_part(part, content, span)
        parts.append(replace(part, item=replace(part.item, text=text)))
        if ref not in put_right:
            counted.append((at, facts_of[seq]))
    expired = conn.run("expired_within", asked)
    for seq, packed, timestamp, facts, points, digest in expired:
        at, quoted, entry_id = parse_time(timestamp), parse_points(points), unpack_id(packed)
        text = "\n".join(x.text for x in quoted)
        item = Item(ref=ref_of(entry_id), at=at, text=text, points=quoted)
        parts.append(Part(item=item, names=(entry_id,), link=(seq, digest)))
        counted.append((at, json.loads(facts)))
    fed = conn.run("fed_within", asked)
    for seq, ref, journal, timestamp, digest, is_replaced, former in fed:
        part = Part(
            item=Item(ref=ref, at=parse_time(timestamp), text="", journal=journal),
            names=(ref,),
            link=(-seq, digest),
            is_replaced=bool(is_replaced),
            former=parse_time(former) if former else None,
        )
        parts.append(part)
    return replace(empty_input(span), parts=tuple(parts), figures=figures_of(counted))


def _text_of_part(part: Part, text: str, span: PeriodSpan) -> str:
    """The text of an entry for a rollup; empty for a replaced one.

    An entry that replaced one of an earlier day names that day.
    """
    if part.is_replaced:
        return ""
    if part.former is None:
        return text
    former = part.former.astimezone(span.zone).date()
    if former == part.item.at.astimezone(span.zone).date():
        return text
    note = f" (replaces what was said on {former.day} {former:%B %Y})"
    end = _SENTENCE_END.search(text)
    at = end.start() if end else len(text.rstrip())
    return text[:at] + note + text[at:]


def _former_time(conn: TimelineRows, facts: Mapping[str, Any]) -> datetime | None:
    """The time of the entry of the timeline whose place another took; None for none."""
    ref = facts.get(SUPERSEDES)
    if not isinstance(ref, str) or not ref.startswith(f"{JOURNAL}:"):
        return None
    row = conn.run("raw_time", {"id": id_of(ref)}).fetchone()
    return parse_time(row[0]) if row else None


def _of_rollups(conn: TimelineRows, span: PeriodSpan, owner: str) -> RollupInput:
    smaller = MADE_FROM[span.level]
    assert smaller is not None
    expected = smaller_of(span)
    asked = {
        "thread_id": owner,
        "level": LEVELS.index(smaller) + 1,
        "start": render_time(span.start),
        "end": render_time(span.end),
        "tz": span.zone_name,
    }
    around = replace(span, level=smaller)
    rows = conn.run("children", asked)
    made = {parse_time(row[2]): _child(row, around) for row in rows}
    unmade = [x for x in expected if x.start not in made]
    missing = [x for x in unmade if has_raw(conn, x)]
    filled = tuple(x for x in made.values() if x.figures.entries)
    return replace(
        empty_input(span),
        parts=filled,
        figures=merged([x.figures for x in filled]),
        missing=tuple(missing),
        empty=tuple(x for x in unmade if x not in missing),
        expected=len(expected),
    )


def _child(row: tuple[Any, ...], around: PeriodSpan) -> Part:
    seq, entry_id, start, end, content, kind, digest, figures, points, is_private = row
    counted = parse_figures(json.loads(figures))
    began = parse_time(start)
    item = Item(
        ref=ref_of(entry_id),
        at=began,
        text=content,
        kind=kind,
        entries=counted.entries,
        points=parse_points(points),
        is_private=bool(is_private),
    )
    span = replace(around, start=began, end=parse_time(end))
    return Part(item=item, names=(entry_id,), link=(seq, digest), figures=counted, span=span)


def has_raw(conn: TimelineRows, span: PeriodSpan) -> bool:
    """Whether anything was recorded in a period and is still there."""
    asked = {"start": render_time(span.start), "end": render_time(span.end)}
    return bool(conn.run("has_raw", asked).fetchone()[0])


def facts_of(
    found: RollupInput, *, generator: str, model: str = "", tokens: int = 0
) -> dict[str, Any]:
    """What a rollup's metadata holds, in the design's keys and ours; numbers from rows alone."""
    figures = found.figures
    facts: dict[str, Any] = {
        "source_entry_count": len(found.parts),
        "entries": figures.entries,
        "hours_active": figures.hours,
        "projects": ranked(figures.projects, _NAMES_KEPT),
        "tags": ranked(figures.tags, _NAMES_KEPT),
        "actions_taken": ranked(figures.actions, _NAMES_KEPT),
        "tools_used": ranked(figures.tools, _NAMES_KEPT),
        "period": found.key,
        "timezone": found.span.zone_name,
        "generator": generator,
        "llm_model": model or None,
        "rollup_cost_tokens": tokens,
    }
    if figures.first and figures.last:
        facts |= {"first": render_time(figures.first), "last": render_time(figures.last)}
    if found.expected:
        facts["coverage"] = {"present": len(found.parts), "expected": found.expected}
    for part in NAMED:
        if named := last_named(getattr(figures, part), _NAMES_KEPT):
            facts[part] = [name for name, _ in named]
    return {**facts, **numbers_of(figures)}


def render_points(points: Sequence[Point]) -> str:
    """Points as they are stored."""
    return json.dumps(
        [[x.ref, x.at.isoformat(), x.text, x.weight, int(x.decision)] for x in points],
        ensure_ascii=False,
        separators=(",", ":"),
    )


def parse_points(text: str) -> tuple[Point, ...]:
    """Points from what `render_points` wrote."""
    return tuple(
        Point(ref=ref, at=parse_time(at), text=said, weight=weight, decision=bool(decision))
        for ref, at, said, weight, decision in json.loads(text)
    )
