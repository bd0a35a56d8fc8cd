"""What an inference gave: its digest, some elements, and whether another one gave the same.

The last inference of the timed part is held against one before it, so that a loop that was timed
without computing shows. Works in children only.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from runners.engine.benchmark.record import (
    DESCRIBED_OUTPUTS,
    NOT_APPLICABLE,
    SAMPLED_ELEMENTS,
    STATISTICS,
)

# Elements of each output that are kept to be compared: more would count as the model's memory.
_MOST_VALUES = 4096
_RTOL, _ATOL = 1e-3, 1e-5
_MOST_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The outputs of one inference: the digest of all bytes, and some elements of each tensor."""

    sha256: str
    shapes: tuple[str, ...] = ()
    elements: tuple[Any, ...] = field(default=(), repr=False)

    def repeats(self, other: Fingerprint) -> bool:
        """Whether both are the same within what the order of a sum may change.

        Elements differ by at most 1e-3 of their size and 1e-5 of the largest; NaN equals NaN.
        """
        import numpy as np  # noqa: PLC0415 - only children load it

        if self.sha256 == other.sha256:
            return True
        if self.shapes != other.shapes or not self.elements:
            return False
        return all(
            element.dtype.kind in "fiub"
            and np.allclose(
                element, two, rtol=_RTOL, atol=_ATOL * _largest(element), equal_nan=True
            )
            for element, two in zip(self.elements, other.elements, strict=True)
        )


def fingerprint(values: Any) -> Fingerprint:
    """Read what an inference gave: tensors, and sequences and maps of them.

    What numpy cannot hold has no digest: its text is `not-applicable`.
    """
    import numpy as np  # noqa: PLC0415

    digest, shapes, elements = hashlib.sha256(), [], []
    try:
        for value in _leaves(values):
            array = np.ascontiguousarray(value.numpy() if hasattr(value, "numpy") else value)
            shapes.append(f"{array.dtype}{list(array.shape)}")
            digest.update(shapes[-1].encode())
            if array.dtype.kind in "OUS":
                digest.update("\0".join(map(str, array.ravel().tolist())).encode())
            else:
                # The bytes as they lie: a copy would count as the model's memory.
                digest.update(array.ravel().view(np.uint8).data)
            flat = array.ravel()
            sample = flat[:: max(1, flat.size // _MOST_VALUES)][:_MOST_VALUES]
            narrow = array.dtype.kind == "V" or array.dtype.itemsize < 4
            elements.append(sample.astype(np.float32) if narrow else sample.copy())
    except (RuntimeError, TypeError, ValueError):
        return Fingerprint(NOT_APPLICABLE)
    return Fingerprint(digest.hexdigest(), tuple(shapes), tuple(elements))


def tensors(values: Any) -> list[dict[str, Any]]:
    """The `tensors` of a record: elements at equal distances and statistics of each output.

    The statistics are those of all finite elements, null without one; text and complex numbers have
    none. What is not finite is written as `NaN`, `Infinity` or `-Infinity`.
    """
    import numpy as np  # noqa: PLC0415

    described = []
    for value in list(_leaves(values))[:DESCRIBED_OUTPUTS]:
        array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
        flat = array.ravel()
        sample = flat[:: max(1, flat.size // SAMPLED_ELEMENTS)][:SAMPLED_ELEMENTS]
        row: dict[str, Any] = {
            "dtype": str(array.dtype),
            "shape": [int(side) for side in array.shape],
            "elements": [],
            "finite": None,
            **dict.fromkeys(STATISTICS),
        }
        if array.dtype.kind in "OUS":
            row["elements"] = [str(element)[:_MOST_CHARACTERS] for element in sample.tolist()]
        elif array.dtype.kind != "c":
            row["elements"] = [_element(element) for element in sample.astype(np.float64).tolist()]
            numbers = flat.astype(np.float64)
            finite = numbers[np.isfinite(numbers)]
            row["finite"] = int(finite.size)
            if finite.size:
                row |= {name: float(getattr(np, name)(finite)) for name in STATISTICS}
        described.append(row)
    return described


def _element(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def summary(
    before: tuple[Fingerprint, Fingerprint],
    timed: Sequence[Fingerprint],
    described: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """The `outputs` of a process: two inferences before the stopwatch, the last ones under it.

    ``timed`` has the last inference of each caller; the digest is that of the first caller, and so
    are the `tensors` in ``described``. Of a model whose outputs differ from one inference to the
    next nothing is asked.
    """
    first, warm = before
    repeat, sha256 = NOT_APPLICABLE, timed[0].sha256 if timed else NOT_APPLICABLE
    if sha256 != NOT_APPLICABLE and first.repeats(warm):
        repeat = "yes" if all(warm.repeats(run) for run in timed) else "no"
    return {"sha256": sha256, "repeat": repeat, "tensors": list(described)}


def _leaves(values: Any) -> Iterator[Any]:
    if isinstance(values, dict):
        for name in sorted(values, key=str):
            yield str(name)
            yield from _leaves(values[name])
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _leaves(value)
    else:
        yield values


def _largest(values: Any) -> float:
    import numpy as np  # noqa: PLC0415

    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    return float(np.max(np.abs(finite.astype(np.float64)))) if finite.size else 0.0
