"""Which encoder a question is encoded by: the one in use, or the former one while it is replaced.

Never mixes them: a question is compared with the vectors of its own encoder alone.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.core.ports import Succeeding

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from commonplace.core.ports import Encoder, EncoderSlot, Searched


_LOOK_AGAIN_S = 60.0


class FallbackEncoder:
    """An encoder's slot for the questions to one index; see `core.ports.EncoderSlot`. Thread-safe.

    After another model was set, the one answers of which more docs have vectors, and the set one
    where they are as many: so the former at first, and the new for whoever still runs with the
    former at last. What has no vector of it is found by words meanwhile. former: other models that
    are on this machine, by identity; asked for only where they are needed. monotonic: tells when to
    look again.
    """

    def __init__(
        self,
        index: Searched,
        present: EncoderSlot,
        *,
        former: Callable[[], Mapping[str, EncoderSlot]],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._index = index
        self._present = present
        self._former = former
        self._monotonic = monotonic
        self._whole = ("", 0.0)
        self._using = present

    def start(self) -> None:
        """Begin loading the encoder in use."""
        self._present.start()

    def get(self, timeout_s: float = 0.0) -> Encoder | None:
        """The encoder to ask by, waiting at most so long for one that is being loaded.

        Whoever waits for the former one has asked before: the index is left alone meanwhile, whose
        only connection the thread may have that waits for this one.
        """
        using = self._using
        if timeout_s and using is not self._present:
            return using.get(timeout_s)
        encoder = self._present.get(timeout_s)
        if encoder is None or self._is_whole(encoder.identity):
            return encoder
        slot = self._find_former(encoder.identity)
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
        """Nothing: whoever made the slots closes them."""

    def _is_whole(self, identity: str) -> bool:
        known, at = self._whole
        return known == identity and self._monotonic() - at < _LOOK_AGAIN_S

    def _find_former(self, identity: str) -> EncoderSlot | None:
        # An index that cannot be asked tells so when it is searched.
        with suppress(CommonplaceError):
            if other := self._other_of_more(identity):
                return self._former().get(other)
            self._whole = (identity, self._monotonic())
        return None

    def _other_of_more(self, identity: str) -> str:
        """The other encoder of which more docs have vectors, if there is one."""
        other = self._index.former(identity) if isinstance(self._index, Succeeding) else ""
        if not other:
            return ""
        is_more = self._index.counts(other).pending < self._index.counts(identity).pending
        return other if is_more else ""
