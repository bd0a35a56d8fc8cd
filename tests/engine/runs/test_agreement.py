"""Figures and verdicts of comparing two values, under each profile."""

from __future__ import annotations

import json
import math

import ml_dtypes
import numpy as np
import onnx
import pytest

from runners.engine.runs import agreement
from runners.engine.runs.agreement import EXACT, FP16, FP32, QUANTISED, compare
from tests import samples


def array(*numbers, dtype=np.float32):
    return np.array(numbers, dtype)


def test_equal_values_have_perfect_figures():
    figures = compare("y", array(1, -2, 3), array(1, -2, 3), FP32)
    assert (figures.agrees, figures.reason, figures.outside, figures.first_bad) == (
        True,
        "",
        0,
        None,
    )
    assert (figures.max_abs, figures.max_rel, figures.ulp_max) == (0, 0, 0)
    assert figures.cosine == pytest.approx(1)
    assert (figures.top1, figures.profile, figures.shape) == (1, "fp32", [3])


@pytest.mark.parametrize("profile", [FP32, FP16, QUANTISED])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    "values",
    [
        (), (0.0, -0.0), (1.5, -2.5, 3.0), (1e-7, -2e-7), (math.nan, 1.0), (math.nan, math.nan),
        (math.inf, -math.inf), (math.inf, 2.0), (1e-6, 1.1e-6), (6e4, -3e4),
    ],
)  # fmt: skip
def test_figures_of_equal_bits_are_those_that_differences_give(monkeypatch, profile, dtype, values):
    expected = array(*values, dtype=dtype)
    figures = compare("y", expected, expected.copy(), profile)
    monkeypatch.setattr(agreement, "_is_plain", lambda _array: False)
    assert figures == compare("y", expected, expected.copy(), profile)


def test_equal_bits_are_compared_without_computing_differences(monkeypatch):
    def refuse(*_arrays):
        raise AssertionError("differences were computed")

    monkeypatch.setattr(agreement, "_ulp_max", refuse)
    assert compare("y", array(1, -2, 3), array(1, -2, 3), FP32).agrees
    with pytest.raises(AssertionError):
        compare("y", array(0.0), array(-0.0), FP32)


@pytest.mark.parametrize("profile", [FP32, FP16, QUANTISED])
@pytest.mark.parametrize("off", [0.0, 1e-6, 1e-3, 0.5, math.nan])
def test_a_brief_comparison_gives_the_same_verdict(profile, off):
    expected = [array(1, 2, 3), array(4, -5)]
    actual = [array(1, 2 + off, 3), array(4, -5)]
    whole = compare("y", expected, actual, profile)
    brief = compare("y", expected, actual, profile, brief=True)
    assert (brief.agrees, brief.max_abs) == (whole.agrees, whole.max_abs)
    if not whole.agrees:
        assert brief == whole


def test_a_brief_comparison_computes_no_figures_of_what_agrees():
    figures = compare("y", array(1, 2), array(1, 2 + 1e-6), FP32, brief=True)
    assert 0 < figures.max_abs < 1e-5
    assert (figures.cosine, figures.ulp_max, figures.p999_rel) == (None, None, None)


def test_the_first_bad_element_and_the_count_are_told():
    figures = compare("y", array(1, 2, 3, 4), array(1, 2.1, 3, 5), FP32)
    assert (figures.agrees, figures.outside, figures.first_bad) == (False, 2, 1)
    assert figures.max_abs == 1
    assert figures.max_rel == pytest.approx(0.25)
    assert "2 of 4" in figures.reason


@pytest.mark.parametrize(
    ("profile", "rtol", "atol"), [(FP32, 1e-3, 1e-5), (FP16, 1e-2, 1e-3), (QUANTISED, 1e-3, 1e-5)]
)
@pytest.mark.parametrize(
    ("value", "others"),
    [(0.0, ()), (0.5, ()), (-1.0, ()), (0.0, (300.0, -400.0)), (400.0, (300.0, 0.0))],
)
def test_a_tolerance_is_exact(profile, rtol, atol, value, others):
    """atol is in units of the root mean square where that is above 1."""
    expected = array(value, *others, dtype=np.float64)
    unit = max(1.0, float(np.sqrt(np.mean(expected**2))))
    bound = atol * unit + rtol * abs(value)
    for share, outside in ((0.999, 0), (1.001, 1)):
        actual = expected.copy()
        actual[0] += share * bound
        assert compare("y", expected, actual, profile).outside == outside


def test_relative_error_ignores_what_is_nearly_zero():
    assert compare("y", array(1e-9, 1), array(2e-9, 1), FP32).max_rel == 0


