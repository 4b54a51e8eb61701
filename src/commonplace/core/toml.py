"""Setting one value in a TOML text, with every other byte kept.

Never guesses: the edited text is parsed again and must differ by that one value alone.
"""

from __future__ import annotations

import json
import re
import tomllib
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from commonplace.core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TomlValue: TypeAlias = str | bool | int | float | list[str]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"[ \t]*\[")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class _Statement(NamedTuple):
    """Lines [start, end) that belong together; path: the full key, or the table of a header."""

    start: int
    end: int
    path: tuple[str, ...]
    header: bool


def parse_toml(text: str, *, name: str) -> dict[str, Any]:
    """The text as nested tables. Raises Invalid with the name and the line."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        last = text.count("\n") + 1
        why = str(exc).replace("at end of document", f"at the end, line {last}")
        raise Invalid(
            f"{name} is not valid TOML: {why}.", hint="Mend the file or move it away."
        ) from exc
    except RecursionError as exc:
        raise Invalid(f"{name} is nested too deeply.", hint="Move the file away.") from exc


def render_toml_value(value: TomlValue) -> str:
    """The value as TOML writes it, on one line."""
    if isinstance(value, list):
        return f"[{', '.join(render_toml_value(item) for item in value)}]"
    # JSON's strings, numbers and booleans are TOML's, but for a bare DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def set_toml_value(text: str, path: Sequence[str], value: TomlValue, *, name: str) -> str:
    """The text with the value at this path set: in its place, or at the end of its table.

    Comments, order, spacing and line ends stay. Raises Invalid where the text is broken, or where
    its form cannot be edited line by line (an inline table).
    """
    old = parse_toml(text, name=name)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = _LINE.findall(text)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += newline
    statements = list(_statements(lines))
    found = [s for s in statements if s.path == tuple(path) and not s.header]
    if found:
        before, after = _around_value("".join(lines[found[0].start : found[0].end]))
        changed = f"{before}{render_toml_value(value)}{after}{newline}"
        lines[found[0].start : found[0].end] = [changed]
    else:
        _insert(lines, statements, path, value, newline)
    edited = "".join(lines)
    expected = _with_value(old, path, value)
    if expected is None or _parsed(edited) != expected:
        raise Invalid(
            f"{name} holds {'.'.join(path[:-1]) or path[0]} in a form that cannot be edited.",
            hint=f"Set {'.'.join(path)} = {render_toml_value(value)} by hand.",
        )
    return edited


def _statements(lines: Sequence[str]) -> Iterator[_Statement]:
    """The headers and assignments of a text known to be valid, in order."""
    table: tuple[str, ...] = ()
    start = 0
    while start < len(lines):
        end = start + 1
        while (parsed := _parsed("".join(lines[start:end]))) is None:
            end += 1
        path = _branch(parsed)
        if _HEADER.match(lines[start]):
            # A key below [[an.array]] has no path of its own: nothing may match it.
            table = (*path, "[]") if "[[" in lines[start] else path
            yield _Statement(start, end, table, header=True)
        elif path:
            yield _Statement(start, end, (*table, *path), header=False)
        start = end


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _branch(tables: Mapping[str, Any]) -> tuple[str, ...]:
    path: list[str] = []
    level: Any = tables
    while isinstance(level, dict) and len(level) == 1:
        key, level = next(iter(level.items()))
        path.append(key)
    return tuple(path)


def _around_value(statement: str) -> tuple[str, str]:
    """What stands before an assignment's value and, of its comment, after it."""
    body = statement.rstrip("\r\n")
    equals = next(
        m.end() for m in re.finditer(r"=[ \t]*", body) if _parsed(f"{body[: m.start()]}= 0")
    )
    whole = _parsed(body)
    for comment in re.finditer(r"[ \t]*#", body):
        if comment.start() >= equals and _parsed(body[: comment.start()]) == whole:
            return body[:equals], body[comment.start() :]
    return body[:equals], ""


def _insert(
    lines: list[str],
    statements: Sequence[_Statement],
    path: Sequence[str],
    value: TomlValue,
    newline: str,
) -> None:
    """Put a new line behind the last one of its table; a new table goes to the end of the text."""
    *table, key = path
    line = f"{_render_key(key)} = {render_toml_value(value)}{newline}"
    headers = [i for i, s in enumerate(statements) if s.header]
    if table:
        own = next((i for i in headers if list(statements[i].path) == table), None)
        if own is None:
            header = f"[{'.'.join(map(_render_key, table))}]{newline}"
            lines += [newline, header, line] if lines else [header, line]
            return
        last = next((i for i in headers if i > own), len(statements)) - 1
        lines.insert(statements[last].end, line)
        return
    first_header = headers[0] if headers else len(statements)
    if first_header:
        lines.insert(statements[first_header - 1].end, line)
        return
    # No key at the top yet: above the first header and the comment that sits on it.
    at = statements[headers[0]].start if headers else len(lines)
    while headers and at and lines[at - 1].lstrip().startswith("#"):
        at -= 1
    gap = [newline] if headers and (not at or lines[at - 1].strip()) else []
    while at and not lines[at - 1].strip():
        at -= 1
    lines[at:at] = [line, *gap]


def _render_key(key: str) -> str:
    return key if _BARE.fullmatch(key) else render_toml_value(key)


def _with_value(
    tables: Mapping[str, Any], path: Sequence[str], value: TomlValue
) -> dict[str, Any] | None:
    """A copy of the tables with the value set; None where a table of the path is something else."""
    changed = deepcopy(dict(tables))
    level = changed
    for name in path[:-1]:
        level = level.setdefault(name, {})
        if not isinstance(level, dict):
            return None
    level[path[-1]] = value
    return changed
