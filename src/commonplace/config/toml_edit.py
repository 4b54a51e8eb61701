"""Setting one value in a TOML text, with its comments, order and spacing kept.

Never guesses: the edited text is parsed again and must differ by that one value alone.
"""

from __future__ import annotations

import tomllib
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TypeAlias

from commonplace.core.errors import Invalid
from commonplace.core.toml import parse_toml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TomlValue: TypeAlias = str | bool | int | float | list[str]


def render_toml_value(value: TomlValue) -> str:
    """The value as TOML writes it, on one line."""
    import tomlkit

    return tomlkit.item(value).as_string()


def set_toml_value(text: str, path: Sequence[str], value: TomlValue, *, name: str) -> str:
    """Set the value at a path: in its place, or at the end of its table.

    Returns:
        The edited text. Comments, order, spacing and line ends of the rest are as they were.

    Raises:
        Invalid: the text is broken, or a key of the path holds something else than a table.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    expected = _with_value(parse_toml(text, name=name), path, value)
    edited = ""
    if expected is not None:
        try:
            document = tomlkit.parse(text)
            table: Any = document
            for key in path[:-1]:
                table = table.setdefault(key, tomlkit.table())
            table[path[-1]] = value
            edited = tomlkit.dumps(document)
            if "\r\n" in text:  # what it adds itself ends in a bare newline
                edited = edited.replace("\r\n", "\n").replace("\n", "\r\n")
        except (TOMLKitError, TypeError, ValueError):  # of what it cannot edit, it raises all three
            expected = None
    if expected is None or tomllib.loads(edited) != expected:
        raise Invalid(
            f"{name} holds {path[0]} in a form that cannot be edited.",
            hint=f"Set {'.'.join(path)} = {render_toml_value(value)} by hand.",
        )
    return edited


def unset_toml_value(text: str, path: Sequence[str], *, name: str) -> str:
    """Take the value at a path out; its table stays, with its comments.

    Returns:
        The edited text. Comments, order, spacing and line ends of the rest are as they were.

    Raises:
        Invalid: the value is in a form that cannot be edited.
    """
    return _cut(text, path, [_without(parse_toml(text, name=name), path)], name=name)


def cut_toml_table(text: str, path: Sequence[str], *, name: str) -> str:
    """Take the table at a path out, and what holds nothing else than that.

    Returns:
        The edited text. Comments, order, spacing and line ends of the rest are as they were.

    Raises:
        Invalid: the table is in a form that cannot be edited.
    """
    expected = [_without(parse_toml(text, name=name), path)]
    expected += [
        _without(expected[0], path[:end])
        for end in range(len(path) - 1, 0, -1)
        if _is_empty(expected[0], path[:end])
    ]
    return _cut(text, path, expected, name=name)


def _cut(
    text: str, path: Sequence[str], expected: Sequence[Mapping[str, Any]], *, name: str
) -> str:
    """The text without what is at a path; Invalid unless it then holds what is expected."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        table: Any = document
        for key in path[:-1]:
            table = table[key]
        del table[path[-1]]
        edited = tomlkit.dumps(document)
    except (TOMLKitError, TypeError, ValueError, KeyError):
        edited = text
    if tomllib.loads(edited) not in expected:
        raise Invalid(
            f"{name} holds {'.'.join(path)} in a form that cannot be edited.",
            hint=f"Take {'.'.join(path)} out by hand.",
        )
    return edited


def _without(tables: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
    changed = deepcopy(dict(tables))
    level = changed
    for key in path[:-1]:
        level = level[key]
    del level[path[-1]]
    return changed


def _is_empty(tables: Mapping[str, Any], path: Sequence[str]) -> bool:
    level: Any = tables
    for key in path:
        level = level[key]
    return bool(level == {})


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
