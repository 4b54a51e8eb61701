"""Ids of entries: UUIDv7, in the order of time.

Never reads a clock or makes randomness: both are handed in.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


def new_id(at: datetime, random_bytes: bytes) -> str:
    """A UUIDv7: the milliseconds of an instant, then 10 random bytes."""
    millis = max(int(at.timestamp() * 1000), 0) & ((1 << 48) - 1)
    rest = int.from_bytes(random_bytes[:10], "big")
    number = millis << 80 | 7 << 76 | (rest >> 68 & 0xFFF) << 64 | 2 << 62 | rest & ((1 << 62) - 1)
    return str(uuid.UUID(int=number))
