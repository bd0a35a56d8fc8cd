"""Models for batch scoring on many machines: pinned once, fetched once for each machine.

A job pins its model where it is started, by the digest of the version's manifest. Each process of
the job opens what has this digest: the client's cache and its locks see that one process of a
machine downloads it, and that every byte is verified.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hub.client import loading
from hub.client.cache import Resolved
from hub.client.hub import Hub
from hub.protocol import problems, refs

if TYPE_CHECKING:
    import numpy as np
    import onnx


MEMORY_BYTES = 500_000_000
# Rows of a batch where the hub does not know what a run of the model needs.
PRESET_ROWS = 32
MOST_ROWS = 4096
# Of what ONNX Runtime takes to what is counted in graphs, the mean that docs/costs.md measures.
RUNTIME_FACTOR = 2.53


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output: its name, NumPy's type, and the shape of one row, None where free."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class PinnedModel:
    """One variant of a published version, and how it is run: `rows` at a time."""

    url: str
    ref: refs.Ref
    sha256: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    rows: int

    @property
    def lineage(self) -> dict[str, str]:
        """What results say of their model: its hub, its reference, and its manifest's SHA-256."""
        return {"hub.url": self.url, "hub.ref": str(self.ref), "hub.sha256": self.sha256}

    def open(self, threads: int) -> Scorer:
        """The model, ready to run on this number of threads; raises what `Hub.session` raises."""
        import onnxruntime  # noqa: PLC0415  (optional; missing on the machine that starts the job)

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        pinned = replace(self.ref, number=None, digest=self.sha256)
        session = Hub(self.url).session(str(pinned), sess_options=options, progress=False)
        return Scorer(self, session)


@dataclass(frozen=True, slots=True)
class Scorer:
    """An open model of one process."""

    model: PinnedModel
    session: Any

    def run(self, arrays: Sequence[np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
        """Return each output by its name; `arrays` are the inputs in order, rows first.

        Raise `InvalidRequest` where an output has not one row for each input row.
        """
        import numpy as np  # noqa: PLC0415  (optional)

        parts = list(self._parts(arrays))
        return {
            port.name: np.concatenate([part[index] for part in parts])
            for index, port in enumerate(self.model.outputs)
        }

    def _parts(self, arrays: Sequence[np.ndarray[Any, Any]]) -> Iterator[list[Any]]:
        inputs = self.model.inputs
        # One empty batch has outputs of the right types, too.
        for start in range(0, max(len(arrays[0]), 1), self.model.rows):
            batch = {
                port.name: array[start : start + self.model.rows].astype(port.dtype, copy=False)
                for port, array in zip(inputs, arrays, strict=True)
            }
            outputs = self.session.run([port.name for port in self.model.outputs], batch)
            count = len(batch[inputs[0].name])
            for port, output in zip(self.model.outputs, outputs, strict=True):
                if output.shape[:1] != (count,):
                    raise problems.InvalidRequest(
                        f"{port.name!r} of {self.model.ref} has the shape {output.shape} for "
                        f"{count} rows, so its rows cannot be separated."
                    )
            yield outputs


def pin(
    hub: Hub,
    ref: str,
    *,
    opset: int | None = None,
    variant: str | None = None,
    strength: str | None = None,
    memory_bytes: int = MEMORY_BYTES,
) -> PinnedModel:
    """Return what a reference means now, for every process of a job.

    A batch has as many rows as ONNX Runtime needs `memory_bytes` for, by the costs that the hub
    counted, and 32 where it counted none. Raise `InvalidRequest` for a draft, and for a model whose
    first dimension is not that of the rows, and whatever `Hub.load` raises.
    """
    resolved = hub.resolve(ref, opset=opset, variant=variant, strength=strength)
    name = str(resolved.ref)
    if resolved.manifest is None or not resolved.is_lasting:
        raise problems.InvalidRequest(f"{name} is a draft. Publish it before it scores anything.")
    graph = loading.read_graph(
        resolved, lambda files: hub.bring(name, list(files), progress=False)
    )[0].graph
    weights = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in weights]
    first = {_first(value, name) for value in (*inputs, *graph.output)}
    is_single = 1 in first
    if not inputs or any(isinstance(size, int) and size != 1 for size in first):
        raise problems.InvalidRequest(
            f"{name} has no inputs, or a fixed first dimension, so rows cannot be batched."
        )
    symbol = next((size for size in sorted(map(str, first)) if size not in {"", "1"}), "")
    return PinnedModel(
        url=hub.config.url,
        ref=replace(resolved.ref, variant=resolved.variant),
        sha256=resolved.manifest,
        inputs=tuple(_port(value, name) for value in inputs),
        outputs=tuple(_port(value, name) for value in graph.output),
        rows=1 if is_single else _rows(hub, resolved, symbol, memory_bytes),
    )


def _rows(hub: Hub, resolved: Resolved, symbol: str, memory_bytes: int) -> int:
    """The rows that need so much memory: it grows evenly with them."""
    try:
        one, two = (
            hub.versions.costs(
                resolved.ref.name,
                resolved.number,
                size=[f"{symbol}:{rows}"],
                variant=resolved.variant,
            ).memory_bytes
            for rows in (1, 2)
        )
    except problems.HubError:
        return PRESET_ROWS
    if one is None or two is None or two <= one:
        return PRESET_ROWS
    fixed, row = 2 * one - two, two - one
    return max(1, min(MOST_ROWS, int(memory_bytes / RUNTIME_FACTOR - fixed) // row))


def _first(value: onnx.ValueInfoProto, ref: str) -> int | str:
    """The first dimension of an input or output: a size, or its symbol."""
    dims = value.type.tensor_type.shape.dim
    if not dims:
        raise problems.InvalidRequest(f"{value.name!r} of {ref} has no dimension for rows.")
    return dims[0].dim_value if dims[0].HasField("dim_value") else str(dims[0].dim_param)


def _port(value: onnx.ValueInfoProto, ref: str) -> Port:
    import onnx  # noqa: PLC0415  (imported at first use: `import hub` stays light)

    tensor = value.type.tensor_type
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    except KeyError:
        dtype = None
    if dtype is None or dtype.kind not in "fiub":
        raise problems.InvalidRequest(
            f"{value.name!r} of {ref} is no tensor of numbers, so it cannot be scored in batches."
        )
    sizes = (size.dim_value if size.HasField("dim_value") else None for size in tensor.shape.dim)
    return Port(value.name, dtype.name, tuple(sizes)[1:])