@pytest.mark.parametrize(
    ("expected", "actual", "steps"),
    [
        (1.0, np.nextafter(np.float32(1), np.float32(2)), 1),
        (0.0, -0.0, 0),
        (
            np.nextafter(np.float32(0), np.float32(-1)),
            np.nextafter(np.float32(0), np.float32(1)),
            2,
        ),
    ],
)
def test_ulps_are_counted_through_zero(expected, actual, steps):
    assert compare("y", array(expected), array(actual), FP32).ulp_max == steps


def test_ulps_of_bfloat16():
    left = np.array([1.0], ml_dtypes.bfloat16)
    right = np.array([1.0078125], ml_dtypes.bfloat16)
    assert compare("y", left, right, FP16).ulp_max == 1


def test_nan_equals_nan_and_nothing_else():
    assert compare("y", array(np.nan, np.inf), array(np.nan, np.inf), FP32).agrees
    assert not compare("y", array(np.inf, 2), array(1, 2), FP32).agrees
    figures = compare("y", array(1, np.nan), array(np.nan, np.nan), FP32)
    assert (figures.agrees, figures.outside) == (False, 1)
    assert figures.to_json()["max_abs"] == "inf"
    json.dumps(figures.to_json(), allow_nan=False)


def test_agreement_that_is_not_close_is_said():
    figures = compare("y", array(1000), array(1000.5), FP32)
    assert figures.agrees
    assert "1e-05" in figures.reason


@pytest.mark.parametrize(
    ("expected", "actual", "words"),
    [
        (array(1), array(1, dtype=np.float64), "type"),
        (array(1), array(1, 2), "shape"),
        (array(1), [array(1)], "kind"),
        (array(1), None, "kind"),
        ([array(1)], [array(1), array(2)], "elements"),
        ({"a": 1.0}, {"b": 1.0}, "keys"),
    ],
)
def test_unlike_values(expected, actual, words):
    figures = compare("y", expected, actual, FP32)
    assert not figures.agrees
    assert words in figures.reason


def test_integers_and_text_are_exact():
    assert not compare("y", array(5, dtype=np.int64), array(6, dtype=np.int64), FP32).agrees
    big = (1 << 62) + 1
    assert not compare("y", array(big, dtype=np.int64), array(big - 1, dtype=np.int64), FP32).agrees
    words = np.array(["a", "b"], object)
    assert compare("y", words, np.array(["a", "b"]), FP32).agrees
    assert compare("y", words, np.array(["a", "c"], object), FP32).first_bad == 1


def test_a_quantised_integer_may_miss_by_one_step():
    left, right = array(5, 200, dtype=np.uint8), array(6, 199, dtype=np.uint8)
    assert compare("y", left, right, QUANTISED).agrees
    assert not compare("y", left, right, FP32).agrees
    assert not compare("y", left, array(7, 200, dtype=np.uint8), QUANTISED).agrees
    wide = array(5, dtype=np.int64)
    assert not compare("y", wide, wide + 1, QUANTISED).agrees


def test_quantised_floats_pass_by_direction_and_top_1():
    left = array(0.0, 10.0, 1.0)
    assert compare("y", left, array(0.1, 10.0, 1.0), QUANTISED).agrees
    assert not compare("y", left, array(10.0, 0.0, 1.0), QUANTISED).agrees
    swapped = compare("y", array(10.0, 9.0, 0.0), array(9.0, 10.0, 0.0), QUANTISED)
    assert swapped.cosine > 0.99
    assert (swapped.top1, swapped.agrees) == (0, False)


def test_exact_floats_are_bits():
    assert not compare("y", array(0.0), array(-0.0), EXACT).agrees
    assert compare("y", array(np.nan), array(np.nan), EXACT).agrees
    assert compare("y", array(0.0), array(-0.0), FP32).agrees


def test_sequences_and_maps_give_their_worst_element():
    left = [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}]
    right = [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 5.0}]
    figures = compare("p", left, right, FP32)
    assert (figures.agrees, figures.outside, figures.max_abs) == (False, 1, 1)
    assert figures.dtype == "sequence of map of float64"
    assert compare("p", left, left, FP32).agrees
    assert compare("p", [], [], FP32).agrees
    assert compare("p", None, None, FP32).agrees


def test_empty_arrays_agree():
    assert compare("y", np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32), FP32).agrees


def test_figures_that_json_does_not_have():
    assert [agreement.number(x) for x in (None, 1, float("inf"), float("nan"))] == [
        None,
        1.0,
        "inf",
        "nan",
    ]


def test_the_profile_comes_from_the_models_own_types():
    assert agreement.profile_for(samples.mlp_proto()) is FP32
    assert agreement.profile_for(onnx.load_from_string(samples.quantised())) is QUANTISED
    half = samples.model(
        [samples.node("Cast", ["x"], ["y"], to=onnx.TensorProto.FLOAT16)],
        outputs=[samples.value("y", onnx.TensorProto.FLOAT16)],
    )
    assert agreement.profile_for(half) is FP16
