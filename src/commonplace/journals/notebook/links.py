"""Owns what a link is in a text of the notebook: `[[section]]`, and `path#id` of an entry.

Pure; never asks whether what a link names is there.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from commonplace.journals.notebook.format import ref_of, summary_of
from commonplace.journals.notebook.names import SUFFIX, why_nameless

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_LINKS = 1000
"""Links of one text that are indexed: what follows is as good as not linked."""

SHORTEST_ID = 6
"""Signs of an entry's id or hash, at the least, in a link."""

_LONGEST = 400
_UUID_START = "[0-9a-f]{8}-(?:[0-9a-f]{4}-){0,3}[0-9a-f]{1,12}"
# Six hex digits as in the design, but no word ("decade") and no number of an issue.
_HASH = "(?=[0-9a-f]{0,5}[0-9])(?=[0-9a-f]{0,5}[a-f])[0-9a-f]{6}|[0-9a-f]{7,64}"
_ID = f"{_UUID_START}|{_HASH}"
_ENTRY = re.compile(_ID, re.IGNORECASE)
_APART = r"\s\\*?\"<>|`'()\[\]{},;!="
_LINK = re.compile(
    rf"(?<!\\)\[\[(?P<named>[^\s\[\]|][^\[\]\n|]{{0,{_LONGEST}}}+)(?:\|[^\[\]\n]{{0,{_LONGEST}}}+)?\]\]"
    rf"|(?<![^{_APART}])(?P<path>[^#{_APART}]{{1,{_LONGEST}}}+)#(?P<id>{_ID})(?![\w-])",
    re.IGNORECASE,
)
_FENCE = re.compile(
    r"^[ \t>]*+(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]++)?(?P<mark>`{3,}+|~{3,}+)(?P<rest>[^\n]*+)$",
    re.MULTILINE,
)
_RUN = re.compile(r"(?<!\\)(?P<escapes>\\*+)(?P<ticks>`++)|\n[ \t]*+\n")


class Link(NamedTuple):
    """What a link names: a section, and one of its entries by id or hash, or none."""

    section: str
    entry: str = ""

    @property
    def ref(self) -> str:
        """It as an address, whether or not it leads somewhere."""
        return ref_of(self.section, self.entry)


def beginnings_of(entry_names: Iterable[str]) -> list[str]:
    """What a link may have of the ids and hashes of an entry."""
    return [name[:end] for name in entry_names for end in range(SHORTEST_ID, len(name) + 1)]


def entry_links(summary: str, text: str) -> tuple[Link, ...]:
    """The links of an entry: of its text, and of a summary that is not taken from it."""
    own = "" if "[[" not in summary and "#" not in summary else summary
    if own == summary_of(text):
        own = ""
    return links_of(f"{own}\n\n{text}" if own else text)


def links_of(text: str) -> tuple[Link, ...]:
    """The links of a text, each once, the first thousand; those in code are none."""
    if "[[" not in text and not ("#" in text and _ENTRY.search(text)):
        return ()
    found: dict[Link, None] = {}
    read = set[str]()  # a text that says one thing a million times takes a third of the time so
    for match in _LINK.finditer(_without_code(text)):
        if match[0] in read:
            continue
        read.add(match[0])
        named = match["named"]
        link = _link_to(named) if named else _link(match["path"], match["id"].lower())
        if link is not None:
            found[link] = None
            if len(found) == MOST_LINKS:
                break
    return tuple(found)


def _link_to(named: str) -> Link | None:
    """What stands between brackets; behind a `#` an entry, else a heading of the section."""
    if named[-1].isspace():  # a condition of a shell, not a name
        return None
    path, _, mark = named.removesuffix("\\").partition("#")
    mark = mark.strip().lower()
    return _link(path, mark if _ENTRY.fullmatch(mark) else "")


@lru_cache(4096)
def _link(path: str, entry: str) -> Link | None:
    """The link to what a path names; None where no section can be called so."""
    path = path.strip().removeprefix("notebook:").removesuffix(SUFFIX).strip("/")
    section = unicodedata.normalize("NFC", path)
    return None if ":" in section or why_nameless(section) else Link(section, entry)


def _without_code(text: str) -> str:
    """The text without its listings and without code within a line, which ends with a paragraph."""
    if "`" not in text and "~~~" not in text:
        return text
    prose = "\n\n".join(_outside_fences(text))
    return "\n".join(_outside_spans(prose)) if "`" in prose else prose


def _outside_fences(text: str) -> Iterator[str]:
    start, mark = 0, ""
    for found in _FENCE.finditer(text):
        sign, rest = found["mark"], found["rest"].strip()
        if not mark:
            if sign[0] == "`" and "`" in rest:
                continue
            yield text[start : found.start()]
            mark = sign
        elif sign.startswith(mark) and not rest:
            start, mark = found.end(), ""
    if not mark:
        yield text[start:]


def _outside_spans(text: str) -> Iterator[str]:
    """What lies outside of code spans: a run of ticks begins one that as long a run ends."""
    runs = list(_RUN.finditer(text))
    ends: list[int] = []
    seen: dict[int, int] = {}  # by length, the next run; looked up once a run, however many
    for place in range(len(runs) - 1, -1, -1):
        found = runs[place]
        if not found["ticks"]:
            seen.clear()
            ends.append(-1)
            continue
        ends.append(seen.get(len(found["ticks"]) - len(found["escapes"]) % 2, -1))
        seen[len(found["ticks"])] = place
    ends.reverse()
    start = place = 0
    while place < len(runs):
        if ends[place] >= 0:
            opening = runs[place].start("ticks") + len(runs[place]["escapes"]) % 2
            yield text[start:opening]
            start, place = runs[ends[place]].end(), ends[place]
        place += 1
    yield text[start:]
