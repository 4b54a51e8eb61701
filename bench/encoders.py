"""An encoder around the product's own, for figures that count, time or keep what it is given.

Never makes a vector itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.ports import Encoder
    from commonplace.core.values import Vector


class Wrapping:
    """The port `Encoder`, each question passed on; whoever inherits from it looks on."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    @property
    def identity(self) -> str:
        """The encoder's own."""
        return self._encoder.identity

    @property
    def dimensions(self) -> int:
        """The encoder's own."""
        return self._encoder.dimensions

    def split(self, text: str, *, most: int | None = None) -> tuple[tuple[int, int], ...]:
        """As the encoder does."""
        return self._encoder.split(text, most=most)

    def encode_passages(self, texts: Sequence[str]) -> Vector:
        """As the encoder does."""
        return self._encoder.encode_passages(texts)

    def encode_query(self, text: str) -> Vector:
        """As the encoder does."""
        return self._encoder.encode_query(text)
