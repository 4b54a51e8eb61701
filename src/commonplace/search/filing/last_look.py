"""When every entry of a source was last looked at, and whether that look still holds.

Never asks a source: it is told each mark that was read, and each look that is over.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from commonplace.core.ports import SettlesMark
from commonplace.search import policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.core.ports import Source


class LastLook:
    """The last look at every entry of a source, edits in place included.

    Args:
        holds_s: How long it holds where only our own programs write; 0 where others edit as well.
    """

    def __init__(self, source: Source, *, holds_s: float, monotonic: Callable[[], float]) -> None:
        self._is_in_mark = source.exact_mark or isinstance(source, SettlesMark)
        self._holds_s = holds_s
        self._monotonic = monotonic
        self._began_at = -math.inf
        self._mark: str | None = None
        self._seen: tuple[str | None, float] = None, math.inf

    def see(self, mark: str) -> None:
        """Note the source's mark of this moment."""
        if mark != self._seen[0]:
            self._seen = mark, self._monotonic()

    def holds(self) -> bool:
        """Whether no entry differs but for those that the mark tells of."""
        if self._monotonic() - self._began_at >= self._holds_s:
            return False
        return self._is_in_mark or self._mark == self._seen[0]

    def begin(self) -> Callable[[], None]:
        """Note that a look begins; what is to be called when it has come to its end."""
        (mark, seen_at), began_at = self._seen, self._monotonic()
        # Two writes within one tick leave one mark: an earlier look may have come between them.
        is_old = began_at - seen_at >= policy.TICK_S

        def end() -> None:
            self._began_at, self._mark = began_at, mark if is_old else None

        return end
