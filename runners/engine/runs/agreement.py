"""Comparison of two values: figures of the difference, and acceptance by a tolerance profile.

A profile is fixed and does not depend on the values. Integers, booleans and text must be equal; a
quantised model may differ by one step of an 8-bit value.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from runners.engine.onnx_files import bodies

if TYPE_CHECKING:
    import onnx

    from runners.engine.onnx_files.datasets import Value


Array = np.ndarray[Any, Any]

WARN_RTOL = 1e-5
# Relative errors of smaller values say more about zero than about the runtime.
_RELATIVE_FLOOR = 1e-6
_ENOUGH_COSINE = 0.99
_GRID_STEPS = 255
_ROWS_RANK = 3


@dataclass(frozen=True, slots=True)
class Profile:
    """A named tolerance: |difference| <= atol + rtol * |expected|, or a cosine, or equality.

    With `scaled`, atol is in units of the output's root mean square if that is above 1, since a
    picture with values from 0 to 255 cannot be as exact around zero as a probability.
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
    """Figures of the comparison of two values; None if a figure does not apply.

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
        return {
            key: number(value) if isinstance(value, float) else value
            for key, value in asdict(self).items()
        }


def number(figure: Any) -> float | str | None:
    """A figure for JSON: "inf", "-inf" and "nan" as text, None as None."""
    if figure is None:
        return None
    value = float(figure)
    return value if math.isfinite(value) else str(value)


def profile_for(model: onnx.ModelProto) -> Profile:
    """Choose the profile by the types and operators of the model."""
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


def compare(
    name: str, expected: Value, actual: Value, profile: Profile, *, brief: bool = False
) -> Figures:
    """Compare two values of an output; of a sequence or map, the figures of the worst element.

    With ``brief``, floats that agree have no figure but the largest absolute difference.
    """
    output = _Output(name, profile, brief)
    kind, other = _kind_of(expected), _kind_of(actual)
    if kind != other:
        return output.different(kind, f"is not of one kind: {' and '.join(sorted((kind, other)))}")
    if expected is None:
        return Figures(name, "optional", [], agrees=True, profile=profile.name)
    if isinstance(expected, list | tuple | dict):
        return output.compare_parts(kind, expected, actual)
    return output.compare_arrays(np.asarray(expected), np.asarray(actual))


def _kind_of(value: Value) -> str:
    if value is None:
        return "no value"
    if isinstance(value, dict):
        return "map"
    return "sequence" if isinstance(value, list | tuple) else "tensor"


@dataclass(frozen=True, slots=True)
class _Output:
    """The output that is compared, and its tolerance."""

    name: str
    profile: Profile
    brief: bool = False

    def different(self, dtype: str, reason: str, shape: tuple[int, ...] = ()) -> Figures:
        words = f"{self.name} {reason}"
        return Figures(
            self.name, dtype, list(shape), agrees=False, reason=words, profile=self.profile.name
        )

    def compare_parts(self, kind: str, expected: Any, actual: Any) -> Figures:
        """Compare two sequences or maps; returns the figures of the worst element."""
        if kind == "map" and set(actual) != set(expected):
            return self.different(kind, "has other keys than expected")
        if len(actual) != len(expected):
            return self.different(kind, f"has {len(actual)} elements, not {len(expected)}")
        keys = list(expected) if kind == "map" else range(len(expected))
        each = [
            compare(
                f"{self.name}[{key!r}]", expected[key], actual[key], self.profile, brief=self.brief
            )
            for key in keys
        ]
        if not each:
            return Figures(self.name, kind, [0], agrees=True, profile=self.profile.name)
        worst = max(
            each, key=lambda figures: (not figures.agrees, figures.outside, figures.max_abs or 0.0)
        )
        return replace(
            worst,
            name=self.name,
            dtype=f"{kind} of {worst.dtype}",
            shape=[len(each)],
            agrees=all(figures.agrees for figures in each),
            outside=sum(figures.outside for figures in each),
        )

    def compare_arrays(self, expected: Array, actual: Array) -> Figures:
        kind = expected.dtype.name
        if is_text(expected) or is_text(actual):
            kind = "string"
            expected, actual = expected.astype(object), actual.astype(object)
        elif expected.dtype != actual.dtype:
            words = f"is of type {actual.dtype.name}, not {kind}"
            return self.different(kind, words, expected.shape)
        if expected.shape != actual.shape:
            words = f"has shape {list(actual.shape)}, not {list(expected.shape)}"
            return self.different(kind, words, expected.shape)
        if kind == "string" or expected.dtype == np.bool_:
            return self._compare_exactly(kind, expected, actual)
        if is_whole(expected.dtype):
            return self._compare_integers(kind, expected, actual)
        if self.profile.exact:
            return self._compare_exactly(kind, _bits(expected), _bits(actual))
        return self._compare_floats(expected, actual)

    def _compare_exactly(self, kind: str, expected: Array, actual: Array) -> Figures:
        unlike: Array = np.asarray(expected != actual).reshape(expected.shape)
        return self._figures(kind, expected.shape, unlike, "differ")

    def _compare_integers(self, kind: str, expected: Array, actual: Array) -> Figures:
        profile, narrow = self.profile, expected.dtype.itemsize <= 2
        # Wide integers as floats: the difference of two 64-bit integers may overflow.
        numbers = np.int64 if narrow else np.float64
        apart = np.abs(expected.astype(numbers) - actual.astype(numbers))
        step = 1 if profile.cosine is not None and narrow else 0
        # Exact even where floats round: unequal integers are always outside.
        unlike: Array = np.asarray(expected != actual)
        outside = unlike & (apart > step) if step else unlike
        words = "are more than a step apart" if step else "differ"
        max_abs = float(apart.max()) if apart.size else 0.0
        top1 = _top1(expected, actual)
        return self._figures(kind, expected.shape, outside, words, max_abs=max_abs, top1=top1)

    def _compare_floats(self, expected: Array, actual: Array) -> Figures:
        profile, kind, shape = self.profile, expected.dtype.name, expected.shape
        if _is_plain(expected) and np.array_equal(_bits(expected), _bits(actual)):
            same = {"max_abs": 0.0} if self.brief and expected.size else _same_figures(expected)
            return self._figures(kind, shape, np.zeros(0, bool), "", **same)
        left, right = wide(expected).reshape(-1), wide(actual).reshape(-1)
        with np.errstate(all="ignore"):
            same = (left == right) | (np.isnan(left) & np.isnan(right))
            apart = np.where(same, 0.0, np.abs(left - right))
            size = np.abs(left)
            atol = profile.atol * (_scale(size) if profile.scaled else 1.0)
            # Relative to an infinite value everything is close.
            outside = ~same & ~(np.isfinite(left) & (apart <= atol + profile.rtol * size))
            if self.brief and not outside.any():
                return self._figures(kind, shape, outside, "", max_abs=_largest(apart))
            relative = (apart / size)[(size > _RELATIVE_FLOOR) & np.isfinite(size)]
        figures: dict[str, Any] = {
            "max_abs": _largest(apart),
            "max_rel": _largest(relative),
            "p999_rel": _percentile(relative),
            "ulp_max": _ulp_max(expected, actual),
            "cosine": _cosine(left, right),
            "top1": _top1(expected, actual),
        }
        if profile.cosine is not None and outside.any():
            excuse = _alike(left, figures, profile.cosine)
            if excuse:
                outliers = self._figures(kind, shape, outside, "are outside", **figures)
                words = f"{outliers.reason} a plain tolerance; {excuse}"
                return replace(outliers, agrees=True, reason=words)
        result = self._figures(kind, shape, outside, "are outside the tolerance", **figures)
        close = same | (apart <= atol + WARN_RTOL * size)
        if profile is FP32 and result.agrees and not close.all():
            return replace(result, reason=f"{self.name}: agrees, but not within {WARN_RTOL:g}")
        return result

    def _figures(
        self, kind: str, shape: tuple[int, ...], outside: Array, words: str, **figures: Any
    ) -> Figures:
        count = int(outside.sum())
        return Figures(
            self.name,
            kind,
            list(shape),
            agrees=count == 0,
            reason=f"{self.name}: {count} of {outside.size} elements {words}" if count else "",
            outside=count,
            first_bad=int(outside.argmax()) if count else None,
            profile=self.profile.name,
            **figures,
        )


def wide(array: Array) -> Array:
    """The array with the widest numbers of its kind: complex128 or float64."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def is_whole(dtype: Any) -> bool:
    """Whether these are integers, those of other libraries than numpy included."""
    return dtype.kind in "iu" or dtype.name in {"int4", "uint4", "int2", "uint2"}


