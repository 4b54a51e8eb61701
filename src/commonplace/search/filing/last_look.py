"""When every entry of a source was last looked at, and whether that look still holds.

Never asks a source: it is told when a look begins, and when it is over.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.core.ports import SettlesMark

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.core.ports import OwnerIndex, Source

_LOOK = "\nlook"
"""Behind the name of a source: under that name the index keeps when its last look began."""

_log = logging.getLogger(__name__)


class LastLook:
    """The last look at every entry of a source, edits in place included.

    Args:
        index: Keeps when it began, so that the next process need not look again.
        holds_s: How long it holds where only our own programs write, and the source's mark tells of
            each of their writes; 0 where others edit as well.
        now: Seconds since the epoch.
    """

    def __init__(
        self, source: Source, index: OwnerIndex, *, holds_s: float, now: Callable[[], float]
    ) -> None:
        settles = isinstance(source, SettlesMark) and source.settles_mark
        self._holds_s = holds_s if source.exact_mark or settles else 0.0
        self._index, self._name = index, f"{source.name}{_LOOK}"
        self._now = now
        self._began_at: float | None = None

    def holds(self) -> bool:
        """Whether no entry differs but for those that the mark tells of."""
        if not self._holds_s:
            return False
        if self._began_at is None:
            self._began_at = self._read()
        return 0 <= self._now() - self._began_at < self._holds_s

    def begin(self) -> Callable[[], None]:
        """Note that a look begins; what is to be called when it has come to its end."""
        began_at = self._now()

        def end() -> None:
            self._began_at = began_at
            if self._holds_s:
                self._keep(began_at)

        return end

    def _read(self) -> float:
        try:
            return float(self._index.known().marks.get(self._name, "-inf"))
        except (CommonplaceError, ValueError):  # the look that follows meets the former as well
            return -math.inf

    def _keep(self, began_at: float) -> None:
        try:
            self._index.apply([], source=self._name, mark=f"{began_at:.3f}")
        except CommonplaceError as exc:
            source = self._name.removesuffix(_LOOK)
            _log.warning("That every entry of %r was looked at is not noted: %s", source, exc)
