"""What chronicle's tools work with.

Never does a thing itself: wired by `app`, handed to each tool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import tzinfo
    from pathlib import Path

    from commonplace.core.clock import Clock
    from commonplace.journals.chronicle.journal import Chronicle
    from commonplace.journals.chronicle.trust import TrustedLogs
    from commonplace.search.filing.filing import Filing
    from commonplace.search.finder import Finder


@dataclass(frozen=True, slots=True, kw_only=True)
class ChronicleDesk:
    """What the tools work with, wired for one owner and one folder.

    folder: the project's or the working folder, where a `.chronicle` is looked for; None for none.
    trusted: which of them the user has allowed.
    """

    chronicle: Chronicle
    filing: Filing
    finder: Finder
    clock: Clock
    zone: tzinfo
    folder: Path | None
    home: Path | None
    trusted: TrustedLogs
