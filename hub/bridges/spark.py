"""Batch scoring in Spark: a model of a hub as a function of columns.

Batches, types and the cache of open models are those of `pyspark.ml.functions.predict_batch_udf`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyspark.ml.functions import predict_batch_udf
from pyspark.sql import Column, types

from hub.bridges import scoring
from hub.bridges.scoring import PinnedModel, Port
from hub.client import api
from hub.protocol import problems

if TYPE_CHECKING:
    import numpy as np


# NumPy's types -> Spark's; the smallest that hold every value.
_TYPES = {
    "float16": types.FloatType,
    "float32": types.FloatType,
    "float64": types.DoubleType,
    "int8": types.ByteType,
    "int16": types.ShortType,
    "int32": types.IntegerType,
    "int64": types.LongType,
    "uint8": types.ShortType,
    "uint16": types.IntegerType,
    "uint32": types.LongType,
    "bool": types.ByteType,
}


def predict_udf(
    ref: str,
    *,
    opset: int | None = None,
    variant: str | None = None,
    strength: str | None = None,
    memory_bytes: int = scoring.MEMORY_BYTES,
    threads: int = 1,
) -> Callable[..., Column]:
    """Return a function of columns: one for each input of the model, in order.

    A column holds numbers, or arrays with the numbers of a row in the order of its memory; several
    columns of numbers are one input as `array(…)`. The result is a number or a flat array, or for
    several outputs a struct with a field for each. Its metadata, which Parquet files keep, say
    which version it is of: `hub.url`, `hub.ref` and `hub.sha256`.

    The reference is resolved here, once, whatever it names later. Executors read the hub's address
    from here, and HUB_TOKEN and HUB_CACHE from their own environment. `threads` are those of
    one task (`spark.task.cpus`); `memory_bytes` bounds what a task needs to run a batch. Raise
    `InvalidRequest` for a model that cannot be scored in batches, and whatever `hub.load` raises.
    """
    model = scoring.pin(
        api.default_hub(),
        ref,
        opset=opset,
        variant=variant,
        strength=strength,
        memory_bytes=memory_bytes,
    )
    predict = predict_batch_udf(
        functools.partial(_predictor, model, threads),
        return_type=_result(model),
        batch_size=model.rows,
        input_tensor_shapes=_shapes(model),
    )

    def score(*columns: str | Column) -> Column:
        return predict(*columns).alias("prediction", metadata=model.lineage)

    return score


def _predictor(model: PinnedModel, threads: int) -> Callable[..., Any]:
    """What a process of an executor runs; Spark keeps it for the tasks that follow."""
    scorer = model.open(threads)

    def predict(*arrays: np.ndarray[Any, Any]) -> Any:
        outputs = scorer.run(arrays)
        flat = {
            port.name: outputs[port.name].reshape(len(arrays[0]), -1)
            if port.shape
            else outputs[port.name]
            for port in model.outputs
        }
        return flat if len(flat) > 1 else next(iter(flat.values()))

    # Spark counts the parameters to learn how many inputs there are.
    kind = inspect.Parameter.POSITIONAL_ONLY
    names = [inspect.Parameter(f"x{index}", kind) for index in range(len(model.inputs))]
    predict.__signature__ = inspect.Signature(names)  # type: ignore[attr-defined]
    return predict


def _shapes(model: PinnedModel) -> list[list[int] | None]:
    """The shape of a row of each input, which Spark gives flat; one size of it may be free."""
    shapes: list[list[int] | None] = []
    for port in model.inputs:
        sizes = [-1 if size is None else size for size in port.shape]
        if sizes.count(-1) > 1 or (sizes.count(-1) and len(model.inputs) > 1 and len(sizes) > 1):
            raise problems.InvalidRequest(
                f"Several sizes of {port.name!r} of {model.ref} are free, and a column has flat "
                "rows. Fix all but one of them, and push the model again."
            )
        shapes.append(sizes or None)
    return [shape or [] for shape in shapes] if len(shapes) == 1 else shapes


def _result(model: PinnedModel) -> types.DataType:
    """A number or an array for one output, a struct for several."""
    fields = [types.StructField(port.name, _type(port, model)) for port in model.outputs]
    return fields[0].dataType if len(fields) == 1 else types.StructType(fields)


def _type(port: Port, model: PinnedModel) -> types.DataType:
    if port.dtype not in _TYPES:
        raise problems.InvalidRequest(
            f"Spark has no type for {port.name!r} of {model.ref}, which is {port.dtype}."
        )
    element = _TYPES[port.dtype]()
    return types.ArrayType(element) if port.shape else element
