"""How far two values lie apart, in figures, and whether a named profile of tolerance lets it pass.

A profile never changes with what it judges. Integers, booleans and text must be equal; a quantised
model may miss an 8-bit value by one step.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from runners.engine.onnx_files import bodies

if TYPE_CHECKING:
    import numpy as np
    import onnx

    from runners.engine.onnx_files.datasets import Value

    Array = np.ndarray[Any, Any]

WARN_RTOL = 1e-5
# Below this, a relative error says more about zero than about the runtime.
_RELATIVE_FLOOR = 1e-6
_ENOUGH_COSINE = 0.99
_GRID_STEPS = 255
_ROWS_RANK = 3


@dataclass(frozen=True, slots=True)
class Profile:
    """A tolerance by name: |difference| <= atol + rtol * |expected|, or a cosine, or equality.

    `scaled` counts atol in units of the output's root mean square where that is above 1: around
    zero, a picture of 0 to 255 cannot be as exact as a probability.
    """

    name: str
    rtol: float = 0.0
    atol: float = 0.0
    cosine: float | None = None
    exact: bool = False
    scaled: bool = False


FP32 = Profile("fp32", rtol=1e-3, atol=1e-5, scaled=True)
FP16 = Profile("fp16", rtol=1e-2, atol=1e-3, scaled=True)
QUANTISED = Profile("quantised", rtol=1e-3, atol=1e-5, cosine=_ENOUGH_COSINE, scaled=True)
EXACT = Profile("exact", exact=True)


@dataclass(frozen=True, slots=True)
class Figures:
    """One value against another. A figure is None where it says nothing about such values.

    `max_rel` and `p999_rel` look only at |expected| > 1e-6; `top1` is the share of rows whose
    largest element is the same; `first_bad` is a flat index.
    """

    name: str
    dtype: str
    shape: list[int]
    agrees: bool
    reason: str = ""
    max_abs: float | None = None
    max_rel: float | None = None
    p999_rel: float | None = None
    ulp_max: float | None = None
    cosine: float | None = None
    top1: float | None = None
    outside: int = 0
    first_bad: int | None = None
    profile: str = ""

    def to_json(self) -> dict[str, Any]:
        said = asdict(self)
        return {
            key: number(value) if isinstance(value, float) else value for key, value in said.items()
        }


def number(figure: Any) -> float | str | None:
    """Write a figure as JSON can: "inf", "-inf" and "nan" as words, None as None."""
    if figure is None:
        return None
    value = float(figure)
    return value if math.isfinite(value) else str(value)


def profile_for(model: onnx.ModelProto) -> Profile:
    """Choose the profile by what the model's own types and operators are."""
    operators = bodies.operators(model)
    if any(_is_quantised(operator) for _, operator in operators):
        return QUANTISED
    return FP16 if bodies.uses_half(model) else FP32


