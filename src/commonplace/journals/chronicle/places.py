"""Owns where chronicle keeps its entries: the database or the Markdown tree that chronicle uses.

Never opens either, and never writes chronicle's own configuration.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from commonplace.core.errors import Invalid, NotFound
from commonplace.core.files import regular_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Form: TypeAlias = Literal["database", "tree"]

DATABASE = "chronicle.db"
_FOLDER = "chronicle"
_CONFIG = "config.json"
_LARGEST_CONFIG = 1024 * 1024


class ChroniclePlace(Struct, frozen=True, kw_only=True):
    """Where the entries are: a database's file, or the folder of a tree; there or not."""

    path: Path
    form: Form


def resolve_chronicle(
    *,
    db_path: Path | None = None,
    config_home: Path | None = None,
    data_home: Path | None = None,
    home: Path | None,
) -> ChroniclePlace:
    """The first place that is named: by us, by chronicle's own `config.json`, by convention.

    db_path: what CHRONICLE_DB_PATH or our settings name; a folder there is a tree. The folders of
    XDG are `~/.config` and `~/.local/share` by default. Raises: Invalid, Denied, Unavailable.
    """
    if db_path is not None:
        path = _expanded(db_path, home)
        return ChroniclePlace(path=path, form="tree" if os.path.isdir(path) else "database")
    config_home = config_home or (home / ".config" if home else None)
    data_home = data_home or (home / ".local" / "share" if home else None)
    if data_home is None:
        raise Invalid(
            "No home folder is known, so there is no place for chronicle's database.",
            hint="Set CHRONICLE_DB_PATH to a file.",
        )
    config = _read_config(config_home / _FOLDER / _CONFIG) if config_home else {}
    named = config.get("data_dir")
    folder = _expanded(type(data_home)(str(named)), home) if named else data_home / _FOLDER
    if config.get("backend") == "markdown":
        return ChroniclePlace(path=folder, form="tree")
    return ChroniclePlace(path=folder / DATABASE, form="database")


def _expanded(path: Path, home: Path | None) -> Path:
    if path.parts[:1] == ("~",) and home is not None:
        path = home.joinpath(*path.parts[1:])
    if not path.is_absolute():
        raise Invalid(
            "Chronicle's place {place} is not absolute.",
            hint="Name the whole path in CHRONICLE_DB_PATH, or in chronicle's config.json.",
            place=path,
        )
    return type(path)(os.path.abspath(path))


def _read_config(path: Path) -> Mapping[str, object]:
    """Chronicle's settings; none where there is no file. Raises Invalid, Denied, Unavailable."""
    try:
        with regular_file(path) as file:
            content = file.read(_LARGEST_CONFIG)
    except NotFound:
        return {}
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _broken(path, "holds no JSON object")
    backend, folder = found.get("backend") or "sqlite", found.get("data_dir") or ""
    if backend not in {"sqlite", "markdown"}:
        raise _broken(path, "names a backend that is neither sqlite nor markdown")
    if not isinstance(folder, str) or "\0" in folder:
        raise _broken(path, "names a data_dir that is not a path")
    return {"backend": backend, "data_dir": folder}


def _broken(path: Path, why: str) -> Invalid:
    return Invalid(
        f"Chronicle's settings in {{place}} cannot be used: the file {why}.",
        hint="Mend the file, or set CHRONICLE_DB_PATH to the database.",
        place=path,
    )
