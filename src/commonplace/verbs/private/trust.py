"""The words of `commonplace trust --notes`: which notes of a repository are taken for the user's.

Never offered to a model: to trust a note is the user's alone.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.core.clock import render_instant
from commonplace.core.errors import Invalid, NotFound
from commonplace.core.fence import visible_line
from commonplace.core.text import counted, first_words
from commonplace.core.values import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.journals.private.format import PrivateEntry
    from commonplace.journals.private.journal import PrivateJournal
    from commonplace.journals.private.roots import Root


def find_untrusted(journal: PrivateJournal, roots: Sequence[Root]) -> list[PrivateEntry]:
    """The notes in these roots that are a repository's word. Raises: NotFound where none is."""
    found = [entry for root in roots for entry in journal.list_from_repository(root)]
    if not found:
        folders = " and ".join(str(root.path) for root in roots)
        raise NotFound(f"Every note in {folders} is taken for yours already.")
    return found


def shown_lines(journal: PrivateJournal, notes: Sequence[PrivateEntry]) -> list[str]:
    """Each note before it is trusted: its time, its ref, and how it begins."""
    lines = []
    for note in notes:
        lines.append(f"{render_instant(note.at, journal.zone)} {visible_line(note.ref)}")
        lines.append(f"    {visible_line(first_words(note.text))}")
    return [*lines, "Each is shown whole by `commonplace open REF`."]


def trust_notes(
    journal: PrivateJournal, roots: Sequence[Root], notes: Sequence[PrivateEntry]
) -> Answer:
    """Take these notes for the user's, as they read now. Raises: Denied, Unavailable."""
    for root in roots:
        begins = f"private:{root.scope}/"
        journal.words.trusted.allow(
            root.real(),
            {
                f"{x.ref.removeprefix(begins)}.md": x.version
                for x in notes
                if x.ref.startswith(begins)
            },
        )
    text = (
        f"Taken for yours: {counted(len(notes), 'note', 'notes')}. One that changes is not, until"
        " you are asked again; `commonplace trust --notes --revoke` ends it."
    )
    return Answer(text=text, facts={"refs": [note.ref for note in notes]})


def revoke_notes(journal: PrivateJournal, roots: Sequence[Root]) -> Answer:
    """Take no note of a repository in these roots for the user's. Raises: NotFound, Denied."""
    count = sum(journal.words.trusted.revoke(root.real()) for root in roots)
    if not count:
        folders = " and ".join(str(root.path) for root in roots)
        raise NotFound(
            f"No notes of a repository in {folders} were trusted.",
            hint="See `commonplace trust --notes --list`.",
        )
    return Answer(
        text=f"No longer taken for yours: {counted(count, 'note', 'notes')}.",
        facts={"count": count},
    )


def list_trusted(journal: PrivateJournal) -> Answer:
    """How many notes of repositories the user trusts, by their folders."""
    rows = sorted(journal.words.trusted.each().items())
    lines = [f"{visible_line(folder)}: {counted(count, 'note', 'notes')}" for folder, count in rows]
    return Answer(
        text="\n".join(lines or ["No notes of a repository are trusted."]),
        facts={"trusted": [{"folder": folder, "notes": count} for folder, count in rows]},
    )


def roots_of(journal: PrivateJournal, folder: Path | None) -> Sequence[Root]:
    """The roots of the private journal that are meant: those that are read here, or a folder's.

    Raises: Invalid where that folder holds no private journal.
    """
    if folder is None:
        return journal.roots
    found = journal.root_in(Path(os.path.realpath(folder)))
    if found is None:
        raise Invalid(
            f"{folder} holds no private journal.", hint="Name the folder of a project that does."
        )
    return (found,)
