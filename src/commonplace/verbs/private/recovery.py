"""What is said of the notes of a project that are gone, and of bringing them back.

Never looks at a folder itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.clock import render_instant
from commonplace.core.errors import Invalid
from commonplace.core.text import counted
from commonplace.core.values import Answer
from commonplace.verbs.answers import answer_of

if TYPE_CHECKING:
    from datetime import tzinfo

    from commonplace.journals.private.project_copies import GoneNotes
    from commonplace.journals.private.recovery import NotesRecovery
    from commonplace.verbs.private.amend import PrivateAmender


def gone_sentence(gone: GoneNotes, zone: tzinfo) -> str:
    """What status, doctor and the first answer in a project say of its notes that are gone."""
    since = render_instant(gone.since, zone)
    has, them, copies = ("has", "it", "copy") if gone.count == 1 else ("have", "them", "copies")
    return (
        f"{counted(gone.count, 'note', 'notes')} of this project {has} been gone since {since};"
        f" `commonplace recover` brings {them} back, `commonplace recover --forget` removes the"
        f" {copies}."
    )


def recover_answer(recovery: NotesRecovery) -> Answer:
    """Bring back what is gone of this project's notes. Raises: Invalid, Denied, Unavailable."""
    refs = _present(recovery).bring_back()
    back = {ref.partition("/")[0] for ref in refs}
    roots = (root for root in recovery.roots if f"private:{root.scope}" in back)
    folders = " and ".join(str(root.path) for root in roots)
    notes = counted(len(refs), "note", "notes")
    said = f"Brought back {notes} into {folders}." if refs else _NOTHING
    return Answer(text=said, facts={"refs": refs, "forgotten": 0})


def forget_answer(amender: PrivateAmender, recovery: NotesRecovery) -> Answer:
    """Remove what is kept of what is gone for good. Raises: Invalid, Denied, Unavailable."""
    refs = _present(recovery).gone_refs()
    notes = amender.forget_copies(refs) if refs else ()
    said = f"Removed the copies of {counted(len(refs), 'note', 'notes')}." if refs else _NOTHING
    return answer_of([said], {"refs": [], "forgotten": len(refs)}, notes)


_NOTHING = "Nothing is gone of the notes of this project."


def _present(recovery: NotesRecovery) -> NotesRecovery:
    if not recovery.roots:
        raise Invalid("No project is known here.", hint="Go to its folder, or name it: --project.")
    return recovery
