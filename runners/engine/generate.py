"""Inputs made for a model from its own graph: fitting types, shapes and ranges, seeded.

Shapes come from one assignment of sizes to symbols, shared by all inputs; ranges from what the
graph does with an input. What cannot be made within the budget is refused before it is allocated.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runners.engine.datasets import DataSet, Value, required_inputs
from runners.engine.usage import Use, Uses

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import onnx

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
# In the extreme set: far, but not so far that sums of them lose what the tolerance asks for.
_LARGE, _DENORMAL = 16.0, 1e-40


class CannotGenerateError(Exception):
    """No input can be made for this model; the message says for which input and why."""


def generate(
    model: onnx.ModelProto, *, seed: int, size: int, limit_bytes: int = 256 * _MIB
) -> dict[str, Value]:
    """Make one value for each required input, dynamic dimensions of about `size`.

    Raises CannotGenerateError, also when all together would take more than `limit_bytes`.
    """
    return _Maker(model, seed, size, limit_bytes).make(extreme=False)


def datasets(
    model: onnx.ModelProto, *, seed: int = 0, sizes: Sequence[int] = SIZES
) -> list[DataSet]:
    """Make one set of normal values for each size, and one with zeros, large and denormal ones.

    A model that cannot work on small sizes can be given others. Raises CannotGenerateError.
    """
    made = [
        DataSet(f"generated-{size}", "generated", generate(model, seed=seed + size, size=size))
        for size in sizes
    ]
    extreme = _Maker(model, seed + max(sizes) + 1, sizes[len(sizes) // 2], 256 * _MIB)
    return [*made, DataSet("generated-extreme", "generated", extreme.make(extreme=True))]


@dataclass(frozen=True, slots=True)
class _Port:
    name: str
    kind: onnx.TypeProto
    use: Use


class _Maker:
    def __init__(self, model: onnx.ModelProto, seed: int, size: int, limit_bytes: int) -> None:
        import numpy as np  # noqa: PLC0415 - only children load it

        self._random = np.random.default_rng(seed)
        self._size = size
        self._left = limit_bytes
        uses = Uses(model)
        self._ports = [
            _Port(port.name, port.type, uses.of(port.name)) for port in required_inputs(model)
        ]
        self._symbols = _assign([port.kind for port in self._ports], size)
        self._extreme = False

    def make(self, *, extreme: bool) -> dict[str, Value]:
        self._extreme = extreme
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
                words = f"Input {port.name!r} is of a type ({other}) for which nothing is made."
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
                    f"Input {port.name!r} maps to something that is no tensor."
                )
            # A map holds plain numbers or words, whatever shape its type claims.
            values[key] = value.reshape(-1)[0] if value.size else 0
        return values

    def _tensor(self, port: _Port, kind: Any) -> Array:
        import numpy as np  # noqa: PLC0415
        from onnx import helper  # noqa: PLC0415

        if not kind.HasField("shape"):
            words = f"Input {port.name!r} does not say how many dimensions it has."
            raise CannotGenerateError(words)
        shape = self._shape(kind.shape.dim)
        try:
            dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind.elem_type))
        except (KeyError, ValueError):
            words = f"Input {port.name!r} has an element type that is not known."
            raise CannotGenerateError(words) from None
        self._left -= math.prod(shape) * max(dtype.itemsize, 8)
        if self._left < 0:
            words = f"Input {port.name!r} of shape {list(shape)} is over the budget of memory."
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

        if dtype.kind == "O":
            return self._text(port, shape)
        if dtype.kind == "b":
            return self._random.random(shape) < 0.5
        if dtype.kind == "c":
            whole = self._floats(shape) + 1j * self._floats(shape)
            return np.asarray(whole).astype(dtype)
        if dtype.kind in "iu" or dtype.name in {"int4", "uint4", "int2", "uint2"}:
            return np.asarray(self._integers(port, shape, dtype)).reshape(shape).astype(dtype)
        if _is_mask(port.name) and not self._extreme:
            return np.asarray(self._mask(shape)).astype(dtype)
        values = self._floats(shape)
        if port.use.below is not None:
            values = self._random.integers(0, port.use.below, shape).astype(np.float64)
        return np.asarray(values).astype(dtype)

    def _text(self, port: _Port, shape: tuple[int, ...]) -> Array:
        import numpy as np  # noqa: PLC0415

        known = [key for key in port.use.keys if isinstance(key, str)]
        words = np.array([*known[:50], *_WORDS], dtype=object)
        chosen: Array = words[self._random.integers(0, len(words), shape)]
        return np.asarray(chosen, dtype=object).reshape(shape)

    def _floats(self, shape: tuple[int, ...]) -> Array:
        import numpy as np  # noqa: PLC0415

        values = self._random.standard_normal(shape)
        if not self._extreme:
            return np.asarray(values)
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
        return self._random.integers(lowest, below, shape)

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
