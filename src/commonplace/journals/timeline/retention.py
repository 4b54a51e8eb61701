"""How long detail of each level is kept, once retention is switched on: read from one setting.

Pure; deletes nothing. Off is the default: text is cheap, and what is gone is gone.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import Invalid
from commonplace.core.text import opening

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = ("raw", "hourly", "daily", "weekly", "monthly", "yearly")
"""The levels as they are named here, by their number."""

DESIGN: Mapping[str, timedelta] = {
    "raw": timedelta(hours=24),
    "hourly": timedelta(hours=48),
    "daily": timedelta(days=90),
    "weekly": timedelta(days=365),
    "monthly": timedelta(days=365 * 7),
}
"""The design's table; years, profiles and pinned entries stay."""

ARCHIVED = timedelta(days=7)
"""How long what is past its time is archived, and in no search, before it is deleted."""

_HINT = "Use off, design, or levels such as design,raw=30d,hourly=never."
_LENGTH = re.compile(r"(?P<count>[1-9][0-9]{0,5})(?P<unit>[hdwy])")
_UNITS = {
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "y": timedelta(days=365),
}


class Retention(Struct, frozen=True):
    """How long each level is kept, by its name; a level that is not named is never deleted."""

    keep: Mapping[str, timedelta]

    @property
    def is_on(self) -> bool:
        """Whether anything is ever deleted."""
        return bool(self.keep)

    def of(self, level: int) -> timedelta | None:
        """How long a level is kept, by its number; None for ever."""
        return self.keep.get(NAMES[level])


KEEP_ALL = Retention({})
"""Nothing is ever deleted."""


def parse_retention(text: str) -> Retention:
    """`off`, `design`, and overrides: `design,raw=30d`, `raw=never`. Raises: Invalid."""
    keep: dict[str, timedelta] = {}
    for part in (x.strip().lower() for x in text.split(",")):
        name, is_level, length = (x.strip() for x in part.partition("="))
        if not is_level and name in {"", "off"}:
            continue
        if not is_level and name == "design":
            keep |= DESIGN
        elif name in NAMES and length in {"never", "off"}:
            keep.pop(name, None)
        elif name in NAMES and (found := _LENGTH.fullmatch(length)):
            keep[name] = int(found["count"]) * _UNITS[found["unit"]]
        else:
            raise Invalid(f"Invalid retention: {opening(part, 60)!r}.", hint=_HINT)
    return Retention(keep)
