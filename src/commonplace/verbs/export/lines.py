"""Renders an item as a line of JSON without secrets, and parses a line as an item.

Pure functions; the same item gives the same bytes on every machine.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from commonplace.core.errors import Invalid
from commonplace.core.redact import mapped_texts, texts_in
from commonplace.core.text import well_formed

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.core.portable import PortableItem
    from commonplace.core.redact import Screen

_T = TypeVar("_T", bound="PortableItem")
_BETWEEN = "\n\n"


def screened_item(item: _T, screen: Screen) -> _T:
    """An item with a mark in place of each secret; its refs and times stay."""
    plain = msgspec.to_builtins(item)
    texts = [
        text for name, each in plain.items() if name not in _ADDRESSES for text in texts_in(each)
    ]
    # Most hold none, and one look at all of it is a third of a look at each.
    if not screen.find(_BETWEEN.join(texts)):
        return item
    shown = {
        name: each if name in _ADDRESSES else mapped_texts(each, screen.shown)
        for name, each in plain.items()
    }
    return msgspec.convert(shown, type(item))


_ADDRESSES = frozenset(
    ("ref", "supersedes", "superseded_by", "kind", "type", "commit", "parents", "source", "parent")
)


def render_line(item: PortableItem) -> bytes:
    """An item as a line of JSON."""
    try:
        return msgspec.json.encode(item) + b"\n"
    except (OverflowError, UnicodeEncodeError, ValueError):
        # A number beyond 64 bits, or half a surrogate pair, which another program wrote.
        plain = mapped_texts(msgspec.to_builtins(item), well_formed)
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def line_parser(item_type: Any) -> Callable[[bytes, str], Any]:
    """A function that parses a line as an item; its second argument names the line in errors."""
    decoder = msgspec.json.Decoder(item_type)

    def parse(line: bytes, where: str) -> Any:
        try:
            item = decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
            raise Invalid(
                f"{where} is not an entry: {exc}.",
                hint="Make the export again, or use another one; nothing was imported.",
            ) from exc
        times = (getattr(item, name) for name in item.__struct_fields__)
        if any(hasattr(x, "tzinfo") and x.tzinfo is None for x in times):
            raise Invalid(f"{where} has a time without a zone.", hint="Add one, such as Z.")
        return item

    return parse
