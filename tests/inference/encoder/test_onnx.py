"""The graph: made from the header alone, right to 2e-6, at home behind a symlink."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from msgspec.structs import replace
from tests.inference.encoder.small_models import (
    PREFIXED,
    embedding_table,
    minilm_weights,
    small_weights,
    write_model,
    write_published,
)

from commonplace.core.errors import Invalid
from commonplace.inference.encoder.onnx import open_graph, pointing_at

ROOT = Path(__file__).parents[3]
SHIPPED = ROOT / "src/commonplace/inference/encoder/minilm-l6-v2.onnx"


def locations(model: bytes) -> list[tuple[str, dict[str, str]]]:
    parsed = onnx.load_model_from_string(model)
    return [
        (tensor.name, {entry.key: entry.value for entry in tensor.external_data})
        for tensor in parsed.graph.initializer
        if tensor.external_data
    ]


def test_the_shipped_graph_is_what_the_script_makes(tmp_path, monkeypatch):
    """Nobody edits the graph by hand: the script gives the same bytes from the weights' header."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    script = importlib.import_module("make_minilm_graph")

    made = script.build(minilm_weights(tmp_path).model)

    assert made == SHIPPED.read_bytes()


def test_the_shipped_graph_holds_no_weights():
    """Ninety megabytes stay where they were published; the graph only points there."""
    pointers = locations(SHIPPED.read_bytes())

    assert len(pointers) == 101  # 5 embedding tensors and 16 a layer
    assert {entry["location"] for _, entry in pointers} == {"model.safetensors"}
    assert SHIPPED.stat().st_size < 30_000


@pytest.mark.parametrize("actual", ["a", "f" * 64, "x" * 300], ids=len)
def test_pointers_are_aimed_at_the_files_real_name(actual):
    """Only the location changes, whatever the length of the name; all else parses as before."""
    before = SHIPPED.read_bytes()

    after = pointing_at(before, "model.safetensors", actual)

    expected = [(name, {**entry, "location": actual}) for name, entry in locations(before)]
    assert locations(after) == expected
    assert pointing_at(after, actual, "model.safetensors") == before


def test_weights_behind_the_symlinks_of_a_hub_cache_load(tmp_path):
    """A hub's snapshot folder shows files named by hash elsewhere; the vectors are the same."""
    weights = minilm_weights(tmp_path)
    blob = tmp_path / "blobs" / weights.sha256
    blob.parent.mkdir()
    try:
        os.link(weights.model, blob)
    except OSError:  # another filesystem
        blob.write_bytes(weights.model.read_bytes())
    rows = [[101, 2712, 102]]

    linked = open_graph(replace(weights, model=blob)).vectors(rows)

    np.testing.assert_allclose(linked, open_graph(weights).vectors(rows), atol=1e-6)


@pytest.mark.design("000-29")
def test_pooling_is_the_mean_over_a_rows_own_tokens(tmp_path):
    """Padding of a shorter row counts for nothing; each vector has length 1."""
    graph = open_graph(small_weights(write_published(tmp_path / "w"), tmp_path))
    table = embedding_table()

    vectors = graph.vectors([[2, 5, 3], [2, 7, 8, 9, 10, 3]])

    for vector, row in zip(vectors, ([2, 5, 3], [2, 7, 8, 9, 10, 3]), strict=True):
        mean = table[row].mean(axis=0)
        np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert vectors.dtype == np.float32


def test_pooling_may_take_the_first_token_alone(tmp_path):
    """As bge was trained: the vector of [CLS], brought to length 1, whatever else is padded."""
    folder = write_published(tmp_path / "w")
    graph = open_graph(small_weights(folder, tmp_path, replace(PREFIXED, pooling="cls")))
    table = embedding_table()

    vectors = graph.vectors([[2, 5, 3], [5, 7, 8, 9, 10, 3]])

    for vector, first in zip(vectors, (2, 5), strict=True):
        np.testing.assert_allclose(vector, table[first] / np.linalg.norm(table[first]), atol=1e-6)


def test_token_types_are_given_only_to_a_model_that_asks(tmp_path):
    """Exports differ in their inputs; both kinds load."""
    folder = write_published(tmp_path / "w", inputs=("input_ids", "attention_mask"))

    vectors = open_graph(small_weights(folder, tmp_path)).vectors([[2, 5, 3]])

    assert vectors.shape == (1, 8)


def test_a_model_of_another_shape_is_refused(tmp_path):
    """Vectors of the wrong length never reach an index."""
    graph = open_graph(small_weights(write_published(tmp_path / "w", dimensions=6), tmp_path))

    with pytest.raises(Invalid, match=r"gives 6 numbers a text, not 8\."):
        graph.vectors([[2, 3]])


def test_a_model_with_inputs_of_another_kind_is_refused(tmp_path):
    """A picture model in the folder is named as what it is not."""
    folder = write_published(tmp_path / "w")
    write_model(folder / "onnx/model.onnx", inputs=("input_ids", "pixel_values"))

    with pytest.raises(Invalid, match="asks for pixel_values"):
        open_graph(small_weights(folder, tmp_path))


def test_broken_weights_are_named(tmp_path):
    """The message says which folder, and not a page of the runtime's own words."""
    folder = write_published(tmp_path / "w")
    (folder / "onnx/model.onnx").write_bytes(b"not a model")

    with pytest.raises(Invalid) as raised:
        open_graph(small_weights(folder, tmp_path))

    assert raised.value.located.startswith(f"The weights in {folder}/onnx are broken: ")
    assert str(folder) not in raised.value.message
    assert "\n" not in raised.value.message


LOADS = """
from pathlib import Path
from tests.inference.encoder.small_models import minilm_weights
from commonplace.inference.encoder.onnx import open_graph
open_graph(minilm_weights(Path({home!r})))
"""
# What the runtime takes for a test machine, where it keeps silent by itself.
OF_TESTS = ("CI", "GITHUB", "GITLAB", "BUILD", "TF_", "JENKINS", "TEAMCITY", "PYTEST", "AGENT")


@pytest.mark.design("000-05")
def test_loading_the_model_tells_nobody(tmp_path):
    """No identifier of this device, no event waiting to be sent: the home holds only what is ours."""
    minilm_weights(tmp_path / "ours")
    home = tmp_path / "theirs"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OF_TESTS)}
    environment = {**kept, "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache")}
    done = subprocess.run(
        [sys.executable, "-c", LOADS.format(home=str(tmp_path / "ours"))],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert [x for x in home.rglob("*") if x.is_file()] == []
