"""Refs as they are shown and copied: in short, and out of a sentence with its punctuation.

Never knows a journal, and never alters a ref that leads somewhere as it is.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, TypeVar

from commonplace.core.errors import Invalid, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable

_Found = TypeVar("_Found")

_BEFORE = "()[]{}<>,;!?'\"`"
"""No dot: one in front begins a path, such as `../api`."""
_AFTER = f"{_BEFORE}."

SHORT_REF = "[a-z]:[0-9a-f]{8}"
"""What a short ref looks like, as a regular expression."""


def short_ref(ref: str) -> str:
    """A ref in ten characters: its journal's first letter and 32 bits of the whole, `c:7c55e795`.

    An index finds the ref by these bits alone, which are the same for good. Of 100,000 refs one in
    43,000 shares its short form with another. `s` is for what was said: `t` is the timeline's.
    """
    letter = "s" if ref.startswith("transcripts:") else ref[:1]
    return f"{letter}:{zlib.crc32(ref.encode('utf-8', 'surrogatepass')):08x}"


def short_number(text: str) -> int | None:
    """The 32 bits of a short ref, which may have punctuation around it; None for any other text."""
    bare = bare_ref(text)
    if not re.fullmatch(SHORT_REF, bare):
        return None
    return int.from_bytes(bytes.fromhex(bare[2:]), "big")


def bare_ref(ref: str) -> str:
    """The ref without blanks and punctuation around it: `chronicle:1` of `(chronicle:1).`."""
    return ref.strip().lstrip(_BEFORE).rstrip(_AFTER)


def look_up(ref: str, read: Callable[[str], _Found]) -> _Found:
    """What `read` gives for a ref as it is, else for the same without punctuation around it.

    Args:
        ref: As a person or a model gave it; a section may really end with a bracket.
        read: Takes a ref; it may also alter what is there, but nothing where it raises.

    Raises:
        As `read` for the ref as it is, where the bare one leads nowhere either.
    """
    ref = ref.strip()
    try:
        return read(ref)
    except (Invalid, NotFound) as exc:
        bare = bare_ref(ref)
        if bare in {"", ref}:
            raise
        try:
            return read(bare)
        except (NotFound, type(exc)):
            # The same of both: what was given is to be named.
            raise exc from None
