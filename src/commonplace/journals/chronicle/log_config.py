"""Owns what a `.chronicle` says of project logs, and which of them rules a folder.

Never writes a log, and never raises for a file that is broken: it logs nothing and says why.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from msgspec import Struct

from commonplace.core.digest import sha256_hex
from commonplace.core.errors import CommonplaceError
from commonplace.core.files import regular_file
from commonplace.core.projects import CHRONICLE_FILE
from commonplace.core.text import opening
from commonplace.core.toml import parse_toml

CONFIG_NAME = CHRONICLE_FILE
CONFIG_LIMIT = 65_536
"""Bytes; a larger `.chronicle` is not ours."""

FORMATS = ("markdown", "json", "text")

NOT_WRITTEN = "No project log was written"


class LogConfig(Struct, frozen=True, kw_only=True):
    """What a `.chronicle` asks for.

    Attributes:
        file: Where it lies.
        content: The sha256 of its bytes.
        log_dir: As written, relative to its folder.
        log_format: One of FORMATS.
        warning: A sentence on what is wrong with it, empty when nothing is.
    """

    file: Path
    content: str = ""
    local_logging: bool = False
    log_dir: str = "logs"
    log_format: str = "markdown"
    warning: str = ""

    @property
    def root(self) -> Path:
        """The folder that `.chronicle` lies in: the project."""
        return self.file.parent


def find_log_config(folder: Path, home: Path | None) -> LogConfig | None:
    """The `.chronicle` that rules a folder: its own, else the nearest above it.

    The search ends with the home or, outside of it, with the root of the filesystem. A
    `.chronicle` that cannot be read or understood rules as well: it logs nothing and says why.
    """
    here = Path(os.path.realpath(folder))
    top = Path(os.path.realpath(home)) if home else None
    for each in (here, *here.parents):
        file = each / CONFIG_NAME
        if os.path.isfile(file):
            return read_log_config(file)
        if each == top:
            break
    return None


def read_log_config(file: Path) -> LogConfig:
    """What a `.chronicle` says; of one that is broken, why. Never raises."""
    try:
        with regular_file(file) as opened:
            raw = opened.read(CONFIG_LIMIT + 1)
        if len(raw) > CONFIG_LIMIT:
            return _broken(file, f"{file} is larger than {CONFIG_LIMIT // 1024} KB.")
        content = sha256_hex(raw)
        return _parse_config(file, content, parse_toml(raw.decode(), name=str(file)))
    except CommonplaceError as exc:
        return _broken(file, exc.located)
    except UnicodeDecodeError:
        return _broken(file, f"{file} is not UTF-8.")


def _parse_config(file: Path, content: str, keys: dict[str, Any]) -> LogConfig:
    wanted = keys.get("local_logging", False)
    if not isinstance(wanted, bool):
        return _broken(file, f"local_logging in {file} is neither true nor false.")
    log_dir = keys.get("log_dir", "logs")
    if not isinstance(log_dir, str):
        return _broken(file, f"log_dir in {file} is not a text.")
    log_format = keys.get("log_format", "markdown")
    warning = ""
    if log_format not in FORMATS:
        shown = opening(str(log_format), 40)
        warning = f"Unknown log_format {shown!a} in {file}: the log is written as markdown."
        log_format = "markdown"
    return LogConfig(
        file=file,
        content=content,
        local_logging=wanted,
        log_dir=log_dir,
        log_format=log_format,
        warning=warning if wanted else "",
    )


def _broken(file: Path, why: str) -> LogConfig:
    return LogConfig(file=file, warning=f"{NOT_WRITTEN}: {why}")
