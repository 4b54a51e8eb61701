"""What the newest entries say, heading by heading, as a brief tells of them.

Never reads a file itself, and never says anything of another heading than is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.brief_item import BriefItem
from commonplace.journals.private.markdown import split_frontmatter, split_sections
from commonplace.journals.private.places import find_linked

if TYPE_CHECKING:
    from commonplace.journals.private.journal import PrivateJournal
    from commonplace.journals.private.roots import Root

MOST_FILES = 40
"""How many of a root's entries are read."""


def list_newest(
    journal: PrivateJournal, root: Root, headings: frozenset[str] | None
) -> list[BriefItem]:
    """What the newest entries of a root say under some headings, newest first.

    What a later entry took the place of is left out while that is there, and what is a
    repository's word.

    Args:
        journal: Reads them.
        root: Where they lie.
        headings: In lower case; None for all of an entry.
    """
    return [
        BriefItem(entry.at.timestamp(), text, entry.ref, heading or "note")
        for entry in journal.list_own(root, limit=MOST_FILES)
        if not find_linked(entry.superseded_by, root)
        for heading, text in split_sections(split_frontmatter(entry.raw)[1])
        if text and (headings is None or heading.lower() in headings)
    ]
