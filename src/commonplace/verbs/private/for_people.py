"""The verbs of the private journal that no model is offered, rendered for the command line.

Decides nothing: the service edits and deletes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.verbs.amend_answers import changed_lines
from commonplace.verbs.private.tools import entry_facts, render_answer

if TYPE_CHECKING:
    from commonplace.core.values import Answer
    from commonplace.journals.private.journal import PrivateEntry
    from commonplace.verbs.private.service import PrivateService


def edit_entry(service: PrivateService, read: PrivateEntry, text: str) -> Answer:
    """Replace the text of an entry that was read, and file it again; shows what changed.

    Raises: as the service's `edit`.
    """
    entry, filed = service.edit(read.ref, text, expected=read.version)
    facts = {**entry_facts(service, entry), "text": entry.raw, "before": read.raw}
    lines = [f"Edited {entry.ref}.", *changed_lines(entry.ref, read.raw, entry.raw)]
    return render_answer(service, lines, facts, filed.notes)


def delete_entry(service: PrivateService, *, path: str, expected: str | None = None) -> Answer:
    """Delete one entry, and every trace of its text. Raises: as the service's `delete`."""
    from commonplace.search.filing.port import Pending

    ref, filed = service.delete(path, expected=expected)
    notes = [f"Still in the index: {filed.why}"] if isinstance(filed, Pending) else []
    return render_answer(service, [f"Deleted {ref}."], {"ref": ref}, notes)
