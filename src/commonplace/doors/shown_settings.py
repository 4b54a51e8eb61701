"""How a setting is shown to people: its value, and whether their own file decides it.

Never writes one, and never shows a value that may hold a secret.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from commonplace.config.settings import (
    NARROWED_BY,
    parse_setting,
    render_setting,
    unknown_setting,
)
from commonplace.config.table import SETTINGS
from commonplace.config.values import OneOf, parse_boolean
from commonplace.core.errors import CommonplaceError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from commonplace.config.table import Setting, Settings

HIDDEN = "(set, not shown)"

_DEFAULT = "default"


def find_row(key: str) -> Setting:
    """The row of a key. Raises: Invalid for a key that no setting has."""
    for row in SETTINGS:
        if row.key == key:
            return row
    raise unknown_setting(f"the setting {key!r}", key)


def value_of(row: Setting, settings: Settings) -> Any:
    """The value of a setting as JSON holds it; of one that may hold a secret, that it is set."""
    value = row.read(settings)
    return HIDDEN if row.is_secret and value not in {None, ()} else render_setting(value)


def text_of(value: Any, *, nothing: str = "") -> str:
    """A value as a text. nothing: What is said of a setting that is not set."""
    match value:
        case None:
            return nothing
        case bool():
            return "true" if value else "false"
        case list():
            return ",".join(value)
        case float() if value.is_integer():
            return f"{value:.0f}"
    return str(value)


def typed_text(row: Setting, value: Any) -> str:
    """A value as `config set` takes it: a list of texts in which commas may be as JSON."""
    if not isinstance(value, list):
        return text_of(value)
    text = text_of(value) or "none"
    try:
        is_same = render_setting(parse_setting(row.key, text)) == value
    except CommonplaceError:
        is_same = False
    return text if is_same else json.dumps(value, ensure_ascii=False)


def choices_of(row: Setting) -> Sequence[str]:
    """The words that a setting may be; none where it is not one of a few."""
    if isinstance(row.parse, OneOf):
        return row.parse.choices
    return ("true", "false") if row.parse is parse_boolean else ()


def file_decides(row: Setting, settings: Settings, file: Path) -> bool:
    """Whether the user's own file decides a setting, because nothing that goes before it has it."""
    origin = settings.origins[row.key].partition(NARROWED_BY)[0]
    is_users = origin == _DEFAULT or origin.startswith(f"{file} ")
    # What a project's file names inside of it holds only where the user names no folder.
    return is_users or (row.project == "inside" and row.key in settings.project_folders)


def overruled(row: Setting, settings: Settings, file: Path) -> list[str]:
    """What goes before the user's file, in a sentence; nothing where the file has its way."""
    origin = settings.origins[row.key]
    if origin.startswith(f"{file} "):
        return []
    value = text_of(value_of(row, settings), nothing="-")
    return [f"It stays {value}: {origin} goes before this file."]
