"""The order of a list that asks for none follows from its limits."""

from __future__ import annotations

import pytest

from registry.catalogue.query import Query


@pytest.mark.parametrize(
    ("limits", "sort"),
    [
        ({}, "updated"),
        ({"max_p50": 20.0}, "fastest"),
        ({"max_p50": 20.0, "max_memory": 10, "max_macs": 10}, "fastest"),
        ({"max_bytes": 0}, "size"),
        ({"max_parameters": 10}, "parameters"),
        ({"max_macs": 10, "license": ("mit",), "text": "digits"}, "macs"),
        ({"max_memory": 10}, "memory"),
        ({"max_memory": 10, "max_macs": 10}, "updated"),
        ({"opset_max": 17}, "updated"),
    ],
)
def test_latency_or_the_only_limit_decides(limits, sort):
    assert Query.of(**limits).default_sort == sort
