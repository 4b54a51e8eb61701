"""What follows the journals beside the index, as filing sees it.

Never opens anything: a protocol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.values import Change


class FilingObserver(Protocol):
    """What follows the journals beside the index."""

    def changed(self, changes: Sequence[Change]) -> None:
        """Note what was written, or was found written; never raises, and never waits long."""
        ...

    def scanned(self, source: str) -> None:
        """Note that a source moved on: what was never filed may be gone; as `changed`."""
        ...

    def gone(self, refs: Sequence[str]) -> str:
        """Leave nothing of these entries; why that failed, as a sentence, or empty."""
        ...
