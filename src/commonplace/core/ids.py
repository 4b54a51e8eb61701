"""Ids of entries: UUIDv7, in the order of time, or what an idempotency key stands for.

Never reads a clock or makes randomness: both are handed in.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from commonplace.core.digest import sha256_hex
from commonplace.core.errors import Invalid
from commonplace.core.text import well_formed

if TYPE_CHECKING:
    from datetime import datetime

LONGEST_KEY = 500


def new_id(at: datetime, random_bytes: bytes) -> str:
    """A UUIDv7: the milliseconds of an instant, then 10 random bytes."""
    millis = max(int(at.timestamp() * 1000), 0) & ((1 << 48) - 1)
    # From digits: an object of `uuid` would cost as much as the rest of a small write's computing.
    time, rest = f"{millis:012x}", random_bytes[:10].hex()
    variant = "89ab"[int(rest[4], 16) & 3]
    return f"{time[:8]}-{time[8:]}-7{rest[:3]}-{variant}{rest[5:8]}-{rest[8:]}"


def key_id(namespace: uuid.UUID, owner: str, key: str) -> str:
    """The id that an owner's idempotency key is in a journal's namespace. Raises: Invalid."""
    check_key(key)
    return str(uuid.uuid5(namespace, well_formed(f"{len(owner)} {owner} {key}")))


def import_key(program: str, entry_id: str) -> str:
    """The idempotency key of an entry of another program, by its id there."""
    return f"import {program} {sha256_hex(entry_id.encode('utf-8', 'surrogatepass'))}"


def key_digest(key: str) -> str:
    """What a journal without ids knows an idempotency key by. Raises: Invalid."""
    check_key(key)
    return sha256_hex(well_formed(key).encode())


def check_key(key: str) -> None:
    """Refuse an idempotency key of more than 500 characters. Raises: Invalid."""
    if len(key) > LONGEST_KEY:
        raise Invalid(
            f"Invalid idempotency_key: {len(key):,} characters.", hint=f"Use at most {LONGEST_KEY}."
        )
