"""An ONNX graph under construction, and its bytes, for the scripts that make our encoders' graphs.

Never holds weights: it names where they lie.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import TensorProto, helper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx import NodeProto

# The oldest pair that onnxruntime 1.20 and later read and that has LayerNormalization.
_OPSET = 17
_IR_VERSION = 8


class OnnxGraph:
    """Nodes in order, small constants, and tensors whose numbers lie elsewhere."""

    def __init__(self) -> None:
        self._nodes: list[NodeProto] = []
        self._initialisers: dict[str, TensorProto] = {}

    def add(self, operation: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        """Append a node with one output and return the output's name."""
        self._nodes.append(helper.make_node(operation, inputs, [name], name=name, **attributes))
        return name

    def constant(
        self,
        name: str,
        values: Sequence[float] | Sequence[int],
        shape: Sequence[int] | None = None,
    ) -> str:
        """A small tensor kept in the graph itself: int64 for ints, float32 for floats.

        shape: None for one axis.
        """
        kind = TensorProto.FLOAT if isinstance(values[0], float) else TensorProto.INT64
        shape = [len(values)] if shape is None else shape
        self._initialisers[name] = helper.make_tensor(name, kind, shape, values)
        return name

    def external(self, name: str, kind: int, shape: Sequence[int], **where: object) -> str:
        """A tensor of the weights; where: `location`, the file, and perhaps what part of it."""
        tensor = TensorProto(name=name, data_type=kind, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in where.items():
            tensor.external_data.add(key=key, value=str(value))
        self._initialisers[name] = tensor
        return name

    def serialised(self, name: str, width: int, *domains: str) -> bytes:
        """The graph from token ids and their mask to `vectors` of this width, as bytes.

        domains: Those of operations that are not of ONNX itself.
        """
        whole = helper.make_graph(
            self._nodes,
            name,
            [
                helper.make_tensor_value_info(given, TensorProto.INT64, ["batch", "length"])
                for given in ("input_ids", "attention_mask")
            ],
            [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["batch", width])],
            initializer=list(self._initialisers.values()),
        )
        opsets = [helper.make_opsetid("", _OPSET), *(helper.make_opsetid(x, 1) for x in domains)]
        model = helper.make_model(
            whole, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="commonplace"
        )
        serialised: bytes = model.SerializeToString(deterministic=True)
        return serialised
