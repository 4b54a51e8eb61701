"""Which encoder a question is encoded by: the one in use, or the previous one while it is replaced.

Never mixes them: a question is compared with the vectors of its own encoder alone.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.core.ports import NamesPreviousEncoder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from commonplace.core.ports import Encoder, EncoderSlot, Searched


_LOOK_AGAIN_S = 60.0


class FallbackEncoder:
    """Chooses the encoder for questions to one index while its vectors are replaced. Thread-safe.

    After a switch of models, questions are encoded by the one that has vectors of more docs: the
    previous one at first, the new one in the end (also where both have as many). Docs without a
    vector of the chosen one are found by words.

    Args:
        index: What is searched; it says which other encoder has vectors in it.
        previous: The other models on this machine, by identity; called only when one is needed.
        monotonic: Seconds; the index is asked again a minute after it had all vectors.
    """

    def __init__(
        self,
        index: Searched,
        present: EncoderSlot,
        *,
        previous: Callable[[], Mapping[str, EncoderSlot]],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._index = index
        self._present = present
        self._previous = previous
        self._monotonic = monotonic
        self._whole = ("", 0.0)
        self._using = present

    def start(self) -> None:
        """Begin loading the encoder in use."""
        self._present.start()

    def get(self, timeout_s: float = 0.0) -> Encoder | None:
        """The encoder to ask by, waiting at most so long for one that is being loaded.

        A call that waits does not ask the index: the thread that waits for this encoder may hold
        the index's only connection.
        """
        using = self._using
        if timeout_s and using is not self._present:
            return using.get(timeout_s)
        encoder = self._present.get(timeout_s)
        if encoder is None:
            return None
        whole, at = self._whole
        if whole == encoder.identity and self._monotonic() - at < _LOOK_AGAIN_S:
            return encoder
        slot: EncoderSlot | None = None
        # An index that cannot be read says so when it is searched.
        with suppress(CommonplaceError):
            if other := self._other_of_more(encoder.identity):
                slot = self._previous().get(other)
            else:
                self._whole = (encoder.identity, self._monotonic())
        self._using = slot or self._present
        if slot is None:
            return encoder
        slot.start()
        return slot.get(timeout_s)

    def reason(self) -> str:
        """Why there is none now, as one sentence; empty when there is one."""
        return self._using.reason()

    def is_loading(self) -> bool:
        """Whether one is on its way, so that waiting helps."""
        return self._using.is_loading()

    def close(self, timeout_s: float = 0.0) -> None:
        """Nothing: the slots are closed by those who opened them."""

    def _other_of_more(self, identity: str) -> str:
        """The other encoder of which more docs have vectors, if there is one."""
        other = (
            self._index.previous_encoder(identity)
            if isinstance(self._index, NamesPreviousEncoder)
            else ""
        )
        if not other:
            return ""
        is_more = self._index.counts(other).pending < self._index.counts(identity).pending
        return other if is_more else ""