def _is_quantised(operator: str) -> bool:
    return (
        operator.startswith(("QLinear", "QMoE", "QGemm", "QAttention", "QOrdered", "MatMulBnb"))
        or operator.endswith(("QuantizeLinear", "Integer", "NBits", "DequantizeLinear"))
        or operator in {"MatMulIntegerToFloat", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM"}
    )


def compare(name: str, expected: Value, actual: Value, profile: Profile) -> Figures:
    """Compare two values of one output; a sequence or map gives its worst element's figures."""
    import numpy as np  # noqa: PLC0415 - only children load it

    shown = _Shown(name, profile.name)
    kinds = {_kind_of(expected), _kind_of(actual)}
    if len(kinds) > 1:
        words = " and ".join(sorted(kinds))
        return shown.different(_kind_of(expected), f"is not of one kind: {words}")
    if expected is None:
        return Figures(name, "optional", [], agrees=True, profile=profile.name)
    if isinstance(expected, list | tuple | dict):
        return _compare_parts(shown, expected, actual, profile)
    return _compare_arrays(shown, np.asarray(expected), np.asarray(actual), profile)


def _kind_of(value: Value) -> str:
    if value is None:
        return "no value"
    if isinstance(value, dict):
        return "map"
    return "sequence" if isinstance(value, list | tuple) else "tensor"


def _compare_parts(shown: _Shown, expected: Any, actual: Any, profile: Profile) -> Figures:
    kind = _kind_of(expected)
    if kind == "map":
        if set(actual) != set(expected):
            return shown.different(kind, "has other keys than expected")
        keys = list(expected)
    else:
        if len(actual) != len(expected):
            words = f"has {len(actual)} elements, not {len(expected)}"
            return shown.different(kind, words)
        keys = list(range(len(expected)))
    each = [compare(f"{shown.name}[{key!r}]", expected[key], actual[key], profile) for key in keys]
    return _worst(shown, kind, each)


@dataclass(frozen=True, slots=True)
class _Shown:
    name: str
    profile: str

    def different(self, dtype: str, reason: str, shape: tuple[int, ...] = ()) -> Figures:
        words = f"{self.name} {reason}"
        return Figures(
            self.name, dtype, list(shape), agrees=False, reason=words, profile=self.profile
        )


def _worst(shown: _Shown, kind: str, each: list[Figures]) -> Figures:
    if not each:
        return Figures(shown.name, kind, [0], agrees=True, profile=shown.profile)
    found = max(each, key=lambda one: (not one.agrees, one.outside, one.max_abs or 0.0))
    return Figures(
        **{
            **asdict(found),
            "name": shown.name,
            "dtype": f"{kind} of {found.dtype}",
            "shape": [len(each)],
            "agrees": all(one.agrees for one in each),
            "outside": sum(one.outside for one in each),
        }
    )


def _compare_arrays(shown: _Shown, expected: Array, actual: Array, profile: Profile) -> Figures:
    import numpy as np  # noqa: PLC0415

    kind = expected.dtype.name
    if _is_text(expected) or _is_text(actual):
        kind = "string"
        expected, actual = expected.astype(object), actual.astype(object)
    elif expected.dtype != actual.dtype:
        words = f"is of type {actual.dtype.name}, not {kind}"
        return shown.different(kind, words, expected.shape)
    if expected.shape != actual.shape:
        words = f"has shape {list(actual.shape)}, not {list(expected.shape)}"
        return shown.different(kind, words, expected.shape)
    if kind == "string" or expected.dtype == np.bool_:
        return _compare_exactly(shown, kind, expected, actual)
    if expected.dtype.kind in "iu" or kind in {"int4", "uint4", "int2", "uint2"}:
        return _compare_integers(shown, kind, expected, actual, profile)
    if profile.exact:
        return _compare_exactly(shown, kind, _bits(expected), _bits(actual))
    return _compare_floats(shown, expected, actual, profile)


def _is_text(array: Array) -> bool:
    return array.dtype.kind in "OUST"


def _bits(array: Array) -> Array:
    """Give the elements as what equals only its own bits: NaN itself, 0 not -0."""
    import numpy as np  # noqa: PLC0415

    flat = np.ascontiguousarray(array)
    return flat.view(np.dtype((np.void, flat.dtype.itemsize))).reshape(array.shape)


def _compare_exactly(shown: _Shown, kind: str, expected: Array, actual: Array) -> Figures:
    import numpy as np  # noqa: PLC0415

    unlike: Array = np.asarray(expected != actual).reshape(expected.shape)
    return _sum_up(shown, kind, expected.shape, unlike, "differ")


def _sum_up(
    shown: _Shown, kind: str, shape: tuple[int, ...], outside: Array, words: str, **figures: Any
) -> Figures:
    count = int(outside.sum())
    return Figures(
        shown.name,
        kind,
        list(shape),
        agrees=count == 0,
        reason=f"{shown.name}: {count} of {outside.size} elements {words}" if count else "",
        outside=count,
        first_bad=int(outside.argmax()) if count else None,
        profile=shown.profile,
        **figures,
    )


def _compare_integers(
    shown: _Shown, kind: str, expected: Array, actual: Array, profile: Profile
) -> Figures:
    import numpy as np  # noqa: PLC0415

    narrow = expected.dtype.itemsize <= 2
    if narrow:
        apart = np.abs(expected.astype(np.int64) - actual.astype(np.int64))
    else:
        # In floats: the difference of two 64-bit integers may not fit one.
        apart = np.abs(expected.astype(np.float64) - actual.astype(np.float64))
    step = 1 if profile.cosine is not None and narrow else 0
    # Exact even where floats round: unequal integers are outside whatever their distance.
    unlike: Array = np.asarray(expected != actual)
    outside = unlike & (apart > step) if step else unlike
    words = "are more than a step apart" if step else "differ"
    figures = {
        "max_abs": float(apart.max()) if apart.size else 0.0,
        "top1": _top1(expected, actual),
    }
    return _sum_up(shown, kind, expected.shape, outside, words, **figures)


def _compare_floats(shown: _Shown, expected: Array, actual: Array, profile: Profile) -> Figures:
    import numpy as np  # noqa: PLC0415

    kind, shape = expected.dtype.name, expected.shape
    ulp = _ulp_max(expected, actual)
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    left, right = expected.astype(wide).reshape(-1), actual.astype(wide).reshape(-1)
    with np.errstate(all="ignore"):
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        apart = np.where(same, 0.0, np.abs(left - right))
        size = np.abs(left)
        atol = profile.atol * (_scale(size) if profile.scaled else 1.0)
        outside = ~same & ~(apart <= atol + profile.rtol * size)
        relative = (apart / size)[(size > _RELATIVE_FLOOR) & np.isfinite(size)]
    figures: dict[str, Any] = {
        "max_abs": _largest(apart),
        "max_rel": _largest(relative),
        "p999_rel": _percentile(relative),
        "ulp_max": ulp,
        "cosine": _cosine(left, right),
        "top1": _top1(expected, actual),
    }
    if profile.cosine is not None and outside.any():
        figures_agree = _alike(left, figures, profile.cosine)
        if figures_agree:
            told = _sum_up(shown, kind, shape, outside, "are outside", **figures)
            words = f"{told.reason} a plain tolerance; {figures_agree}"
            return Figures(**{**asdict(told), "agrees": True, "reason": words})
    told = _sum_up(shown, kind, shape, outside, "are outside the tolerance", **figures)
    close = same | (apart <= atol + WARN_RTOL * size)
    warned = profile is FP32 and told.agrees and not close.all()
    words = f"{shown.name}: agrees, but not within {WARN_RTOL:g}"
    return Figures(**{**asdict(told), "reason": words}) if warned else told


def _scale(size: Array) -> float:
    import numpy as np  # noqa: PLC0415

    finite = size[np.isfinite(size)]
    return max(1.0, float(np.sqrt(np.mean(np.square(finite))))) if finite.size else 1.0


def _alike(left: Array, figures: dict[str, Any], enough: float) -> str:
    """Say why a quantised output still passes: one 8-bit step of its range, or direction."""
    import numpy as np  # noqa: PLC0415

    finite = left[np.isfinite(left)]
    step = float(finite.max() - finite.min()) / _GRID_STEPS if finite.size else 0.0
    if figures["max_abs"] is not None and figures["max_abs"] <= step:
        return "all within one 8-bit step of the output's range"
    same_place = figures["top1"] in {None, 1.0}
    if figures["cosine"] is not None and figures["cosine"] >= enough and same_place:
        return f"the cosine is at least {enough} and top-1 is the same"
    return ""


def _largest(array: Array) -> float | None:
    import numpy as np  # noqa: PLC0415

    # NaN against a number is the worst there is, and max would keep it as NaN.
    return float(np.where(np.isnan(array), np.inf, array).max()) if array.size else None


def _percentile(relative: Array) -> float | None:
    import numpy as np  # noqa: PLC0415

    if not relative.size:
        return None
    whole = np.where(np.isnan(relative), np.inf, relative)
    place = math.ceil(0.999 * whole.size) - 1
    return float(np.partition(whole, place)[place])


def _cosine(left: Array, right: Array) -> float | None:
    import numpy as np  # noqa: PLC0415

    kept = np.isfinite(left) & np.isfinite(right)
    left, right = left[kept], right[kept]
    if not left.size or left.dtype.kind == "c":
        return None
    # Scaled first, so that squares of large values stay finite.
    scales = [float(np.abs(side).max()) for side in (left, right)]
    if not all(scales):
        return None
    left, right = left / scales[0], right / scales[1]
    return float(left @ right / math.sqrt(float(left @ left) * float(right @ right)))


def _top1(expected: Array, actual: Array) -> float | None:
    import numpy as np  # noqa: PLC0415

    if not 1 <= expected.ndim <= _ROWS_RANK or expected.shape[-1] < 2 or not expected.size:
        return None
    if expected.dtype.kind == "c":
        return None
    rows = [np.nan_to_num(side.astype(np.float64)).argmax(axis=-1) for side in (expected, actual)]
    return float((rows[0] == rows[1]).mean())


def _ulp_max(expected: Array, actual: Array) -> float | None:
    import numpy as np  # noqa: PLC0415

    signed = {2: np.int16, 4: np.int32, 8: np.int64}.get(expected.dtype.itemsize)
    if signed is None or expected.dtype.kind == "c" or not expected.size:
        return None
    kept = np.isfinite(expected.astype(np.float64)) & np.isfinite(actual.astype(np.float64))
    if not kept.any():
        return None
    places = [_places(side[kept].view(signed)) for side in (expected, actual)]
    if expected.dtype.itemsize == 8:
        places = [side.astype(np.float64) for side in places]
    return float(np.abs(places[0] - places[1]).max())


def _places(bits: Array) -> Array:
    """Number floats, given as signed integers, in their order: one step to the next float."""
    import numpy as np  # noqa: PLC0415

    lowest = int(np.iinfo(bits.dtype).min)
    whole = bits.astype(np.int64)
    return np.where(whole < 0, lowest - whole, whole)
