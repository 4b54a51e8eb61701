"""An encoder whose vectors are kept between runs, so that a run after tuning takes seconds.

Never makes a vector otherwise than the encoder behind it would.
"""

from __future__ import annotations

import hashlib
import os
import threading
import zipfile
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bench.encoders import Wrapping
from bench.other_encoders import BGE_IN_8_BITS, MultilingualE5, open_profile
from commonplace.core.text import well_formed
from commonplace.inference.encoder.profiles import PROFILES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from commonplace.core.ports import Encoder
    from commonplace.core.values import Vector


class CachedEncoder(Wrapping):
    """An encoder that remembers each vector by its text. Thread-safe.

    What it remembers lies in a file of the folder, one for each encoder's identity; `save` writes.
    """

    def __init__(self, encoder: Encoder, folder: Path) -> None:
        super().__init__(encoder)
        self._path = folder / f"vectors-{encoder.identity.replace(':', '-')}.npz"
        self._lock = threading.Lock()
        self._known = _read(self._path)
        self._kept = len(self._known)

    def encode_passages(self, texts: Sequence[str]) -> Vector:
        """(n, dimensions) float32; only texts never seen before are encoded."""
        if not texts:
            return super().encode_passages(texts)
        return np.stack(self._vectors("passage", texts, super().encode_passages))

    def encode_query(self, text: str) -> Vector:
        """(dimensions,) float32."""
        one = self._vectors("query", [text], lambda texts: [self._encoder.encode_query(*texts)])
        return one[0]

    def save(self) -> None:
        """Write what was learned since the file was read; the file is replaced whole."""
        with self._lock:
            if len(self._known) == self._kept:
                return
            self._path.parent.mkdir(parents=True, exist_ok=True)
            beside = self._path.with_name(f"{self._path.stem}.{os.getpid()}.npz")
            np.savez(
                beside, keys=np.array(list(self._known)), vectors=np.stack([*self._known.values()])
            )
            beside.replace(self._path)
            self._kept = len(self._known)

    def _vectors(
        self, what: str, texts: Sequence[str], encode: Callable[[list[str]], Iterable[Vector]]
    ) -> list[Vector]:
        keys = [_key(what, text) for text in texts]
        with self._lock:
            new = {k: t for k, t in zip(keys, texts, strict=True) if k not in self._known}
        if new:
            made = encode(list(new.values()))
            with self._lock:
                self._known.update(zip(new, made, strict=True))
        return [self._known[key] for key in keys]


ENCODERS: Mapping[str, Callable[[Path], Encoder]] = {
    **{name: partial(open_profile, profile) for name, profile in PROFILES.items()},
    "bge-small-en-v1.5-8bit": partial(open_profile, BGE_IN_8_BITS),
    "multilingual-e5-small-4bit": lambda _: MultilingualE5(),
}
"""What opens each encoder that can be measured, given where fetched weights lie."""


def open_encoder(name: str, cache: Path) -> CachedEncoder:
    """An encoder by its name, its vectors kept in the cache. Raises: Unavailable."""
    return CachedEncoder(ENCODERS[name](cache), cache)


def _key(what: str, text: str) -> str:
    return hashlib.sha256(f"{what}\0{well_formed(text)}".encode()).hexdigest()


def _read(path: Path) -> dict[str, Vector]:
    try:
        with path.open("rb") as file, np.load(file) as held:
            return dict(zip(held["keys"].tolist(), held["vectors"], strict=True))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return {}  # absent or cut short: everything is encoded again