def is_text(array: Array) -> bool:
    return array.dtype.kind in "OUST"


def _bits(array: Array) -> Array:
    """The elements as bit patterns, so that NaN equals itself and 0 differs from -0."""
    flat = np.ascontiguousarray(array)
    size = flat.dtype.itemsize
    # Numpy compares integers about 50 times as fast as raw bytes.
    kind = np.dtype(f"u{size}") if size in {1, 2, 4, 8} else np.dtype((np.void, size))
    return flat.view(kind).reshape(array.shape)


def _is_plain(array: Array) -> bool:
    """Whether these are numpy's own floats of 16, 32 or 64 bits."""
    return array.dtype.kind == "f" and array.dtype.itemsize in {2, 4, 8}


def _same_figures(array: Array) -> dict[str, Any]:
    """Figures of floats that are equal bit for bit, without computing differences."""
    size = np.abs(array.astype(np.float32) if array.dtype.itemsize < 4 else array)
    finite = size[np.isfinite(size)]
    largest = float(finite.max()) if finite.size else 0.0
    relative = 0.0 if largest > _RELATIVE_FLOOR else None
    return {
        "max_abs": 0.0 if array.size else None,
        "max_rel": relative,
        "p999_rel": relative,
        "ulp_max": 0.0 if finite.size else None,
        "cosine": 1.0 if largest else None,
        "top1": _top1(array, array),
    }


