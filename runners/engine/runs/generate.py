"""Inputs made for a model: fitting types, shapes and ranges, seeded.

Shapes come from one assignment of sizes to symbols, shared by all inputs; values from what the card
declares of an input, else from what the graph does with it, else from a named kind of values. What
cannot be made within the budget is refused before it is allocated.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from runners.engine.onnx_files import bodies
from runners.engine.onnx_files.datasets import DataSet, Value, required_inputs
from runners.engine.runs.usage import Use, Uses

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    import onnx

    from hub.protocol.inputs import DeclaredInput

    Array = np.ndarray[Any, Any]
    Generator = np.random.Generator

_MIB = 1 << 20
SIZES = (1, 2, 3)
_IMAGE_SIDE = 32
# A first dimension is most often a batch: long inputs are asked for, not many.
_MOST_ROWS = 3
_DEFAULT_BELOW = 10
_WORDS = ("hello", "World", "the cat sat", "Monday", "3.14", "naïve café", "ONNX", "a")
_CHANNELS = frozenset({1, 3, 4})
_SUM = re.compile(r"\s*([\w.]+)\s*\+\s*([\w.]+)\s*")
_KEYS = 5
_COMPARISONS = frozenset({"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"})
# In the extreme set: far, but not so far that sums of them lose what the tolerance asks for.
_LARGE, _DENORMAL = 16.0, 1e-40
_FAR = 1e4
_SPARSE_SHARE = 0.9
# Kinds that take the ends of what is declared: the share of high ends.
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
]
# Beside normal and extreme values: what pictures, counts, masks and ends of ranges look like.
_OTHER_KINDS: tuple[Kind, ...] = ("uniform", "pixels", "sparse", "negative", "zeros", "large")
# Of a search for branches that no input has entered.
_SCALES = (-1.0, 10.0, -10.0, 1e3, -1e3, 1e6, -1e6)
_MOST_THRESHOLDS = 6
_SEARCH_SEEDS = 4


class CannotGenerateError(Exception):
    """No input can be made for this model; the message says for which input and why."""


def generate(
    model: onnx.ModelProto, *, seed: int, size: int, limit_bytes: int = 256 * _MIB
) -> dict[str, Value]:
    """Make one value for each required input, dynamic dimensions of about `size`.

    Raises CannotGenerateError, also when all together would take more than `limit_bytes`.
    """
    return _Maker(model, seed, size, limit_bytes).make("normal")


def datasets(
    model: onnx.ModelProto,
    *,
    seed: int = 0,
    sizes: Sequence[int] = SIZES,
    declared: Sequence[DeclaredInput] = (),
) -> list[DataSet]:
    """Make one set of normal values for each size, and one with zeros, large and denormal ones.

    A model that cannot work on small sizes can be given others. Inputs that the card declares get
    values as declared, the last set their ends. Raises CannotGenerateError.
    """
    made = [
        DataSet(
            f"generated-{size}",
            "generated",
            _Maker(model, seed + size, size, 256 * _MIB, declared).make("normal"),
        )
        for size in sizes
    ]
    extreme = _Maker(model, seed + max(sizes) + 1, sizes[len(sizes) // 2], 256 * _MIB, declared)
    return [*made, DataSet("generated-extreme", "generated", extreme.make("extreme"))]


def varied(
    model: onnx.ModelProto,
    *,
    seed: int = 0,
    sizes: Sequence[int] = SIZES,
    declared: Sequence[DeclaredInput] = (),
) -> list[DataSet]:
    """Make one set of each other kind of values, which `datasets` does not make.

    Raises CannotGenerateError.
    """
    size = sizes[len(sizes) // 2]
    return [
        DataSet(
            f"generated-{kind}",
            "generated",
            _Maker(model, seed + 100 + place, size, 256 * _MIB, declared).make(kind),
        )
        for place, kind in enumerate(_OTHER_KINDS)
    ]


def search(
    model: onnx.ModelProto,
    *,
    seed: int = 0,
    sizes: Sequence[int] = SIZES,
    declared: Sequence[DeclaredInput] = (),
) -> list[DataSet]:
    """Make sets that may enter a branch which others did not: scaled, and around thresholds.

    Thresholds are constants that the graph compares values with. Raises CannotGenerateError.
    """
    size = sizes[len(sizes) // 2]
    made = [
        DataSet(
            f"generated-scaled-{place}",
            "generated",
            _Maker(model, seed + 200 + place, size, 256 * _MIB, declared).make("scaled", by=scale),
        )
        for place, scale in enumerate(_SCALES)
    ]
    made += [
        DataSet(
            f"generated-more-{place}",
            "generated",
            _Maker(model, seed + 300 + place, size, 256 * _MIB, declared).make("normal"),
        )
        for place in range(_SEARCH_SEEDS)
    ]
    fills = [
        fill
        for threshold in thresholds(model)[:_MOST_THRESHOLDS]
        for step in [max(abs(threshold) * 0.01, 1e-3)]
        for fill in (threshold, threshold - step, threshold + step)
    ]
    return made + [
        DataSet(
            f"generated-filled-{place}",
            "generated",
            _Maker(model, seed + 400 + place, size, 256 * _MIB, declared).make("filled", by=fill),
        )
        for place, fill in enumerate(fills)
    ]


@dataclass(frozen=True, slots=True)
class _Port:
    name: str
    kind: onnx.TypeProto
    use: Use


class _Maker:
    def __init__(
        self,
        model: onnx.ModelProto,
        seed: int,
        size: int,
        limit_bytes: int,
        declared: Sequence[DeclaredInput] = (),
    ) -> None:
        import numpy as np  # noqa: PLC0415 - only children load it

        self._random = np.random.default_rng(seed)
        self._size = size
        self._left = limit_bytes
        uses = Uses(model)
        self._ports = [
            _Port(port.name, port.type, uses.of(port.name)) for port in required_inputs(model)
        ]
        self._symbols = _assign([port.kind for port in self._ports], size)
        self._declared: Mapping[str, DeclaredInput] = {one.name: one for one in declared}
        self._kind: Kind = "normal"
        self._by = 1.0

    def make(self, kind: Kind, *, by: float = 1.0) -> dict[str, Value]:
        """Make a value for each input; `by` is the factor of "scaled", the value of "filled"."""
        self._kind, self._by = kind, by
        return {port.name: self._value(port, port.kind) for port in self._ports}

    def _value(self, port: _Port, kind: onnx.TypeProto) -> Value:
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
                words = (
                    f"Input {port.name!r} has a type ({other}) for which no values can be "
                    "generated."
                )
                raise CannotGenerateError(words)

    def _map(self, port: _Port, kind: Any) -> dict[Any, Any]:
        text = kind.key_type == 8  # TensorProto.STRING
        keys = port.use.keys or [f"key{k}" if text else k for k in range(_KEYS)]
        chosen = [key for key in keys if self._random.random() < 0.7] or keys[:1]
        values = {}
        for key in chosen:
            value = self._value(port, kind.value_type)
            if value is None or isinstance(value, list | dict):
                raise CannotGenerateError(
                    f"Input {port.name!r} maps to something that is not a tensor."
                )
            # A map holds plain numbers or words, whatever shape its type claims.
            values[key] = value.reshape(-1)[0] if value.size else 0
        return values

    def _tensor(self, port: _Port, kind: Any) -> Array:
        import numpy as np  # noqa: PLC0415
        from onnx import helper  # noqa: PLC0415

        if not kind.HasField("shape"):
            words = f"Input {port.name!r} does not state its number of dimensions."
            raise CannotGenerateError(words)
        shape = self._shape(kind.shape.dim)
        try:
            dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind.elem_type))
        except (KeyError, ValueError):
            words = f"Input {port.name!r} has an unknown element type."
            raise CannotGenerateError(words) from None
        self._left -= math.prod(shape) * max(dtype.itemsize, 8)
        if self._left < 0:
            words = f"Input {port.name!r} of shape {list(shape)} exceeds the memory limit."
            raise CannotGenerateError(words)
        return self._fill(port, shape, dtype)

    def _shape(self, dims: Any) -> tuple[int, ...]:
        channels_first = len(dims) == 4 and dims[1].dim_value in _CHANNELS
        channels_last = len(dims) == 4 and dims[3].dim_value in _CHANNELS
        sides = {2, 3} if channels_first else {1, 2} if channels_last else set()
        shape = []
        for place, dim in enumerate(dims):
            if dim.HasField("dim_value") and dim.dim_value >= 0:
                shape.append(int(dim.dim_value))
            elif place in sides:
                shape.append(_IMAGE_SIDE * min(self._size, _MOST_ROWS))
            elif dim.dim_param in self._symbols:
                shape.append(self._symbols[dim.dim_param])
            else:
                rows = place == 0 and len(dims) > 1
                shape.append(min(self._size, _MOST_ROWS) if rows else self._size)
        return tuple(shape)

    def _fill(self, port: _Port, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        import numpy as np  # noqa: PLC0415

        declared = self._declared.get(port.name)
        values = (
            None if declared is None else _as_declared(declared, shape, self._kind, self._random)
        )
        if values is None and dtype.kind == "O":
            return self._text(port, shape)
        if values is None:
            values = self._numbers(port, shape, dtype)
        return np.asarray(values).reshape(shape).astype(dtype)

    def _numbers(self, port: _Port, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        import numpy as np  # noqa: PLC0415

        if dtype.kind == "b":
            share = {"zeros": 0.0, "sparse": 0.1, "large": 1.0}.get(self._kind, 0.5)
            return np.asarray(self._random.random(shape) < share)
        if dtype.kind == "c":
            return np.asarray(self._floats(shape) + 1j * self._floats(shape))
        if dtype.kind in "iu" or dtype.name in {"int4", "uint4", "int2", "uint2"}:
            return self._integers(port, shape, dtype)
        if _is_mask(port.name) and self._kind != "extreme":
            return self._mask(shape)
        if port.use.below is not None:
            return np.asarray(self._random.integers(0, port.use.below, shape))
        return self._floats(shape)

    def _text(self, port: _Port, shape: tuple[int, ...]) -> Array:
        import numpy as np  # noqa: PLC0415

        known = [key for key in port.use.keys if isinstance(key, str)]
        words = np.array([*known[:50], *_WORDS], dtype=object)
        chosen: Array = words[self._random.integers(0, len(words), shape)]
        return np.asarray(chosen, dtype=object).reshape(shape)

    def _floats(self, shape: tuple[int, ...]) -> Array:
        import numpy as np  # noqa: PLC0415

        values = self._random.standard_normal(shape)
        simple: dict[str, Callable[[], Any]] = {
            "normal": lambda: values,
            "uniform": lambda: self._random.random(shape),
            "pixels": lambda: self._random.integers(0, 256, shape).astype(np.float64),
            "sparse": lambda: np.where(self._random.random(shape) < _SPARSE_SHARE, 0.0, values),
            "zeros": lambda: np.zeros(shape),
            "negative": lambda: -np.abs(values),
            "large": lambda: values * _FAR,
            "scaled": lambda: values * self._by,
            "filled": lambda: np.full(shape, self._by),
        }
        if self._kind in simple:
            return np.asarray(simple[self._kind]())
        choice = self._random.random(shape)
        values = np.where(choice < 0.25, 0.0, values)
        values = np.where((choice >= 0.25) & (choice < 0.35), values * _LARGE, values)
        return np.where((choice >= 0.35) & (choice < 0.5), values * _DENORMAL, values)

    def _integers(self, port: _Port, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        import numpy as np  # noqa: PLC0415

        name, use = port.name.lower(), port.use
        if use.role:
            return self._by_role(use.role, shape)
        if use.compared:
            allowed = [value for value in use.compared if isinstance(value, int)] or [0]
            if self._kind not in {"normal", "extreme"}:
                # The other side of the comparison too.
                allowed = [other for value in allowed for other in (value // 2, value + 1)]
            return self._random.choice(np.array(allowed, np.int64), shape)
        if _is_mask(name):
            return self._mask(shape)
        if "position" in name:
            last = shape[-1] if shape else 1
            places = np.arange(last) % (use.below or last)
            return np.broadcast_to(places, shape or (1,)).reshape(shape)
        if "length" in name or name.endswith("_len"):
            return np.full(shape, self._named("seq", exclude="past") or self._size)
        lowest, below = 0, use.below or _DEFAULT_BELOW
        if use.below is None and dtype.itemsize == 1 and dtype.kind in "iu":
            lowest, below = (0, 256) if dtype.kind == "u" else (-128, 128)
        if not dtype.isbuiltin:
            below = 2 if dtype.name.endswith("2") else 8
        if any(word in name for word in ("token_type", "segment")):
            below = min(below, 2)
        end = {"zeros": lowest, "large": below - 1}.get(self._kind)
        return self._random.integers(lowest, below, shape) if end is None else np.full(shape, end)

    def _by_role(self, role: str, shape: tuple[int, ...]) -> Array:
        import numpy as np  # noqa: PLC0415

        if role == "shape":
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
        """Ones, then zeros: at least one 1 in each row, as padded text has."""
        import numpy as np  # noqa: PLC0415

        if not shape or not shape[-1]:
            return np.ones(shape, np.int64)
        kept = self._random.integers(1, shape[-1] + 1, (*shape[:-1], 1))
        return (np.arange(shape[-1]) < kept).astype(np.int64)


def _as_declared(
    declared: DeclaredInput, shape: tuple[int, ...], kind: Kind, random: Generator
) -> Array | None:
    """Values as the card declares them; None where it says nothing that makes values."""
    import numpy as np  # noqa: PLC0415

    spread = declared.distribution
    bounds = declared.bounds()
    if spread is not None and spread.kind == "one-of":
        chosen = random.integers(0, len(spread.values), shape)
        return np.asarray(np.array(spread.values, object)[chosen])
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
    values: list[float], shape: tuple[int, ...], one: Callable[[list[float]], float]
) -> Array:
    """One number, or one for each channel along the axis that has as many."""
    import numpy as np  # noqa: PLC0415

    axes = [axis for axis in (1, len(shape) - 1, 0) if 0 <= axis < len(shape)]
    axis = next((axis for axis in axes if shape[axis] == len(values)), None)
    if len(values) == 1 or axis is None:
        return np.asarray(one(values))
    return np.asarray(values).reshape([-1 if k == axis else 1 for k in range(len(shape))])


def thresholds(model: onnx.ModelProto) -> list[float]:
    """List the finite constants that comparisons in any graph of the model hold values against."""
    from onnx import numpy_helper  # noqa: PLC0415

    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    compared: list[str] = []
    for node in bodies.nodes(model):
        if node.op_type == "Constant":
            for attribute in node.attribute:
                if attribute.name == "value":
                    stored.update(dict.fromkeys(node.output, attribute.t))
        elif node.op_type in _COMPARISONS:
            compared += node.input
    values: list[float] = []
    for name in dict.fromkeys(compared):
        tensor = stored.get(name)
        if tensor is None or tensor.external_data or math.prod(tensor.dims) != 1:
            continue
        value = float(numpy_helper.to_array(tensor).reshape(-1)[0])
        if math.isfinite(value) and value not in values:
            values.append(value)
    return values


def _is_mask(name: str) -> bool:
    return "mask" in name.lower()


def _assign(kinds: list[onnx.TypeProto], size: int) -> dict[str, int]:
    """Give each symbol a size: equal ones, but sums such as total = past + sequence kept true."""
    symbols: dict[str, int] = {}
    for kind in kinds:
        _gather_symbols(kind, symbols, size)
    for symbol in symbols:
        terms = _SUM.fullmatch(symbol)
        if terms:
            symbols[symbol] = sum(
                int(term) if term.isdigit() else symbols.get(term, size) for term in terms.groups()
            )
    past = [symbol for symbol in symbols if "past" in symbol.lower() and "+" not in symbol]
    for symbol in symbols:
        if "total" in symbol.lower() and "+" not in symbol:
            symbols[symbol] = size + sum(symbols[other] for other in past[:1])
    return symbols


def _gather_symbols(kind: onnx.TypeProto, symbols: dict[str, int], size: int) -> None:
    match kind.WhichOneof("value"):
        case "tensor_type":
            dims = kind.tensor_type.shape.dim
            for place, dim in enumerate(dims):
                if dim.dim_param:
                    rows = place == 0 and len(dims) > 1
                    symbols.setdefault(dim.dim_param, min(size, _MOST_ROWS) if rows else size)
        case "sequence_type":
            _gather_symbols(kind.sequence_type.elem_type, symbols, size)
        case "optional_type":
            _gather_symbols(kind.optional_type.elem_type, symbols, size)
