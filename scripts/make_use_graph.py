"""Makes the graph of the Universal Sentence Encoder: ONNX operations over the arrays of its `.npz`.

Writes `src/commonplace/inference/encoder/use-multilingual-v3.onnx`, which holds no weights: each
initialiser bears the name of an array, which the reader hands over. Of the arrays it takes their
shapes, and one number, the epsilon of the normalisations. The same of these give the same bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto
from onnx_graph import OnnxGraph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WEIGHTS = "weights.npz"
GRAPH = Path(__file__).parent.parent / "src/commonplace/inference/encoder/use-multilingual-v3.onnx"

WIDTH = 512
BRANCH = 256
# Tokens of a window, and how many of them stand before its own: of the three convolutions.
WINDOWS = ((2, 0), (3, 1), (5, 2))
# The vocabulary is kept in so many parts, each with a scale of its own: a token's is its remainder.
PARTS = 17


class Graph(OnnxGraph):
    """The graph, with the names of arrays."""

    def __init__(self, shapes: Mapping[str, Sequence[int]], epsilon: float) -> None:
        super().__init__()
        self.epsilon = epsilon
        self._shapes = shapes

    def weight(self, name: str, kind: int = TensorProto.FLOAT) -> str:
        """An array of the weights, by its name."""
        return self.external(name, kind, self._shapes[name], location=WEIGHTS)

    def normalised(self, inputs: str, scale: str, bias: str, name: str) -> str:
        """Layer normalisation over the last axis."""
        return self.add(
            "LayerNormalization", [inputs, scale, bias], name, epsilon=self.epsilon, axis=-1
        )

    def joined(self, kind: str, name: str) -> str:
        """The arrays of the three convolutions side by side."""
        return self.add("Concat", [self.weight(f"{kind}{n}") for n, _ in WINDOWS], name, axis=-1)


def build(weights: Path) -> bytes:
    """The graph for the weights in this file, as serialised ONNX."""
    with np.load(weights, allow_pickle=False) as arrays:
        shapes = {name: arrays[name].shape for name in arrays.files}
        epsilon = float(arrays["eps"])
    shapes["table"] = (PARTS * shapes["q1"][0], WIDTH)
    graph = Graph(shapes, epsilon)
    words = _embedded(graph)
    branches = [_branch(graph, *window, number) for number, window in enumerate(WINDOWS)]
    graph.add("Concat", [words, *branches], "features", axis=-1)
    graph.normalised("features", graph.weight("ln_g"), graph.weight("ln_b"), "tokens")
    _pooled(graph)
    _deep(graph)
    return graph.serialised("use-multilingual-v3", WIDTH)


def _embedded(graph: Graph) -> str:
    """The words' vectors, (batch, length, width), and the three projections of them."""
    graph.add("Cast", ["attention_mask"], "mask_row", to=TensorProto.FLOAT)
    graph.add("Unsqueeze", ["mask_row", graph.constant("last", [-1])], "mask")
    graph.add("Gather", [graph.weight("table", TensorProto.UINT8), "input_ids"], "packed")
    graph.add("Cast", ["packed"], "numbers", to=TensorProto.FLOAT)
    graph.add("Mod", ["input_ids", graph.constant("parts", [PARTS])], "part")
    for name in ("scale", "lo"):
        graph.add("Gather", [graph.weight(name), "part"], f"{name}_row")
        graph.add("Unsqueeze", [f"{name}_row", "last"], f"{name}_each")
    graph.add("Mul", ["numbers", "scale_each"], "scaled")
    graph.add("Add", ["scaled", "lo_each"], "words")
    graph.add("MatMul", ["words", graph.joined("proj", "projection")], "projected_bare")
    graph.add("Add", ["projected_bare", graph.joined("proj_b", "projection_bias")], "projected")
    normalised = graph.normalised(
        "projected", graph.joined("ln_g", "ln_g_all"), graph.joined("ln_b", "ln_b_all"), "branches"
    )
    # What stands behind a text's end counts for nothing in a window.
    graph.add("Mul", [normalised, "mask"], "branches_masked")
    return "words"