def _scale(size: Array) -> float:
    finite = size[np.isfinite(size)]
    return max(1.0, float(np.sqrt(np.mean(np.square(finite))))) if finite.size else 1.0


def _alike(left: Array, figures: dict[str, Any], enough: float) -> str:
    """Why a quantised output still passes: one 8-bit step of its range, or the cosine."""
    finite = left[np.isfinite(left)]
    step = float(finite.max() - finite.min()) / _GRID_STEPS if finite.size else 0.0
    if figures["max_abs"] is not None and figures["max_abs"] <= step:
        return "all within one 8-bit step of the output's range"
    same_place = figures["top1"] in {None, 1.0}
    if figures["cosine"] is not None and figures["cosine"] >= enough and same_place:
        return f"the cosine is at least {enough} and top-1 is the same"
    return ""


def _largest(array: Array) -> float | None:
    # NaN against a number is the worst error, and `max` would return NaN.
    return float(np.where(np.isnan(array), np.inf, array).max()) if array.size else None


def _percentile(relative: Array) -> float | None:
    if not relative.size:
        return None
    whole = np.where(np.isnan(relative), np.inf, relative)
    place = math.ceil(0.999 * whole.size) - 1
    return float(np.partition(whole, place)[place])


def _cosine(left: Array, right: Array) -> float | None:
    finite = np.isfinite(left) & np.isfinite(right)
    left, right = left[finite], right[finite]
    if not left.size or left.dtype.kind == "c":
        return None
    # Scaled first, so that squares of large values stay finite.
    scales = [float(np.abs(side).max()) for side in (left, right)]
    if not all(scales):
        return None
    left, right = left / scales[0], right / scales[1]
    return float(left @ right / math.sqrt(float(left @ left) * float(right @ right)))


def _top1(expected: Array, actual: Array) -> float | None:
    if not 1 <= expected.ndim <= _ROWS_RANK or expected.shape[-1] < 2 or not expected.size:
        return None
    if expected.dtype.kind == "c":
        return None
    rows = [np.nan_to_num(side.astype(np.float64)).argmax(axis=-1) for side in (expected, actual)]
    return float((rows[0] == rows[1]).mean())


def _ulp_max(expected: Array, actual: Array) -> float | None:
    signed = {2: np.int16, 4: np.int32, 8: np.int64}.get(expected.dtype.itemsize)
    if signed is None or expected.dtype.kind == "c" or not expected.size:
        return None
    finite = np.isfinite(expected.astype(np.float64)) & np.isfinite(actual.astype(np.float64))
    if not finite.any():
        return None
    places = [_places(side[finite].view(signed)) for side in (expected, actual)]
    if expected.dtype.itemsize == 8:
        places = [side.astype(np.float64) for side in places]
    return float(np.abs(places[0] - places[1]).max())


def _places(bits: Array) -> Array:
    """Ranks of floats, given as signed integers: neighbouring floats are 1 apart."""
    lowest = int(np.iinfo(bits.dtype).min)
    whole = bits.astype(np.int64)
    return np.where(whole < 0, lowest - whole, whole)
