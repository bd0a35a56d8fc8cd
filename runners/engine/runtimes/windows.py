"""Windows of convolutions in the ONNX reference evaluator, without an index for each element.

The evaluator spends seven eighths of a convolution, and nearly all of a transposed one, on indices.
The functions here have the same elements and, in sums, the same order of additions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx.reference.ops import op_conv, op_conv_transpose

_TRANSPOSED: Any = op_conv_transpose
PLAIN_COLUMNS: Any = op_conv.im2col
PLAIN_SUMS: Any = _TRANSPOSED.col2im_naive_implementation


def replace_in_evaluator() -> None:
    """Make the evaluator of this process use the functions of this module."""
    op_conv.im2col = columns_of_windows
    _TRANSPOSED.col2im_naive_implementation = sums_of_windows


def columns_of_windows(
    values: Any, kernel: Sequence[int], pads: Sequence[int], strides: Sequence[int],
    dilations: Sequence[int] | None = None,
) -> tuple[Any, tuple[int, ...]]:  # fmt: skip
    """The matrix of the windows of a convolution, with the elements of `im2col` in its order.

    It is copied from a view of the padded input, without an index for each element.
    """
    count, steps = len(kernel), dilations or [1] * len(kernel)
    spans = [(size - 1) * step + 1 for size, step in zip(kernel, steps, strict=True)]
    padding = list(zip(pads[:count], pads[count:], strict=True))
    sizes = [
        (size + sum(pad) - span) // stride + 1
        for size, pad, span, stride in zip(values.shape[2:], padding, spans, strides, strict=True)
    ]
    if min(sizes) < 1:
        plain: tuple[Any, tuple[int, ...]] = PLAIN_COLUMNS(values, kernel, pads, strides, dilations)
        return plain
    padded = np.pad(values, [(0, 0), (0, 0), *padding])
    windows = np.lib.stride_tricks.sliding_window_view(padded, spans, tuple(range(2, 2 + count)))
    places = (slice(None), slice(None), *(slice(None, None, stride) for stride in strides))
    windows = windows[(*places, *(slice(None, None, step) for step in steps))]
    # From (batch, channel, places, kernel) to (channel, kernel) by (batch, places).
    order = (1, *range(2 + count, 2 + 2 * count), 0, *range(2, 2 + count))
    rows = values.shape[1] * math.prod(kernel)
    return windows.transpose(order).reshape(rows, -1), tuple(sizes)


def sums_of_windows(
    columns: Any, shape: Sequence[int], kernel: Sequence[int], dilations: Sequence[int],
    pads: Sequence[int], strides: Sequence[int],
) -> Any:  # fmt: skip
    """The image of which each element is the sum of its places in windows, as in the evaluator.

    `columns` are (kernel, places); `pads` are those of all first sides, then of all last sides.
    """
    count = len(kernel)
    padding = list(zip(pads[:count], pads[count:], strict=True))
    wide = [size + sum(pad) for size, pad in zip(shape, padding, strict=True)]
    spans = [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]
    sizes = [
        (size - span) // stride + 1 for size, span, stride in zip(wide, spans, strides, strict=True)
    ]
    is_plain = columns.shape == (math.prod(kernel), math.prod(sizes))
    if not is_plain or min(sizes) < 1 or min(pads) < 0:
        return PLAIN_SUMS(columns, shape, kernel, dilations, pads, strides)
    padded = np.zeros(wide, columns.dtype)
    for row, offsets in zip(columns, np.ndindex(*kernel), strict=True):
        firsts = [offset * step for offset, step in zip(offsets, dilations, strict=True)]
        places = tuple(
            slice(first, first + (size - 1) * stride + 1, stride)
            for first, size, stride in zip(firsts, sizes, strides, strict=True)
        )
        padded[places] += row.reshape(sizes)
    return padded[
        tuple(slice(low, low + size) for (low, _), size in zip(padding, shape, strict=True))
    ]
