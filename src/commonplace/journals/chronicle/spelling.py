"""Owns how chronicle spells values in text: RFC 3339 times, and JSON and YAML as Go writes them.

Never reads a file and never parses; a value comes out in the same bytes the original would write.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Protocol

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

# What yaml.v3 does not write as it is; beyond the Basic Multilingual Plane it escapes everything.
# Unlike it, U+2028 and U+2029 are here: readers take them for line breaks.
_ESCAPED = re.compile(
    r"[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]",
)
_ESCAPE_NAMES = dict(zip('\0\a\b\t\n\v\f\r\x1b\x85\u2028\u2029"\\', '0abtnvfreNLP"\\', strict=True))
_DOUBLE_QUOTED = re.compile(rf"{_ESCAPED.pattern}|[\n\"\\]")
_BYTE = 0xFF
_PLANE = 0xFFFF

# A text that begins or goes on like this would be read as something else.
_INDICATED = re.compile(
    r"\A(?:[#,\[\]{}&*!|>'\"%@`]|[?:-](?:[ \t]|\Z)|---|\.\.\.| )|:(?:[ \t]|\Z)|[ \t]#| \Z"
)
# Texts that YAML 1.1 or 1.2 takes for a number, a time, a truth value or nothing at all.
_NO_TEXT = re.compile(
    r"""
    ~? | = | null | Null | NULL | true | True | TRUE | false | False | FALSE | <<
    | [yYnN] | yes | Yes | YES | no | No | NO | on | On | ON | off | Off | OFF
    | \.(?:nan|NaN|NAN) | [-+]?\.(?:inf|Inf|INF)
    | [-+]?(?:\.[0-9_]+ | [0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9_]+)?
    | [-+]?0_*(?:[xX][0-9a-fA-F_]+ | [oO][0-7_]+ | [bB][01_]+)
    | [-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}
      (?:[Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:[.,][0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})?)?
    """,
    re.VERBOSE,
)


class Logged(Protocol):
    """What logs and exports ask of an entry: its parts. instant: nanoseconds since 1970."""

    @property
    def id(self) -> str:
        """The entry's own id, unique in its database."""

    @property
    def instant(self) -> int:
        """Nanoseconds since 1970."""

    @property
    def message(self) -> str:
        """What was done; may hold several lines."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags, in their order."""

    @property
    def hostname(self) -> str:
        """Where it was logged; may be empty."""

    @property
    def username(self) -> str:
        """By whom; may be empty."""

    @property
    def directory(self) -> str:
        """In which folder; may be empty."""


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


def render_scalar(text: str, *, indent: int) -> str:
    """The text as yaml.v3 writes it as a value: plain, quoted or, with line ends, literal.

    indent: spaces before each line of a literal. Double quoted where yaml.v3 would write a text
    that not every reader gives back (a literal that begins with a space, U+2028, a lone `=`).
    """
    text = well_formed(text)
    if "\n" in text:
        return _literal(text, indent) if _fits_literal(text) else _double_quoted(text)
    if _ESCAPED.search(text) or _NO_TEXT.fullmatch(text):
        return _double_quoted(text)
    if _INDICATED.search(text):
        return "'" + text.replace("'", "''") + "'"
    return text


def _fits_literal(text: str) -> bool:
    if text[0] in " \n\t" or text[-1] == " " or " \n" in text:
        return False
    return _ESCAPED.search(text.replace("\t", "")) is None


def _literal(text: str, indent: int) -> str:
    ending = "+" if text.endswith("\n\n") else "" if text.endswith("\n") else "-"
    lines = text.removesuffix("\n").split("\n")
    return f"|{ending}\n" + "\n".join(" " * indent + line if line else "" for line in lines)


def _double_quoted(text: str) -> str:
    return '"' + _DOUBLE_QUOTED.sub(lambda found: _escape(found[0]), text) + '"'


def _escape(character: str) -> str:
    if character in _ESCAPE_NAMES:
        return "\\" + _ESCAPE_NAMES[character]
    code = ord(character)
    if code <= _BYTE:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= _PLANE else f"\\U{code:08X}"


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
