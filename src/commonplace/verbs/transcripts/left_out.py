"""What the readers of sessions left out, in sentences: an import, `status` and `doctor` say them.

Never reads a session: the store knows what was counted as it was copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.text import counted
from commonplace.journals.transcripts.clients import CLIENTS
from commonplace.journals.transcripts.clients.parsing import (
    BROKEN,
    OF_SUB_AGENT,
    UNKNOWN,
    without_words,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from commonplace.journals.transcripts.clients.parsing import Skipped

_MOST_KINDS = 8
_REASONS = {
    BROKEN.why: "as it cannot be read",
    UNKNOWN.why: "being of a kind that is not known",
    without_words("file").why: "as only words are kept",
    OF_SUB_AGENT.why: "as `transcripts.subagents` is off",
}


def left_out_sentences(left_out: Iterable[tuple[str, Skipped, int]]) -> list[str]:
    """A sentence for each client and reason, with the names of the kinds."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for client, skipped, count in left_out:
        found.setdefault((client, skipped.why), {})[skipped.kind] = count
    sentences = []
    for (client, why), kinds in sorted(found.items()):
        lines = counted(sum(kinds.values()), "line or part", "lines or parts")
        named = sorted((-count, kind) for kind, count in kinds.items() if kind)
        names = [f"{-count:,} {kind}" for count, kind in named[:_MOST_KINDS]]
        if len(named) > _MOST_KINDS:
            names.append("…")
        shown = f" ({', '.join(names)})" if names else ""
        title = CLIENTS.get(client, client)
        sentences.append(f"Left out of {title}'s sessions, {_REASONS[why]}: {lines}{shown}.")
    return sentences
