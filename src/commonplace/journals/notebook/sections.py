"""The values that a notebook's verbs answer, and their rules, whatever keeps its sections.

Pure; never asks git, a disk or a database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct

from commonplace.core.clock import local_date, render_date
from commonplace.core.errors import Conflict, Invalid, NotFound, Outdated
from commonplace.core.text import opening
from commonplace.journals.notebook.format import TAKEN_BACK, ref_of
from commonplace.journals.notebook.names import parse_new_section, refuse_twin

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping
    from datetime import datetime, tzinfo

    from commonplace.journals.notebook.format import NotebookEntry, SectionFile
    from commonplace.journals.notebook.names import SectionAddress

MOST_BACKLINKS = 20
"""Texts with a link to one that are named; the others are counted."""

_MOST_LINES = 1000
_MOST_LEVELS = 64


class EntryLine(Struct, frozen=True, kw_only=True):
    """An entry in a list: where it is now, its id for good, its first line.

    Attributes:
        hash: Of its commit now; empty for one that a database keeps and that never was a commit.
        expires: When it expires; None for never.
        branches: The other branches that hold it; empty for one of the notebook's own.
        author: Who wrote it, in the notebook of a space; else empty.
    """

    id: str
    section: str
    hash: str
    at: datetime
    summary: str
    expires: datetime | None = None
    branches: tuple[str, ...] = ()
    author: str = ""

    @property
    def ref(self) -> str:
        """Its address for good: `notebook:api/errors#<entry id>`."""
        return ref_of(self.section, self.id)

    def has_expired(self, now: datetime) -> bool:
        """Whether it has expired by then."""
        return self.expires is not None and self.expires <= now


class ReplacedEntry(Struct, frozen=True, kw_only=True):
    """An entry and the one that took its place.

    Attributes:
        is_on_one_line: Whether nothing was merged since, so that every later commit follows it.
    """

    former: EntryLine
    successor: EntryLine
    is_on_one_line: bool


class LinkingText(Struct, frozen=True, kw_only=True):
    """A text with a link in it: an entry, or the overview of a section, which has no line."""

    section: str
    line: EntryLine | None = None

    @property
    def ref(self) -> str:
        """Its address."""
        return self.line.ref if self.line else ref_of(self.section)


class Backlinks(Struct, frozen=True, kw_only=True):
    """The first texts that link to something, and how many there are."""

    texts: tuple[LinkingText, ...] = ()
    count: int = 0


class SectionCount(Struct, frozen=True):
    """How many entries a section has, and when the newest was."""

    count: int
    newest: datetime


class Section(Struct, frozen=True, kw_only=True):
    """A section as it is now.

    Attributes:
        version: Of the overview.
        last_entry: None where there is none.
        author: Who put the overview in place, in the notebook of a space; else empty.
    """

    name: str
    overview: str
    version: str
    entry_count: int
    last_entry: EntryLine | None
    author: str = ""


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


class OverviewConflict(Outdated):
    """The overview is another than the one that was read, or was not read at all.

    Nothing was written.

    Args:
        section: Whose.
        base_version: What was read, empty for nothing.
        there: What is there now; `version` and `current` are of it.
        yours: What was to be written.
    """

    def __init__(self, section: str, base_version: str, there: SectionFile, yours: str) -> None:
        self.section = section
        self.base_version = base_version
        self.version = there.version
        self.current = there.overview
        self.yours = yours
        read = f"you read {base_version}" if base_version else "you have not read it"
        super().__init__(
            f"The overview of {section} is at version {self.version}, {read}; nothing was written.",
            hint=f"Read {section}, merge both texts, then write with base_version {self.version}.",
        )


class WrittenEntry(Struct, frozen=True, kw_only=True):
    """An entry that is written, and its section with it.

    Attributes:
        overview, version: The section's, with it.
        entry_count: Of the section, with it.
        repeated: An earlier call with the same key wrote it.
        notes: Sentences on what of the folder was left as it is.
    """

    entry: NotebookEntry
    overview: str
    version: str
    entry_count: int
    repeated: bool = False
    notes: tuple[str, ...] = ()


class SectionMoves(NamedTuple):
    """Each former name of a section with the new one, and what of the folder was left as it was."""

    pairs: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def check_base(section: str, there: SectionFile, yours: str, base_version: str) -> None:
    """Refuse a new overview that was not written over the one that is there.

    Raises: OverviewConflict.
    """
    is_read = base_version == there.version or not (there.overview or base_version)
    if yours != there.overview and not is_read:
        raise OverviewConflict(section, base_version, there, yours)


def pairs_to_move(
    old: str,
    new: str,
    sections: Iterable[str],
    *,
    below: bool,
    has_entries: Callable[[str], object],
) -> tuple[tuple[str, str], ...]:
    """Each section that a move is of, with its new name; a folder alone goes with all below it.

    has_entries: Whether a section has entries, or had.
    Raises: Invalid, Conflict where a new name is, or was, another's.
    """
    known = set(sections)
    pairs = [(old, new)] if old in known else []
    if below or not pairs:
        inside = sorted(x for x in known if x.startswith(f"{old}/"))
        if inside and f"{new}/".startswith(f"{old}/"):
            raise Invalid(f"{new} lies in {old}.", hint="Choose a name outside it.")
        pairs += [(x, parse_new_section(new + x.removeprefix(old))) for x in inside]
    stay = sorted(known - {x for x, _ in pairs})
    for _, target in pairs:
        if target in stay or has_entries(target):
            what = f"There is, or was, a section {target} already."
            raise Conflict(what, hint="Choose another name.")
        refuse_twin(target, stay)
    return tuple(pairs)


def nodes_below(
    sections: Iterable[str], counts: Mapping[str, SectionCount], *, top: str, depth: int
) -> tuple[TocNode, ...]:
    """The nodes right below `top`, by name, each with what lies below it to the depth.

    Args:
        sections: The names of all that there are.
        counts: Of those that ever had an entry.
        top: Empty for the root.
        depth: 1 or more.
    """
    start = f"{top}/" if top else ""
    below: dict[str, list[str]] = {}
    for section in sections:
        if section.startswith(start):
            name = start + section[len(start) :].partition("/")[0]
            below.setdefault(name, []).append(section)
    nodes = []
    deeper = depth - 1
    for name, inside in sorted(below.items()):
        is_section = name in inside
        own = counts.get(name) if is_section else None
        dated = [own] if is_section else [counts.get(x) for x in inside]
        nodes.append(
            TocNode(
                id=name,
                type="section" if is_section else "group",
                last_updated=max((x.newest for x in dated if x is not None), default=None),
                entry_count=own.count if own is not None else 0,
                subsections=nodes_below(inside, counts, top=name, depth=deeper) if deeper else (),
                below=len(inside) - is_section,
            )
        )
    return tuple(nodes)


def no_entry(address: SectionAddress) -> NotFound:
    """What to raise for an entry that is not there."""
    return NotFound(
        f"There is no entry {opening(address.entry, 60)!r} in {address.section}.",
        hint=(
            "List its entries: journal_list_entries, or"
            f" `commonplace notebook log {opening(address.section, 80)}`."
        ),
    )


def no_section(name: str, now: str) -> NotFound:
    """What to raise for a section that is not there. now: what it is called now."""
    hint = (
        f"It was moved: read {now}."
        if now != name
        else "List what is there (journal_toc, or `commonplace notebook toc`), or write to it."
    )
    return NotFound(f"There is no section {opening(name, 80)!r}.", hint=hint)


def no_longer(entry: NotebookEntry, zone: tzinfo, *, kept: str, remedy: str) -> NotFound:
    """What to raise for an entry that has expired.

    kept: What still holds it, in a few words; remedy: how it leaves that for good.
    """
    what = "was taken back"
    if entry.expires is not None and entry.expires != TAKEN_BACK:
        what = f"expired on {render_date(local_date(entry.expires, zone))}"
    return NotFound(
        f"{entry.ref} {what}; {kept} still holds it.",
        hint=f"{remedy}; or bring it back: `commonplace expire {entry.ref} --never`.",
    )


def check_page(start: int, length: int) -> None:
    """Refuse a page that is none. Raises: Invalid."""
    if start < 0 or not 1 <= length <= _MOST_LINES:
        raise Invalid(
            f"Invalid page: start {start}, length {length}.",
            hint=f"Use a start of 0 or more and a length of 1 to {_MOST_LINES}.",
        )


def check_depth(depth: int) -> None:
    """Refuse a depth that no table of contents has. Raises: Invalid."""
    if not 1 <= depth <= _MOST_LEVELS:
        raise Invalid(f"Invalid depth: {depth}.", hint=f"Use 1 to {_MOST_LEVELS}.")


def find_node(
    name: str, sections: Iterable[str], counts: Mapping[str, SectionCount], *, depth: int
) -> TocNode | None:
    """A section, or a group, with so many levels of what lies below it; None for none."""
    nodes = nodes_below(sections, counts, top=name.rpartition("/")[0], depth=depth + 1)
    return next((node for node in nodes if node.id == name), None)


def sole_line(
    lines: Iterable[EntryLine], names: Container[str], address: SectionAddress
) -> EntryLine:
    """The one entry of these that lies in a section. Raises: NotFound, Invalid for several."""
    found = {x.id: x for x in lines if x.section in names}
    if len(found) > 1:
        raise Invalid(
            f"{address.entry} is the beginning of {len(found)} entries of {address.section}.",
            hint="Give more of it, or the entry id.",
        )
    if not found:
        raise no_entry(address)
    return next(iter(found.values()))
