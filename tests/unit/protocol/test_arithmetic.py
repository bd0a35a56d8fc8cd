"""The sentence about what computed the figures of a half-precision variant."""

from __future__ import annotations

import pytest

from hub.protocol import arithmetic


@pytest.mark.parametrize(
    ("parity", "sentence"),
    [
        ({"profile": "quantised"}, ""),
        ({"profile": "fp16"}, "computed in float32 on CPU; not in half"),
        (
            {"profile": "fp16", "half": {"sets": 0, "reason": "ran out of time"}},
            "computed in float32 on CPU; not in half by the reference: ran out of time",
        ),
        (
            {"profile": "fp16", "half": {"sets": 1}},
            "computed in float32 on CPU; in half by the reference on 1 input",
        ),
        ({"profile": "fp16", "half": "many"}, "computed in float32 on CPU; not in half"),
    ],
)
def test_sentences(parity, sentence):
    assert arithmetic.sentence(parity) == sentence
