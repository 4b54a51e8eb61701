"""Owns the words on how to settle what a write may replace, for models and for people.

Never looks for what that is: `replacing` does.
"""

from __future__ import annotations

BEGINNING = "May replace "
FOR_MODELS = "; say supersedes to settle."


def proposal_for_people(note: str, settled_by: str) -> str:
    """A note in words for people: one that proposes a replacement names their way to settle it.

    settled_by: Stands behind the former entry, from its punctuation to the full stop.
    """
    is_proposal = note.startswith(BEGINNING) and note.endswith(FOR_MODELS)
    return note.removesuffix(FOR_MODELS) + settled_by if is_proposal else note
