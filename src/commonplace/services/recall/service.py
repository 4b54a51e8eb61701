"""What recall's tools work with.

Never does a thing itself: wired by `app`, handed to each tool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import tzinfo

    from commonplace.core.clock import Clock
    from commonplace.core.ports import OpensRefs, Searched
    from commonplace.core.values import EncoderState
    from commonplace.search.filing.filing import Filing
    from commonplace.search.finder import Finder


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallDesk:
    """What the tools work with, wired for one owner.

    journals: what opens the refs of each journal, by its name. lost: the journals that could not
    even be found, and why. shows_paths: whether who asks can use a path of this machine.
    left_out: what project files asked for and did not get, for `status`.
    """

    finder: Finder
    filing: Filing
    index: Searched
    journals: Mapping[str, OpensRefs]
    lost: Mapping[str, str]
    encoder: Callable[[], EncoderState]
    clock: Clock
    zone: tzinfo
    shows_paths: bool = True
    left_out: tuple[str, ...] = ()
