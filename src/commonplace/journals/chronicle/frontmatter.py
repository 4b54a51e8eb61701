"""Owns the text of one file in chronicle's Markdown tree: YAML between two lines, then the message.

Never reads a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.errors import Invalid
from commonplace.core.plain_yaml import parse_yaml, render_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FENCE = "---"


def parse_file(text: str) -> tuple[dict[str, str | list[str]], str]:
    """The fields of a file and its message, as chronicle itself reads them; null is empty.

    Raises: Invalid where there is no frontmatter, or it is not a mapping of texts and lists.
    """
    trimmed = text.strip()
    rest = trimmed.removeprefix(_FENCE)
    close = rest.find(f"\n{_FENCE}", 0 if rest.startswith(("\n", "\r\n")) else 1)
    if rest == trimmed or close < 0:
        raise Invalid("It has no frontmatter.")
    found = parse_yaml(rest[:close])
    if not isinstance(found, dict):
        raise Invalid("Its frontmatter is not a mapping of keys to values.")
    fields: dict[str, str | list[str]] = {}
    for key, value in found.items():
        if isinstance(value, list):
            fields[key] = [each for each in value if isinstance(each, str)]
        elif value is None or isinstance(value, str):
            fields[key] = value or ""
    return fields, rest[close + len(_FENCE) + 1 :].strip()


def render_file(fields: Mapping[str, str | Sequence[str]], message: str) -> str:
    """A file as chronicle reads one; empty fields are left out."""
    filled = {
        key: value if isinstance(value, str) else list(value)
        for key, value in fields.items()
        if value
    }
    return f"{_FENCE}\n{render_yaml(filled)}{_FENCE}\n\n{message}\n"
