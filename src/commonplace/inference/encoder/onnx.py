"""Owns the ONNX sessions: token ids in, vectors of length 1 out.

Never sees a text, and holds no second copy of weights that a safetensors file already has; those
of packed arrays lie in memory once.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from commonplace.core.errors import Invalid, Unavailable
from commonplace.inference.encoder.arrays import SUFFIX as ARRAYS
from commonplace.inference.encoder.arrays import read_arrays
from commonplace.inference.encoder.protobuf import fields, parse_varint, render_varint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import onnxruntime

    from commonplace.core.values import Vector
    from commonplace.inference.encoder.profiles import Profile, Weights

# Unless told so before it is imported, it writes an identifier of the device into the user's cache
# and reports its use to its maker over the network; the name changed once between its releases.
_SILENT = {"ORT_DISABLE_TELEMETRY": "1", "ORT_TELEMETRY_DISABLED": "1"}

_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}
_POOLED_OUTPUT = "vectors"
_HIDDEN_OUTPUT = "last_hidden_state"


class Graph:
    """A loaded model. Thread-safe; memory grows with the tokens of the largest call."""

    def __init__(
        self,
        session: onnxruntime.InferenceSession,
        profile: Profile,
        options: onnxruntime.RunOptions,
        values: Sequence[onnxruntime.OrtValue] = (),
    ) -> None:
        self._session = session
        # The session reads them where they lie, and does not keep them.
        self._values = values
        self._options = options
        self._inputs = [given.name for given in session.get_inputs()]
        if strange := set(self._inputs) - _INPUTS:
            raise Invalid(
                f"The model asks for {', '.join(sorted(strange))}, which a text encoder does not.",
                hint="Use the weights the profile names.",
            )
        outputs = [given.name for given in session.get_outputs()]
        self._pooled = _POOLED_OUTPUT in outputs
        known = (_POOLED_OUTPUT, _HIDDEN_OUTPUT)
        self._output = next((name for name in known if name in outputs), outputs[0])
        self._dimensions = profile.dimensions
        self._pooling = profile.pooling
        self._counting = threading.Lock()
        self._rows, self._seconds = 0, 0.0

    def vectors(self, rows: Sequence[Sequence[int]]) -> Vector:
        """(n, dimensions) float32 of length 1, from n rows of token ids, each at least one long.

        Raises Invalid where the model gives another shape, Unavailable where it fails.
        """
        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(ids)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = row
            mask[number, : len(row)] = 1
        began = time.perf_counter()
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        with translated("The encoder failed"):
            (output,) = self._session.run(
                [self._output], {name: given[name] for name in self._inputs}, self._options
            )
        vectors: Vector = output if self._pooled else self._pool(output, mask)
        if vectors.shape != (len(rows), self._dimensions):
            raise Invalid(
                f"The model gives {vectors.shape[-1]} numbers a text, not {self._dimensions}.",
                hint="Use the weights the profile names.",
            )
        with self._counting:
            self._rows += len(rows)
            self._seconds += time.perf_counter() - began
        return vectors

    def encoded(self) -> tuple[int, float]:
        """How many rows it has made vectors of, and in how many seconds of all threads."""
        with self._counting:
            return self._rows, self._seconds

    def break_off(self) -> None:
        """End every run under way within milliseconds, and let none succeed from now on."""
        self._options.terminate = True

    def _pool(self, hidden: Vector, mask: np.typing.NDArray[np.int64]) -> Vector:
        """The first token of each row, or the mean over its own tokens, brought to length 1."""
        if self._pooling == "cls":
            pooled = hidden[:, 0]
        else:  # the sum: the mean's divisor falls out
            pooled = np.einsum("nld,nl->nd", hidden, mask.astype(np.float32))
        lengths = np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)
        vectors: Vector = (pooled / lengths).astype(np.float32)
        return vectors


def open_graph(weights: Weights) -> Graph:
    """Load a profile's model, in about 60 ms for 90 MB. Raises Invalid for broken weights."""
    os.environ |= _SILENT
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    options = _options(onnxruntime)
    broken = "The weights in {place} are broken"
    with translated(broken, error=Invalid, place=weights.model.parent):
        model, values = _model(weights, onnxruntime, options)
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return Graph(session, weights.profile, onnxruntime.RunOptions(), values)


