"""Owns which `.chronicle` files the user has allowed: each by its path and by what it says.

Never allows a file by itself, and never holds a word of an entry.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict, replace

from commonplace.core.digest import sha256_hex
from commonplace.core.errors import CommonplaceError
from commonplace.core.files import make_folder, replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.journals.chronicle.log_config import LogConfig

_LARGEST = 65_536


class TrustRequest(Struct, frozen=True, kw_only=True):
    """A `.chronicle` that was seen.

    Attributes:
        content: The sha256 of its bytes.
        allowed: By the user.
        logs: Every log_dir that the user allowed, also those before the last change.
    """

    file: str
    content: str
    allowed: bool = False
    logs: tuple[str, ...] = ()


class TrustedLogs:
    """A folder of ours with a file for each `.chronicle` that asked; safe among processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def is_allowed(self, config: LogConfig) -> bool:
        """Whether the user has allowed this file with just this content."""
        asked = self._find(config.file)
        return asked is not None and asked.allowed and asked.content == config.content

    def allow(self, config: LogConfig) -> None:
        """Remember that the user allows it. Raises: Denied, Unavailable."""
        asked = self._find(config.file)
        logs = dict.fromkeys((*(asked.logs if asked else ()), config.log_dir))
        self._put(
            TrustRequest(
                file=str(config.file), content=config.content, allowed=True, logs=tuple(logs)
            )
        )

    def ask_once(self, config: LogConfig) -> bool:
        """Whether it is asked about for the first time with this content; remembers it."""
        asked = self._find(config.file)
        if asked is not None and asked.content == config.content:
            return False
        with contextlib.suppress(CommonplaceError):  # a home that cannot be written: asked again
            logs = asked.logs if asked else ()
            self._put(TrustRequest(file=str(config.file), content=config.content, logs=logs))
        return True

    def revoke(self, file: Path) -> bool:
        """Allow a `.chronicle` no more; whether it was allowed. Raises: Denied, Unavailable."""
        asked = self._find(file)
        if asked is None or not asked.allowed:
            return False
        self._put(replace(asked, allowed=False))
        return True

    def each(self) -> list[TrustRequest]:
        """What the user has allowed, by path, with the content it had then."""
        return [x for x in self.every() if x.allowed]

    def every(self) -> list[TrustRequest]:
        """Every `.chronicle` that was seen, by path, allowed or not."""
        try:
            names = os.listdir(self._folder)
        except OSError:
            return []
        found = (self._read(self._folder / name) for name in names)
        return sorted((x for x in found if x is not None), key=lambda x: x.file)

    def _find(self, file: Path) -> TrustRequest | None:
        asked = self._read(self._path_of(str(file)))
        return asked if asked is not None and asked.file == str(file) else None

    def _put(self, asked: TrustRequest) -> None:
        make_folder(self._folder)
        replace_file(self._path_of(asked.file), json.dumps(asdict(asked)).encode())

    def _path_of(self, file: str) -> Path:
        return self._folder / _name_of(file)

    def _read(self, path: Path) -> TrustRequest | None:
        try:
            with open(path, "rb") as opened:
                return _parsed(opened.read(_LARGEST))
        except OSError:
            return None


def path_in_request(content: bytes) -> str:
    """The `.chronicle` that a file of `TrustedLogs` is about; empty for none."""
    asked = _parsed(content)
    return "" if asked is None else asked.file


def request_of_path(content: bytes, path: str) -> tuple[str, bytes]:
    """The name and the content of that file for a `.chronicle` that lies there."""
    asked = _parsed(content)
    assert asked is not None
    return _name_of(path), json.dumps(asdict(replace(asked, file=path))).encode()


def _name_of(file: str) -> str:
    return sha256_hex(os.fsencode(file))[:32]


def _parsed(content: bytes) -> TrustRequest | None:
    try:
        found = json.loads(content)
        return TrustRequest(
            file=str(found["file"]),
            content=str(found["content"]),
            allowed=found["allowed"] is True,
            logs=tuple(map(str, found.get("logs", ()))),
        )
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
