"""Owns what the index holds of the notebook's entries and overviews, whatever keeps them.

Pure; never asks git, a disk or a database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.clock import local_date, render_date
from commonplace.core.digest import sha256_hex
from commonplace.core.values import Doc, superseding_tags
from commonplace.journals.notebook.format import ENTRY, JOURNAL, OVERVIEW, ref_of, version_of

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from commonplace.journals.notebook.format import NotebookEntry


def doc_of_entry(
    entry: NotebookEntry, *, section: str, former: str, turn: int, zone: tzinfo
) -> Doc:
    """What the index holds of an entry: all that was said of it, under the section it is in now.

    former: the ref of what it replaced, empty for nothing; turn: in the order of their writing.
    """
    facts = (entry.at.isoformat(), section, entry.author, entry.work_context, entry.summary)
    tags = superseding_tags(former)
    said = "\n".join((*facts, *tags, entry.text))
    return Doc(
        ref=ref_of(section, entry.id),
        journal=JOURNAL,
        scope=section,
        kind=ENTRY,
        at=entry.at,
        text=entry_text(entry),
        stamp=sha256_hex(said.encode("utf-8", "replace"))[:16],
        headings=(entry.work_context,) if entry.work_context else (),
        tags=tags,
        author=entry.author_name,
        dated=render_date(local_date(entry.at, zone)),
        written=entry.written,
        turn=turn,
    )


def entry_text(entry: NotebookEntry) -> str:
    """What is searched of an entry: its text, and what summary and context add to it."""
    flat = " ".join(entry.text.split())

    def adds(line: str) -> bool:
        return bool(line) and line.removesuffix("...") not in flat

    before = f"{entry.summary}\n\n" if adds(entry.summary) else ""
    after = f"\n\n{entry.work_context}" if adds(entry.work_context) else ""
    return f"{before}{entry.text}{after}"


def doc_of_overview(
    section: str, text: str, *, at: datetime, written: datetime, zone: tzinfo, author: str
) -> Doc:
    """What the index holds of a section's overview, as old as the section's newest entry.

    written: When the section was last written to; author: who put it in place, empty for nobody.
    """
    by = f" {sha256_hex(author.encode('utf-8', 'replace'))[:8]}" if author else ""
    return Doc(
        ref=ref_of(section),
        journal=JOURNAL,
        scope=section,
        kind=OVERVIEW,
        at=at,
        text=text,
        stamp=f"{version_of(text)} {int(at.timestamp())}{by}",
        author=author,
        dated=render_date(local_date(at, zone)),
        written=max(at, written),
    )
