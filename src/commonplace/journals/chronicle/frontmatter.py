"""Owns the text of one file in chronicle's Markdown tree: YAML between two lines, then the message.

Never reads more YAML than chronicle writes: texts, and one list of texts.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from commonplace.core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_FENCE = "---"
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*):(?:[ \t]+(.*))?")
_ITEM = re.compile(r"[ \t]*-(?:[ \t]+(.*))?")
_BLOCK = re.compile(r"[|>][0-9]?([+-]?)[0-9]?")
_COMMENT = re.compile(r"\s+#.*")
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_ESCAPED_CODES = (0, 7, 8, 9, 10, 11, 12, 13, 27, 0x85, 0xA0, 0x2028, 0x2029)
_ESCAPED = {name: chr(code) for name, code in zip("0abtnvfreN_LP", _ESCAPED_CODES, strict=True)}
# A text that every YAML reader takes for a text, and for itself.
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+-]+)*")
_NO_TEXT = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})
_UNPRINTABLE = re.compile("[\x7f-\x9f\ufeff\ufffe\uffff\u2028\u2029]")


def parse_file(text: str) -> tuple[dict[str, str | list[str]], str]:
    """The fields of a file and its message, as chronicle itself reads them.

    Raises Invalid where there is no frontmatter or it is not as chronicle writes it.
    """
    trimmed = text.strip()
    rest = trimmed.removeprefix(_FENCE)
    close = rest.find(f"\n{_FENCE}", 0 if rest.startswith(("\n", "\r\n")) else 1)
    if rest == trimmed or close < 0:
        raise Invalid("It has no frontmatter.")
    return _parse_fields(rest[:close].splitlines()), rest[close + len(_FENCE) + 1 :].strip()


def render_file(fields: Mapping[str, str | Sequence[str]], message: str) -> str:
    """A file as chronicle writes it; empty fields are left out."""
    lines = [_FENCE]
    for key, value in fields.items():
        if isinstance(value, str):
            lines += [f"{key}: {_render(value)}"] if value else []
        elif value:
            lines += [f"{key}:", *(f"    - {_render(each)}" for each in value)]
    return "\n".join([*lines, _FENCE, "", message, ""])


def _render(value: str) -> str:
    if _PLAIN.fullmatch(value) and value.casefold() not in _NO_TEXT:
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _parse_fields(lines: Sequence[str]) -> dict[str, str | list[str]]:
    fields: dict[str, str | list[str]] = {}
    rows = _Rows(lines)
    for line in rows:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _KEY.fullmatch(line.rstrip())
        if found is None:
            raise Invalid("Its frontmatter is not as chronicle writes it.")
        value = (found[2] or "").strip()
        if value and not value.startswith("#"):
            fields[found[1]] = _parse_value(value, rows)
        else:
            items = list(_items(rows))
            fields[found[1]] = items or ""
    return fields


class _Rows:
    """Lines, one after another, of which the next may be looked at."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0

    def __iter__(self) -> Iterator[str]:
        while self._at < len(self._lines):
            self._at += 1
            yield self._lines[self._at - 1]

    def follow(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """The lines from here on that fit, taken."""
        while self._at < len(self._lines) and (
            found := pattern.fullmatch(self._lines[self._at].rstrip())
        ):
            self._at += 1
            yield found


_INDENTED = re.compile(r"[ \t]+.*|")


def _items(rows: _Rows) -> Iterator[str]:
    for found in rows.follow(_ITEM):
        value = _parse_value((found[1] or "").strip(), rows)
        if isinstance(value, str):
            yield value


def _parse_value(value: str, rows: _Rows) -> str | list[str]:
    block = _BLOCK.fullmatch(value)
    if block is not None:
        return _parse_block(rows, folded=value[0] == ">", keep=block[1])
    if value[:1] in {'"', "'"}:
        while not _is_closed(value):
            more = next(iter(rows), None)
            if more is None:
                raise Invalid("Its frontmatter has a quote that never ends.")
            value = f"{value} {more.strip()}"
        return _parse_quoted(value)
    if value.startswith("[") and value.endswith("]"):
        return [_parse_scalar(x) for x in re.findall(_FLOW, value[1:-1])]
    return _parse_scalar(value)


_FLOW = r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,\s][^,]*)\s*(?:,|$)"""


def _parse_scalar(value: str) -> str:
    value = value.strip()
    if value[:1] in {'"', "'"}:
        return _parse_quoted(value)
    value = _COMMENT.sub("", value)
    return "" if value in {"~", "null"} else value


def _is_closed(value: str) -> bool:
    quote = r'"(?:[^"\\]|\\.)*"' if value[0] == '"' else r"'(?:[^']|'')*'"
    return re.match(rf"{quote}\s*(?:#.*)?$", value, re.DOTALL) is not None


def _parse_quoted(value: str) -> str:
    body = value[1 : value.rfind(value[0])]
    if value[0] == "'":
        return body.replace("''", "'")
    return _ESCAPE.sub(_unescaped, body)


def _unescaped(found: re.Match[str]) -> str:
    name = found[1]
    if len(name) > 1:
        code = int(name[1:], 16)
        return chr(code) if code <= 0x10FFFF else "\ufffd"  # noqa: PLR2004  the last code point
    return _ESCAPED.get(name, name)


def _parse_block(rows: _Rows, *, folded: bool, keep: str) -> str:
    lines = [found[0] for found in rows.follow(_INDENTED)]
    indent = min((len(x) - len(x.lstrip()) for x in lines if x.strip()), default=0)
    text = (" " if folded else "\n").join(x[indent:] for x in lines)
    return text if keep == "+" else text.rstrip()
