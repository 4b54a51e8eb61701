"""What recall works with: one search over all journals, and what opens their refs.

Never knows a journal but by its port.
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
class RecallService:
    """All journals of one owner, with the index over them.

    Attributes:
        journals: What opens the refs of each journal, by its name.
        lost: The journals that cannot even be opened, and why.
        shows_paths: Whether the caller can use a path of this machine.
        left_out: What project files asked for and did not get, for `status`.
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
