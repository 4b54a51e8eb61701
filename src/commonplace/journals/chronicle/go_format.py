"""Owns how chronicle spells values: RFC 3339 times, JSON as Go writes it, lines of Markdown.

Never reads a file and never parses; a value comes out in the same bytes the original would write.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from commonplace.core.text import well_formed
from commonplace.journals.chronicle.times import SECOND_NS, from_instant, local_of

if TYPE_CHECKING:
    from datetime import tzinfo

# What Go's JSON writer escapes beyond the standard, so that equal values are equal bytes.
_GO_ESCAPES = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})

# Made once: `json.dumps` makes one at every call that asks for anything special.
_ON_ONE_LINE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_CONTINUED = "    "


def render_rfc3339(instant: int, zone: tzinfo) -> str:
    """The instant as Go writes it: `2026-02-01T09:30:00.5-06:00`, the fraction trimmed.

    In UTC (`Z`) where the zone's offset has seconds, which the format cannot say.
    """
    local = local_of(instant, zone)
    offset = local.utcoffset()
    if not offset or offset.total_seconds() % 60:
        clock, suffix = from_instant(instant), "Z"
    else:
        minutes = int(offset.total_seconds()) // 60
        sign = "-" if minutes < 0 else "+"
        clock, suffix = local, f"{sign}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
    fraction = f".{instant % SECOND_NS:09d}".rstrip("0").rstrip(".")
    # strftime leaves out the zeros of a year before 1000 on some systems.
    whole = clock.replace(tzinfo=None, microsecond=0).isoformat()
    return f"{whole}{fraction}{suffix}"


def render_go_json(value: Any, *, indent: int | None = None) -> str:
    """The value as Go's encoding/json writes it, on one line or indented by so many spaces."""
    if indent is None:
        text = _ON_ONE_LINE.encode(value)
    else:
        text = json.dumps(value, ensure_ascii=False, indent=indent, separators=(",", ": "))
    # These five occur inside strings alone, so that escaping them everywhere is right.
    return well_formed(text).translate(_GO_ESCAPES)


def continued(text: str) -> str:
    """The text with every line but the first indented by four spaces, blank ones empty.

    No line of a message then looks like a heading or a list item of ours: for Markdown it is
    code. The original writes the lines as they are, so that a message can forge an entry.
    """
    first, *rest = _LINE_BREAK.split(well_formed(text))
    return "\n".join([first, *(_CONTINUED + line if line else "" for line in rest)])


def one_line(text: str) -> str:
    """The text on one line: each line end is a space."""
    return _LINE_BREAK.sub(" ", well_formed(text))
