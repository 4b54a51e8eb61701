"""Edits a JSON text at a path of keys and numbers, with every other byte kept.

Comments and commas behind the last value, which some clients allow, stay where they are. Never
edits what is not JSON even without them, or has a key twice.
"""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

from commonplace.core.errors import Invalid
from commonplace.core.text import json_kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    JsonPath: TypeAlias = Sequence[str | int]
    """Keys of objects and numbers of items, from the outermost object down."""

_SPACE = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r'\n([ \t]+)"')
_DECODER = json.JSONDecoder()
_STRING = r'"(?:[^"\\]|\\.)*+"'
_COMMENT = re.compile(rf"({_STRING})|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_NO_BREAK = re.compile(r"[^\r\n]")
_BESIDE = re.compile(r"(?:[ \t]*(?:/\*.*?\*/|//[^\r\n]*))*", re.DOTALL)
"""Comments that begin on the line of what they stand behind."""

_LAST_COMMA = re.compile(rf"({_STRING})|,(?=[ \t\r\n]*[}}\]])", re.DOTALL)


class _Child(NamedTuple):
    """Where a member or an item begins in the text, where its value does, and where that ends."""

    start: int
    value: int
    end: int


class _JsonContainer(NamedTuple):
    """Where an object or a list begins and ends in the text, and its members or items in order."""

    start: int
    end: int
    children: Mapping[str | int, _Child]


def parse_json_object(text: str, *, name: str) -> dict[str, Any]:
    """Parse a text that holds one JSON object; blank for an empty one. Raises: Invalid."""
    plain = _without_commas(_without_comments(text))
    if not plain.strip():
        return {}
    try:
        parsed = json.loads(plain, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except json.JSONDecodeError as exc:
        why = f"it is not JSON ({exc.msg}, line {exc.lineno})"
    except (ValueError, RecursionError):
        why = "it has a key twice, or a value that JSON does not allow"
    else:
        if isinstance(parsed, dict):
            return parsed
        why = f"expected a JSON object, got {json_kind(parsed)}"
    raise Invalid(f"{name} cannot be edited: {why}.", hint="Edit it yourself.")


def read_json_object(text: str) -> dict[str, Any]:
    """The object of a text; empty where there is none."""
    try:
        return parse_json_object(text, name="")
    except Invalid:
        return {}


def set_json_value(text: str, path: JsonPath, value: Any, *, name: str) -> str:
    """Set the value at a path, in the indentation and line ends that the text has.

    Args:
        text: The text; blank for a new file.
        path: Where; objects that are missing on the way are made. A number is of an item that is
            there already.
        value: What to set there.
        name: What errors call the file.

    Raises:
        Invalid: The text is not JSON, or the path leads through something else.
    """
    old = parse_json_object(text, name=name)
    expected = deepcopy(old)
    level: Any = expected
    for at, step in enumerate(path[:-1]):
        if isinstance(step, str) and isinstance(level, dict):
            level.setdefault(step, {})
        level = _down(level, step, path[: at + 1], name)
    if isinstance(path[-1], int):
        _down(level, path[-1], path, name)
    elif not isinstance(level, dict):
        raise _in_the_way(path[:-1], "an object", name)
    level[path[-1]] = value
    if not old and text.strip() in {"", "{}"}:
        return _new(expected)
    if not _without_comments(text).strip():  # nothing but comments
        return f"{text.rstrip()}\n{_new(expected)}"
    return _checked(_put(text, path, value), expected, name)


def append_json_item(text: str, path: JsonPath, item: Any, *, name: str) -> str:
    """Append an item to the list at a path, made where there is none. Raises: Invalid."""
    old = parse_json_object(text, name=name)
    level: Any = old
    for at, step in enumerate(path):
        if isinstance(level, dict) and step not in level:
            return set_json_value(text, path, [item], name=name)
        level = _down(level, step, path[: at + 1], name)
    if not isinstance(level, list):
        raise _in_the_way(path, "a list", name)
    expected = deepcopy(old)
    _at(expected, path).append(item)
    edited = _with_child(text, _container(text, path), _rendered(item, text, len(path) + 1), path)
    return _checked(edited, expected, name)


def cut_json_value(text: str, path: JsonPath, *, name: str) -> str:
    """Take out what is at a path, and what holds nothing else than that. Raises: Invalid."""
    expected = parse_json_object(text, name=name)
    while len(path) > 1 and len(_at(expected, path[:-1])) == 1 and not _is_explained(text, path):
        path = path[:-1]
    del _at(expected, path[:-1])[path[-1]]
    found = _container(text, path[:-1])
    if _is_explained(text, path):
        return _checked(_cut_beside_comments(text, found, path[-1]), expected, name)
    spans = list(found.children.values())
    number = list(found.children).index(path[-1])
    if len(spans) == 1:
        edited = text[: found.start + 1] + text[found.end - 1 :]
    elif number == len(spans) - 1:
        edited = text[: spans[number - 1].end] + text[spans[number].end :]
    else:
        edited = text[: spans[number].start] + text[spans[number + 1].start :]
    return _checked(edited, expected, name)


def _is_explained(text: str, path: JsonPath) -> bool:
    """Whether a comment stands beside the value at a path, in what holds it."""
    found = _container(text, path[:-1])
    plain = _without_comments(text)
    ends = [found.start, *(each.end for each in found.children.values())]
    begins = [*(each.start for each in found.children.values()), found.end]
    at = list(found.children).index(path[-1])
    return any(text[ends[n] : begins[n]] != plain[ends[n] : begins[n]] for n in (at, at + 1))


def _cut_beside_comments(text: str, found: _JsonContainer, key: str | int) -> str:
    """The text without a value and one comma beside it; no comment goes, nor any other line."""
    plain = _without_comments(text)
    spans, number = list(found.children.values()), list(found.children).index(key)
    start, end = spans[number].start, spans[number].end
    head, tail = text[:start], text[end:]
    comma = _after_space(plain, end)
    if plain[comma] == ",":
        tail = text[end:comma] + text[comma + 1 :]
    elif number:
        former = _after_space(plain, spans[number - 1].end)
        head = text[:former] + text[former + 1 : start]
    before, _, lead = head.rpartition("\n")
    line, line_end, after = tail.partition("\n")
    if line_end and not line.strip() and not lead.strip():  # it had lines of its own
        return f"{before}\n{after}"
    return head + tail


def _down(level: Any, step: str | int, path: JsonPath, name: str) -> Any:
    """The value one step down; Invalid where the path leads through something else."""
    if isinstance(step, str) and isinstance(level, dict):
        return level[step]
    if isinstance(step, int) and isinstance(level, list) and step < len(level):
        return level[step]
    raise _in_the_way(path[:-1], "an object" if isinstance(step, str) else "a list", name)


def _in_the_way(path: JsonPath, kind: str, name: str) -> Invalid:
    where = ".".join(map(str, path))
    return Invalid(f"{name} cannot be edited: {where} is not {kind}.", hint="Edit it yourself.")


def _at(level: Any, path: JsonPath) -> Any:
    for step in path:
        level = level[step]
    return level


def _checked(edited: str, expected: Mapping[str, Any], name: str) -> str:
    if read_json_object(edited) != expected:
        raise Invalid(f"{name} cannot be edited: its form is unusual.", hint="Edit it yourself.")
    return edited


def _new(value: Mapping[str, Any]) -> str:
    return _rendered(value, "\n", 0) + "\n"


def _put(text: str, path: JsonPath, value: Any) -> str:
    """The text with the value at a path whose last known step is an object or an item."""
    for depth, step in enumerate(path):
        found = _container(text, path[:depth])
        if step not in found.children:
            for key in reversed(path[depth + 1 :]):
                value = {key: value}
            member = f"{json.dumps(step)}: {_rendered(value, text, depth + 1)}"
            return _with_child(text, found, member, path[:depth])
    _, start, end = _container(text, path[:-1]).children[path[-1]]
    return text[:start] + _rendered(value, text, len(path)) + text[end:]


def _container(text: str, path: JsonPath) -> _JsonContainer:
    """The object or list at a path that is known to be there, in a text known to be valid."""
    plain = _without_commas(_without_comments(text))
    start = _after_space(plain, 0)
    for step in path:
        start = _children(plain, start).children[step].value
    return _children(plain, start)


def _without_comments(text: str) -> str:
    """The text with spaces for its comments: whatever else stands in it, stands where it stood."""
    return _COMMENT.sub(lambda found: found[1] or _NO_BREAK.sub(" ", found[0]), text)


def _without_commas(plain: str) -> str:
    """A text without comments with spaces for commas behind the last of what is listed."""
    return _LAST_COMMA.sub(lambda found: found[1] or " ", plain)


def _children(text: str, start: int) -> _JsonContainer:
    children: dict[str | int, _Child] = {}
    at = _after_space(text, start + 1)
    while text[at] not in "}]":
        begin = value = at
        key: str | int = len(children)
        if text[start] == "{":
            key, at = _DECODER.raw_decode(text, begin)
            value = _after_space(text, _after_space(text, at) + 1)
        _, end = _DECODER.raw_decode(text, value)
        children[key] = _Child(begin, value, end)
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return _JsonContainer(start, at + 1, children)


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


def _with_child(text: str, found: _JsonContainer, child: str, path: JsonPath) -> str:
    """The text with a member or an item added behind the last of the container at a path."""
    depth = len(path) + 1
    newline, indent = _style(text)
    if not found.children:
        held = text[found.start + 1 : found.end - 1].rstrip()  # comments, at most
        inside = f"{held}{newline}{indent * depth}{child}{newline}{indent * (depth - 1)}"
        return f"{text[: found.start + 1]}{inside}{text[found.end - 1 :]}"
    last = max(each.end for each in found.children.values())
    gap = f"{newline}{indent * depth}" if newline else " "
    comma = _after_space(_without_comments(text), last)
    is_closed = text[comma] == ","  # as in [1, 2,]: then a comma stands behind the new one too
    beside = _BESIDE.match(text, comma + 1 if is_closed else last)
    assert beside is not None
    head = text[: beside.end()] if is_closed else f"{text[:last]},{text[last : beside.end()]}"
    return f"{head}{gap}{child}{',' if is_closed else ''}{text[beside.end() :]}"


def _rendered(value: Any, text: str, depth: int) -> str:
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
