"""Sets one value two levels deep in a JSON text, with every other byte kept.

Never edits a text that is not plain JSON (comments, trailing commas, a key twice).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from commonplace.core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

_SPACE = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r'\n([ \t]+)"')
_DECODER = json.JSONDecoder()
_JSON_KINDS = {list: "a list", str: "a string", bool: "a boolean", type(None): "null"}


class _Object(NamedTuple):
    """The positions of an object in the text, and of the value of each of its members.

    Args:
        start: Of the object's opening brace.
        end: After its closing brace.
        values: `[start, end)` of each value, by key.
    """

    start: int
    end: int
    values: Mapping[str, tuple[int, int]]


def parse_json_object(text: str, *, name: str) -> dict[str, Any]:
    """Parse a text that holds one JSON object.

    Args:
        text: The text; a blank one counts as an empty object.
        name: What errors call the file.

    Raises:
        Invalid: It is not plain JSON, or not an object.
    """
    if not text.strip():
        return {}
    try:
        parsed = json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except json.JSONDecodeError as exc:
        why = f"it is not plain JSON ({exc.msg}, line {exc.lineno})"
    except (ValueError, RecursionError):
        why = "it has a key twice, or a value that JSON does not allow"
    else:
        if isinstance(parsed, dict):
            return parsed
        kind = _JSON_KINDS.get(type(parsed), "a number")
        why = f"expected a JSON object, got {kind}"
    raise Invalid(f"{name} cannot be edited: {why}.", hint="Edit it yourself.")


def set_json_entry(text: str, table: str, key: str, value: Mapping[str, Any], *, name: str) -> str:
    """Set `table` > `key` in a JSON text, in the indentation and line ends that the text has.

    Args:
        text: The text; blank for a new file.
        table: A key of the outermost object.
        key: A key of the object at `table`.
        value: What to set there.
        name: What errors call the file.

    Returns:
        The edited text.

    Raises:
        Invalid: The text is not plain JSON, or `table` is not an object in it.
    """
    old = parse_json_object(text, name=name)
    entries = old.get(table, {})
    if not isinstance(entries, dict):
        raise Invalid(
            f"{name} cannot be edited: {table} is not an object.", hint="Edit it yourself."
        )
    expected = {**old, table: {**entries, key: dict(value)}}
    edited = _edited(text, table, key, value) if old else _rendered(expected, "\n", 0) + "\n"
    if json.loads(edited) != expected:
        raise Invalid(f"{name} cannot be edited: its form is unusual.", hint="Edit it yourself.")
    return edited


def _edited(text: str, table: str, key: str, value: Mapping[str, Any]) -> str:
    root = _object(text, _after_space(text, 0))
    if table not in root.values:
        return _with_member(text, root, table, {key: value}, depth=1)
    entries = _object(text, root.values[table][0])
    if key not in entries.values:
        return _with_member(text, entries, key, value, depth=2)
    start, end = entries.values[key]
    return text[:start] + _rendered(value, text, 2) + text[end:]


def _object(text: str, start: int) -> _Object:
    """The object that begins here, in a text known to be valid."""
    values: dict[str, tuple[int, int]] = {}
    at = _after_space(text, start + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        begin = _after_space(text, _after_space(text, at) + 1)
        _, end = _DECODER.raw_decode(text, begin)
        values[key] = (begin, end)
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return _Object(start, at + 1, values)


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


def _with_member(
    text: str, found: _Object, key: str, value: Mapping[str, Any], *, depth: int
) -> str:
    """The text with a member added behind the last of an object."""
    member = f"{json.dumps(key)}: {_rendered(value, text, depth)}"
    newline, indent = _style(text)
    if not found.values:
        inside = f"{newline}{indent * depth}{member}{newline}{indent * (depth - 1)}"
        return f"{text[: found.start]}{{{inside}}}{text[found.end :]}"
    last = max(end for _, end in found.values.values())
    gap = f"{newline}{indent * depth}" if newline else " "
    return f"{text[:last]},{gap}{member}{text[last:]}"


def _rendered(value: Mapping[str, Any], text: str, depth: int) -> str:
    newline, indent = _style(text)
    if not newline:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=indent).split("\n")
    return f"{newline}{indent * depth}".join(lines)


def _style(text: str) -> tuple[str, str]:
    """The line end and indentation that a text uses; both empty where it is all on one line."""
    found = _INDENT.search(text)
    if "\n" not in text.strip() and text.strip():
        return "", ""
    return ("\r\n" if "\r\n" in text else "\n"), (found[1] if found else "  ")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _no_constant(_name: str) -> NoReturn:
    raise ValueError
