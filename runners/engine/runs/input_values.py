"""Values for the inputs of a model: fitting types, shapes and ranges, from one seeded generator.

All inputs share one assignment of sizes to symbolic dimensions. Values follow the card's
declaration of an input, else its use in the graph, else a named kind of values. Inputs that exceed
the budget are refused before they are allocated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from onnx import helper

from hub.protocol.inputs import DeclaredInput
from runners.engine.onnx_files.datasets import Value, required_inputs
from runners.engine.runs import agreement
from runners.engine.runs.input_sizes import (
    MOST_ROWS,
    Port,
    assign,
    bind_cache,
    is_mask,
    most_new,
    picture_sides,
    sized,
)
from runners.engine.runs.usage import Use, Uses

if TYPE_CHECKING:
    import onnx


Array = np.ndarray[Any, Any]
Generator = np.random.Generator

LIMIT_BYTES = 256 << 20
_IMAGE_SIDE = 32
_DEFAULT_BELOW = 10
_WORDS = ("hello", "World", "the cat sat", "Monday", "3.14", "naïve café", "ONNX", "a")
_KEYS = 5
# Values of the extreme set, limited so that sums stay within the tolerance.
_LARGE, _DENORMAL = 16.0, 1e-40
_FAR = 1e4
# Values with a rule of their own in the definition of casts to 8 bits.
_SPECIAL = (0.0, -0.0, np.nan, np.inf, -np.inf, 1e6, -1e6, 1.0)
_SPARSE_SHARE = 0.9
# Kinds that take ends of declared ranges: share of upper ends.
_ENDS = {"zeros": 0.0, "large": 1.0, "extreme": 0.5, "filled": 0.5}
Kind = Literal[
    "normal",
    "extreme",
    "uniform",
    "pixels",
    "sparse",
    "zeros",
    "negative",
    "large",
    "scaled",
    "filled",
    "masked",
    "special",
    "magnified",
    "magnitudes",
]
# Kinds whose values do not stay within usual ranges, so not within those that a card declares.
UNBOUNDED: frozenset[Kind] = frozenset({"magnified", "magnitudes"})
_MAGNITUDE = 38.0
_MOST_INTEGER = 1 << 31


class CannotGenerateError(Exception):
    """No input can be generated for this model; the message says for which input and why."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A set of inputs to generate; free dimensions get about `size`.

    `factor` is that of the kinds "scaled" and "magnified", and the value of "filled". With
    `is_exact`, free dimensions get this size, also those of images.
    """

    name: str
    seed: int
    size: int
    kind: Kind = "normal"
    factor: float = 1.0
    is_exact: bool = False


class InputMaker:
    """Generates the inputs of a plan, of at most `limit_bytes` altogether."""

    def __init__(
        self,
        model: onnx.ModelProto,
        plan: Plan,
        declared: Sequence[DeclaredInput] = (),
        limit_bytes: int = LIMIT_BYTES,
    ) -> None:
        self._random = np.random.default_rng(plan.seed)
        uses = Uses(model)
        self._kind, self._factor = plan.kind, plan.factor
        self._side = plan.size if plan.is_exact else _IMAGE_SIDE * min(plan.size, MOST_ROWS)
        self._left = limit_bytes
        self._is_grouped = uses.is_grouped
        self._declared: Mapping[str, DeclaredInput] = {
            declared_input.name: declared_input for declared_input in declared
        }
        self._ports = [
            Port(port.name, port.type, uses.of(port.name))
            for port in sized(required_inputs(model), self._declared)
        ]
        for port in self._ports:
            bind_cache(port)
        self._size = most_new(self._ports, plan.size, uses.longest)
        self._symbols = assign(self._ports, self._size, 1 if uses.is_grouped else MOST_ROWS)

    def make(self) -> dict[str, Value]:
        """A value for each required input; raises CannotGenerateError."""
        return {port.name: self._value(port, port.kind) for port in self._ports}

    def _value(self, port: Port, kind: onnx.TypeProto) -> Value:
        match kind.WhichOneof("value"):
            case "tensor_type":
                return self._tensor(port, kind.tensor_type)
            case "sequence_type":
                return [self._value(port, kind.sequence_type.elem_type) for _ in range(self._size)]
            case "optional_type":
                return self._value(port, kind.optional_type.elem_type)
            case "map_type":
                return self._map(port, kind.map_type)
            case other:
                raise CannotGenerateError(
                    f"Input {port.name!r} has a type ({other}) for which no values can be "
                    "generated."
                )

    def _map(self, port: Port, kind: Any) -> dict[Any, Any]:
        text = kind.key_type == 8  # TensorProto.STRING
        keys = port.use.keys or [f"key{k}" if text else k for k in range(_KEYS)]
        sample = [key for key in keys if self._random.random() < 0.7] or keys[:1]
        values = {}
        for key in sample:
            value = self._value(port, kind.value_type)
            if value is None or isinstance(value, list | dict):
                raise CannotGenerateError(
                    f"Input {port.name!r} maps to something that is not a tensor."
                )
            # A map holds plain numbers or text, whatever shape its type declares.
            values[key] = value.reshape(-1)[0] if value.size else 0
        return values

    def _tensor(self, port: Port, kind: Any) -> Array:
        if not kind.HasField("shape"):
            words = f"Input {port.name!r} does not state its number of dimensions."
            raise CannotGenerateError(words)
        shape = self._shape(port.name, kind.shape.dim)
        try:
            dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind.elem_type))
        except (KeyError, ValueError):
            words = f"Input {port.name!r} has an unknown element type."
            raise CannotGenerateError(words) from None
        # Values are drawn as 64-bit numbers before they get their type.
        self._left -= math.prod(shape) * max(dtype.itemsize, 8)
        if self._left < 0:
            words = f"Input {port.name!r} of shape {list(shape)} exceeds the memory limit."
            raise CannotGenerateError(words)
        return self._fill(port, shape, dtype)

    def _shape(self, name: str, dims: Any) -> tuple[int, ...]:
        # Free sides of pictures get the size of a small one, since convolutions and pooling need
        # more elements than a batch has rows.
        sides, shape = picture_sides(name, dims), []
        for place, dim in enumerate(dims):
            if dim.HasField("dim_value") and dim.dim_value >= 0:
                shape.append(int(dim.dim_value))
            elif place in sides:
                shape.append(self._side)
            elif dim.dim_param in self._symbols:
                shape.append(self._symbols[dim.dim_param])
            else:
                rows = place == 0 and len(dims) > 1
                shape.append(min(self._size, MOST_ROWS) if rows else self._size)
        return tuple(shape)

    def _fill(self, port: Port, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        declared = self._declared.get(port.name)
        values = (
            None if declared is None else _as_declared(declared, shape, self._kind, self._random)
        )
        if values is None and dtype.kind == "O":
            return self._text(port, shape)
        is_hiding = self._kind == "masked" and not self._is_grouped
        if values is None and is_hiding and is_mask(port.name):
            values = self._blank_rows(port, shape, dtype)
        if values is None:
            values = self._numbers(port, shape, dtype)
        return np.asarray(values).reshape(shape).astype(dtype)

    def _numbers(self, port: Port, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        if dtype.kind == "b":
            share = {"zeros": 0.0, "sparse": 0.1, "large": 1.0}.get(self._kind, 0.5)
            return np.asarray(self._random.random(shape) < share)
        if dtype.kind == "c":
            return np.asarray(self._floats(shape) + 1j * self._floats(shape))
        if agreement.is_whole(dtype):
            return self._integers(port, shape, dtype)
        if is_mask(port.name) and self._kind != "extreme":
            return self._mask(shape)
        if port.use.below is not None:
            return np.asarray(self._random.integers(0, port.use.below, shape))
        return self._floats(shape)

    def _text(self, port: Port, shape: tuple[int, ...]) -> Array:
        keys = [key for key in port.use.keys if isinstance(key, str)]
        words = np.array([*keys[:50], *_WORDS], dtype=object)
        sample: Array = words[self._random.integers(0, len(words), shape)]
        return np.asarray(sample, dtype=object).reshape(shape)

    def _floats(self, shape: tuple[int, ...]) -> Array:
        values = self._random.standard_normal(shape)
        simple: dict[str, Callable[[], Any]] = {
            "normal": lambda: values,
            "uniform": lambda: self._random.random(shape),
            "pixels": lambda: self._random.integers(0, 256, shape).astype(np.float64),
            "sparse": lambda: np.where(self._random.random(shape) < _SPARSE_SHARE, 0.0, values),
            "zeros": lambda: np.zeros(shape),
            "negative": lambda: -np.abs(values),
            "large": lambda: values * _FAR,
            "scaled": lambda: values * self._factor,
            "filled": lambda: np.full(shape, self._factor),
            "masked": lambda: values,
            "special": lambda: self._random.permutation(np.resize(_SPECIAL, shape)),
            "magnified": lambda: values * self._factor,
            "magnitudes": lambda: (
                np.sign(values) * 10 ** self._random.uniform(-_MAGNITUDE, _MAGNITUDE, shape)
            ),
        }
        if self._kind in simple:
            return np.asarray(simple[self._kind]())
        # The extreme kind: 25 % zeros, 10 % large values, 15 % that are subnormal in float32, and
        # usual values.
        choice = self._random.random(shape)
        values = np.where(choice < 0.25, 0.0, values)
        values = np.where((choice >= 0.25) & (choice < 0.35), values * _LARGE, values)
        return np.where((choice >= 0.35) & (choice < 0.5), values * _DENORMAL, values)

    def _integers(self, port: Port, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        name, use = port.name.lower(), port.use
        if use.role:
            return self._by_role(use.role, shape)
        if use.compared:
            allowed = [value for value in use.compared if isinstance(value, int)] or [0]
            if self._kind not in {"normal", "extreme", "masked", "special"}:
                # Values on the other side of the comparison, too.
                allowed = [other for value in allowed for other in (value // 2, value + 1)]
            return self._random.choice(np.array(allowed, np.int64), shape)
        if is_mask(name):
            return self._mask(shape)
        if "position" in name:
            # Positions count up along the last axis from the end of the past, and begin again where
            # the table of position embeddings ends.
            last, begin = shape[-1] if shape else 1, self._named("past") or 0
            places = np.arange(begin, begin + last) % (use.below or begin + last)
            return np.broadcast_to(places, shape or (1,)).reshape(shape)
        # A length is that of the new part of a sequence, not of what a cache holds of the past.
        if "length" in name or name.endswith("_len"):
            return np.full(shape, self._named("seq", exclude="past") or self._size)
        lowest, below = self._bounds(use, shape, dtype)
        if any(word in name for word in ("token_type", "segment")):
            below = min(below, 2)
        end = {"zeros": lowest, "large": below - 1}.get(self._kind)
        return self._random.integers(lowest, below, shape) if end is None else np.full(shape, end)

    def _bounds(self, use: Use, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, int]:
        """The lowest integer of an input, and the first that is too large for it."""
        if not dtype.isbuiltin:
            return 0, 2 if dtype.name.endswith("2") else 8
        if use.below is not None:
            return 0, use.below
        whole = np.iinfo(dtype)
        if self._kind == "magnitudes" and shape:
            return max(int(whole.min), -_MOST_INTEGER), min(int(whole.max), _MOST_INTEGER) + 1
        return (int(whole.min), int(whole.max) + 1) if dtype.itemsize == 1 else (0, _DEFAULT_BELOW)

    def _by_role(self, role: str, shape: tuple[int, ...]) -> Array:
        if role == "shape":
            # Ones and a single -1 reshape any number of elements, as Reshape infers that size.
            whole = np.ones(shape, np.int64).reshape(-1)
            whole[:1] = -1
            return whole.reshape(shape)
        total = self._named("total") or self._size
        value = {"ones": 1, "zeros": 0, "size": self._size, "total": total}.get(role, total - 1)
        return np.full(shape, value)

    def _named(self, word: str, *, exclude: str = "\0") -> int | None:
        for symbol, size in self._symbols.items():
            if word in symbol and exclude not in symbol:
                return size
        return None

    def _mask(self, shape: tuple[int, ...]) -> Array:
        """Ones, then zeros: at least one 1 in each row, like the mask of padded text.

        GroupQueryAttention takes the past from the length of the ones, so all are.
        """
        if not shape or not shape[-1] or self._is_grouped:
            return np.ones(shape, np.int64)
        lengths = self._random.integers(1, shape[-1] + 1, (*shape[:-1], 1))
        return (np.arange(shape[-1]) < lengths).astype(np.int64)

    def _blank_rows(self, port: Port, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """A mask of which the first row, and about half of the others, hide everything.

        A mask that is added to scores hides by minus infinity, others by 0 or False.
        """
        rows = shape[:-1]
        is_blank = np.asarray(self._random.random(rows) < 0.5)
        is_blank.reshape(-1)[:1] = True
        blank = np.broadcast_to(is_blank[..., None], shape) if shape else is_blank
        is_added = port.use.is_added and not (dtype.kind == "b" or agreement.is_whole(dtype))
        return np.where(blank, -np.inf, 0.0) if is_added else np.where(blank, 0, 1)


def _as_declared(
    declared: DeclaredInput, shape: tuple[int, ...], kind: Kind, random: Generator
) -> Array | None:
    """Values as the card declares them; None if it declares none."""
    spread = declared.distribution
    bounds = declared.bounds()
    if spread is not None and spread.kind == "one-of":
        places = random.integers(0, len(spread.values), shape)
        return np.asarray(np.array(spread.values, object)[places])
    if not bounds:
        normal = spread is not None and spread.kind == "normal"
        return random.normal(spread.mean, spread.std, shape) if spread and normal else None
    low = _by_channel([row[0] for row in bounds], shape, max)
    high = _by_channel([row[1] for row in bounds], shape, min)
    if kind in _ENDS:
        return np.where(random.random(shape) < _ENDS[kind], high, low)
    if spread is not None and spread.kind == "normal":
        return np.clip(random.normal(spread.mean, spread.std, shape), low, high)
    share = random.random(shape)
    if kind == "sparse":
        share = np.where(random.random(shape) < _SPARSE_SHARE, 0.0, share)
    integers = spread is not None and spread.kind in {"integers", "token-ids"}
    if integers or declared.vocabulary is not None:
        return np.asarray(np.minimum(np.floor(low + share * (high - low + 1)), high))
    return np.asarray(low + share * (high - low))


def _by_channel(
    values: list[float], shape: tuple[int, ...], draw: Callable[[list[float]], float]
) -> Array:
    """One number, or one for each channel along the axis of that length."""
    # Channels are the second axis (NCHW), else the last (NHWC), else the first (CHW).
    axes = [axis for axis in (1, len(shape) - 1, 0) if 0 <= axis < len(shape)]
    axis = next((axis for axis in axes if shape[axis] == len(values)), None)
    if len(values) == 1 or axis is None:
        return np.asarray(draw(values))
    return np.asarray(values).reshape([-1 if k == axis else 1 for k in range(len(shape))])