def _model(
    weights: Weights, onnxruntime: Any, options: Any
) -> tuple[bytes | str, Sequence[onnxruntime.OrtValue]]:
    """The file, or our graph, and what of its weights is handed over; the options name the rest."""
    profile = weights.profile
    if not profile.graph:
        return str(weights.model), ()
    graph = files("commonplace.inference.encoder").joinpath(profile.graph).read_bytes()
    if weights.model.suffix == ARRAYS:
        names = external_names(graph)
        arrays = read_arrays(weights.model, names)
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(each) for each in arrays]
        options.add_external_initializers(names, values)
        return graph, values
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(weights.model.parent)
    )
    return pointing_at(graph, profile.model.paths[0], weights.model.name), ()


def _options(onnxruntime: Any) -> Any:
    options = onnxruntime.SessionOptions()
    # A caller that runs several batches at once does so in threads of its own.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # Patterns are kept for each shape; ours hardly ever repeat.
    options.enable_mem_pattern = False
    options.log_severity_level = 4  # what goes wrong is raised as well
    return options


def count_threads() -> int:
    """How many batches may run at once: more threads than four gain nothing."""
    if hasattr(os, "sched_getaffinity"):
        return min(4, len(os.sched_getaffinity(0)))
    return min(4, os.cpu_count() or 1)


@contextmanager
def translated(
    what: str, *, error: type[Invalid | Unavailable] = Unavailable, place: object = ""
) -> Iterator[None]:
    """Turn the runtime's exceptions and a lack of memory into ours; `what` begins the message."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    named = vars(state).values()
    failures: tuple[type[Exception], ...] = (
        RuntimeError,
        *(kind for kind in named if isinstance(kind, type) and issubclass(kind, Exception)),
    )
    try:
        yield
    except MemoryError as exc:
        raise _out_of_memory() from exc
    except failures as exc:
        said = str(exc)
        if "bad_alloc" in said or "bad allocation" in said or "Failed to allocate" in said:
            raise _out_of_memory() from exc
        hint = "Run `commonplace doctor`."
        # The runtime names the file whole.
        reason = said.splitlines()[0].replace(f"{place}{os.sep}", "")
        raise error(f"{what}: {reason[:200]}", hint=hint, place=place) from exc


def _out_of_memory() -> Unavailable:
    message = "There is not enough memory for the encoder."
    return Unavailable(message, hint="Free some memory; words are searched meanwhile.")


# Where a ModelProto keeps its pointers: graph (7), initializer (5), external_data (13).
_EXTERNAL_DATA = (7, 5, 13)
_NAME = 8  # of an initializer


def external_names(model: bytes) -> list[str]:
    """The names of the graph's initialisers whose numbers lie elsewhere, in order."""
    names = []
    for tensor in _nested(model, _EXTERNAL_DATA[:2]):
        held = {field.number: tensor[field.start : field.end] for field in fields(tensor)}
        if _EXTERNAL_DATA[2] in held:
            names.append(held[_NAME].decode())
    return names


def _nested(message: bytes, path: tuple[int, ...]) -> Iterator[bytes]:
    """The submessages under this path of field numbers."""
    if not path:
        yield message
        return
    for field in fields(message):
        if field.nested and field.number == path[0]:
            yield from _nested(message[field.start : field.end], path[1:])


def pointing_at(model: bytes, published: str, actual: str) -> bytes:
    """The graph with its pointers into the file `published` aimed at the file `actual`.

    A hub's own cache names files by their hash and shows them through symlinks, behind which the
    runtime refuses to look; it has to be given the real name.
    """
    if published == actual:
        return model
    before, after = (_entry(b"location", name.encode()) for name in (published, actual))
    return _replaced(model, _EXTERNAL_DATA, before, after)


def _replaced(message: bytes, path: tuple[int, ...], before: bytes, after: bytes) -> bytes:
    """A protobuf message whose submessages under this path of field numbers are exchanged."""
    if not path:
        return after if message == before else message
    out = bytearray()
    for field in fields(message):
        if field.nested and field.number == path[0]:
            inner = _replaced(message[field.start : field.end], path[1:], before, after)
            key, _ = parse_varint(message, field.begins)
            out += render_varint(key) + render_varint(len(inner)) + inner
        else:
            out += message[field.begins : field.end]
    return bytes(out)


def _entry(key: bytes, value: bytes) -> bytes:
    return b"\x0a" + render_varint(len(key)) + key + b"\x12" + render_varint(len(value)) + value
