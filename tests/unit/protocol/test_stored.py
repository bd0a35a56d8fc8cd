"""Parts of JSON that others wrote: as the shape that is expected, else empty."""

from __future__ import annotations

import pytest

from hub.protocol import stored


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        (stored.mapping, {"a": 1}, {"a": 1}),
        (stored.mapping, [1], {}),
        (stored.rows, [{"a": 1}, 3, None, {}], [{"a": 1}, {}]),
        (stored.rows, {"a": 1}, []),
        (stored.text, "x", "x"),
        (stored.text, 3, ""),
        (stored.whole, 0, 0),
        (stored.whole, True, None),
        (stored.whole, 1.0, None),
        (stored.wholes, [0, True, "1", -2, None], [0, -2]),
        (stored.wholes, "12", []),
        (stored.finite, 3, 3.0),
        (stored.finite, -1.5, -1.5),
        (stored.finite, True, None),
        (stored.finite, "1", None),
        (stored.finite, float("inf"), None),
        (stored.finite, float("-inf"), None),
        (stored.finite, float("nan"), None),
        (stored.finite, 10**400, None),
        (stored.count, 3, 3),
        (stored.count, "3", 0),
    ],
)
def test_what_has_another_shape_is_empty(read, value, expected):
    assert read(value) == expected
