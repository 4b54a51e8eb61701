"""Whether a question asks for whatever there is, told by its meaning: no word of it need stand.

Never looks at an entry, and holds no number: `policy` says how near is near.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.search import policy

if TYPE_CHECKING:
    from commonplace.core.ports import Encoder
    from commonplace.core.values import Vector

_ASKED = (
    "What do we know about this project?",
    "Give me an overview of everything.",
    "What have we done so far?",
    "What should I know before I start?",
    "Tell me what you remember.",
    "What do you know about us?",
)


class Overviews:
    """How near questions are to some that ask for everything, which are encoded once."""

    def __init__(self) -> None:
        self._known: dict[str, Vector] = {}

    def is_asked(self, encoder: Encoder, vector: Vector) -> bool:
        """Whether a question does, by its vector of this encoder; False by one not measured."""
        least = policy.overview_least(encoder.identity)
        if least is None:
            return False
        asked = self._known.get(encoder.identity)
        if asked is None:
            # As passages, in one batch: one by one as questions takes 45 ms of a processor, not 16.
            asked = encoder.encode_passages(_ASKED)
            self._known = {encoder.identity: asked}
        near = policy.scale_of(encoder.identity).of((asked @ vector).mean())
        return bool(near >= least)
