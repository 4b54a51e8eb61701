"""The paths in a settings file of another machine, each led to where it lies on this one.

Writes no file; all else of the text stays as it is.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from commonplace.config.table import SECTIONS, SETTINGS
from commonplace.config.toml_edit import set_toml_value
from commonplace.config.values import parse_folder, parse_path
from commonplace.core.toml import parse_toml

if TYPE_CHECKING:
    from collections.abc import Callable


def relocated_settings(text: str, path_of: Callable[[str, str], str], *, name: str) -> str:
    """The text of a settings file with its absolute paths as they are here.

    Args:
        text: A whole settings file; keys that are not ours are left to its reader to refuse.
        path_of: Where a path lies here, given the setting's name as well.
        name: What errors call the file.

    Raises:
        Invalid: It is no TOML.
    """
    tables = parse_toml(text, name=name)
    for setting in SETTINGS:
        if setting.parse not in {parse_path, parse_folder}:
            continue
        section, _, key = setting.key.rpartition(".")
        table = tables.get(section, {}) if section in SECTIONS else tables
        value = table.get(key) if isinstance(table, dict) else None
        if not isinstance(value, str) or not os.path.isabs(value):
            continue
        found = path_of(value, f"the setting {setting.key}")
        if found != value:
            text = set_toml_value(text, setting.key.split("."), found, name=name)
    return text