def _branch(graph: Graph, size: int, before: int, number: int) -> str:
    """Two convolutions over windows of so many tokens, each added to what came in."""
    at = f"window_{size}"
    ends = [
        graph.constant(f"{at}_{what}", [number * BRANCH + more])
        for what, more in (("from", 0), ("to", BRANCH))
    ]
    came = graph.add("Slice", ["branches_masked", *ends, "last"], f"{at}_in")
    for layer in (1, 2):
        windows = _windows(graph, came, size, before, f"{at}_{layer}")
        graph.add("MatMul", [windows, graph.weight(f"w{layer}_{size}")], f"{at}_{layer}_bare")
        graph.add(
            "Add", [f"{at}_{layer}_bare", graph.weight(f"b{layer}_{size}")], f"{at}_{layer}_sum"
        )
        graph.add("Relu", [f"{at}_{layer}_sum"], f"{at}_{layer}_relu")
        came = graph.add("Add", [f"{at}_{layer}_relu", came], f"{at}_{layer}_out")
        if layer == 1:
            came = graph.add("Mul", [came, "mask"], f"{at}_{layer}_masked")
    return came


def _windows(graph: Graph, rows: str, size: int, before: int, at: str) -> str:
    """(batch, length, size * branch): the tokens of each window side by side."""
    after = size - 1 - before
    pads = graph.constant(f"{at}_pads", [0, before, 0, 0, after, 0])
    graph.add("Pad", [rows, pads], f"{at}_padded")
    axis = graph.constant(f"{at}_axis", [1])
    shifted = []
    for shift in range(size):
        start = graph.constant(f"{at}_{shift}_from", [shift])
        end = graph.constant(f"{at}_{shift}_to", [shift - size + 1 or 2**62])
        shifted.append(graph.add("Slice", [f"{at}_padded", start, end, axis], f"{at}_{shift}"))
    return graph.add("Concat", shifted, f"{at}_windows", axis=-1)


def _pooled(graph: Graph) -> None:
    """The sum over a text's tokens, divided by the root of their number."""
    graph.add("Transpose", ["mask"], "mask_across", perm=[0, 2, 1])
    graph.add("MatMul", ["mask_across", "tokens"], "sum_row")
    graph.add("Squeeze", ["sum_row", graph.constant("axis_1", [1])], "sum")
    graph.add("ReduceSum", ["mask_row", "last"], "count", keepdims=1)
    graph.add("MatMul", ["sum", graph.weight("cnn_W")], "reduced_bare")
    graph.add("Mul", ["count", graph.weight("cnn_b")], "reduced_bias")
    graph.add("Add", ["reduced_bare", "reduced_bias"], "reduced")
    graph.add("Sqrt", ["count"], "root")
    graph.add("Div", ["reduced", "root"], "text")


def _deep(graph: Graph) -> None:
    """Two layers with ways around them, then length 1."""
    first = _relu(graph, [("text", "d0")], "deep_0")
    second = _relu(graph, [("text", "p1"), (first, "d1")], "deep_1")
    third = _relu(graph, [(second, "d2")], "deep_2")
    graph.add("Tanh", [_sum(graph, [(second, "p3"), (third, "d3")], "deep_3")], "last_layer")
    graph.add("ReduceL2", ["last_layer"], "length", axes=[1], keepdims=1)
    graph.add("Max", ["length", graph.constant("tiny", [1e-6])], "length_safe")
    graph.add("Div", ["last_layer", "length_safe"], "vectors")


def _sum(graph: Graph, parts: Sequence[tuple[str, str]], name: str) -> str:
    made = [
        graph.add("MatMul", [inputs, graph.weight(matrix)], f"{name}_{matrix}")
        for inputs, matrix in parts
    ]
    return graph.add("Sum", made, f"{name}_sum")


def _relu(graph: Graph, parts: Sequence[tuple[str, str]], name: str) -> str:
    return graph.add("Relu", [_sum(graph, parts, name)], name)


if __name__ == "__main__":
    GRAPH.write_bytes(build(Path(sys.argv[1]) / WEIGHTS))
    print(f"{GRAPH.name}: {GRAPH.stat().st_size} bytes")
