"""Owns the key files by which a repeated call makes no second entry, where entries have no ids.

Never holds a word of an entry: only where it was to be written, and when.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.digest import sha256_hex
from commonplace.core.errors import NotFound
from commonplace.core.files import replace_file, translated
from commonplace.core.text import well_formed

if TYPE_CHECKING:
    from pathlib import Path


class Plan(Struct, frozen=True, kw_only=True):
    """What a key stands for.

    Attributes:
        refs: User first.
        millis: The time.
        done: All are written.
        written: When the first call came, in milliseconds, where that is another time; 0 for none.
    """

    refs: tuple[str, ...]
    millis: int
    written: int = 0
    done: bool = False

    def moved(self, number: int, ref: str) -> Plan:
        """The plan with another place for one of its entries."""
        return replace(self, refs=(*self.refs[:number], ref, *self.refs[number + 1 :]))

    def finished(self) -> Plan:
        """The plan when all of it is written."""
        return replace(self, done=True)


def key_path(keys: Path, key: str) -> Path:
    """The file of a key, named by its sha256."""
    return keys / f"{sha256_hex(well_formed(key).encode())}.json"


def find_plan(path: Path) -> Plan | None:
    """The plan in a key file; None where none can be read. Raises: Unavailable, Denied."""
    try:
        with translated(path):
            content = path.read_bytes()
    except NotFound:
        return None
    try:
        found = json.loads(content)
        refs, millis = found["refs"], found["millis"]
        if not (isinstance(refs, list) and refs and all(isinstance(x, str) for x in refs)):
            return None
        return Plan(
            refs=tuple(refs),
            millis=int(millis),
            written=int(found.get("written", 0)),
            done=found.get("done") is True,
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def save_plan(path: Path, plan: Plan) -> None:
    """Put a plan in its key file, whole and durable. Raises: Unavailable, Denied."""
    found = {"refs": list(plan.refs), "millis": plan.millis, "done": plan.done}
    if plan.written:
        found["written"] = plan.written
    replace_file(path, json.dumps(found).encode(), mode=0o600)
