"""How what a write may replace is settled, in the words of each door; `replacing` finds it."""

from __future__ import annotations

FOR_MODELS = "; say supersedes to settle."


def proposal_for_people(note: str, settled_by: str) -> str:
    """A note as people are told it, where it proposes something with their own way to settle it.

    settled_by: Stands behind the former entry, from its punctuation to the full stop.
    """
    is_proposal = note.startswith("May replace ") and note.endswith(FOR_MODELS)
    return note.removesuffix(FOR_MODELS) + settled_by if is_proposal else note
