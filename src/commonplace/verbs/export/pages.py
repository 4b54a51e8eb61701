"""Renders an export's pages for people: a Markdown file for each month, each entry under its time.

No text of an entry can pass for a heading or another entry: each of its lines is quoted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.clock import local_date, render_instant, to_local
from commonplace.core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from commonplace.core.portable import PortableItem

_LINKS = {"supersedes": "Takes the place of", "superseded_by": "Superseded by"}


def page_of(item: PortableItem, zone: tzinfo) -> str:
    """The name of the page of an item's month."""
    return f"{_day(item, zone)[:7]}.md"


def render_head(journal: str, page: str) -> str:
    """The first line of a page."""
    return f"# {journal}, {page.removesuffix('.md')}\n"


def render_item(item: PortableItem, zone: tzinfo) -> str:
    """An item as its page shows it."""
    return "".join(_parts(item, zone))


def _parts(item: PortableItem, zone: tzinfo) -> Iterator[str]:
    yield f"\n## {_day(item, zone)} {_clock(item, zone)}\n\n- `{_one_line(item.ref)}`\n"
    for name, words in _LINKS.items():
        if ref := getattr(item, name):
            yield f"- {words}: `{_one_line(ref)}`\n"
    for name, text in item.page_facts().items():
        if text:
            yield f"- {name}: {_one_line(text)}\n"
    if item.expires is not None:
        yield f"- Expires: {render_instant(item.expires, zone)}\n"
    yield "\n"
    for line in item.page_text().strip("\n").splitlines() or [""]:
        yield f"> {line}\n" if line else ">\n"


def _day(item: PortableItem, zone: tzinfo) -> str:
    return local_date(item.at, zone).isoformat()


def _clock(item: PortableItem, zone: tzinfo) -> str:
    try:
        return f"{to_local(item.at, zone):%H:%M:%S}"
    except Invalid:  # at an end of the calendar
        return f"{item.at:%H:%M:%S}Z"


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("`", "'")
