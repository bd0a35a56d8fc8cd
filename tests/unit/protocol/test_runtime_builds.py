"""The builds of ONNX Runtime that are offered: what the documents of the project install."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hub.protocol import runtime_builds
from hub.protocol.runtime_builds import BROWSER, CPU, GPU, PORTABLE
from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine import runtimes
from runners.engine.runtimes import probing

ROOT = Path(__file__).resolve().parents[3]


def test_the_ceiling_of_the_cpu_build_is_what_it_really_loads():
    assert probing.highest() == (CPU.ceiling.opset, CPU.ceiling.ir_version)


def test_environments_install_the_cpu_build_that_is_named():
    constraints = (ROOT / "constraints.txt").read_text().splitlines()
    assert f"{CPU.package}=={CPU.version}" in constraints
    assert runtimes.of(ONNXRUNTIME).version() == CPU.version


@pytest.mark.parametrize(
    ("opset", "ir_version", "places"),
    [
        (PORTABLE.opset, PORTABLE.ir_version, []),
        (None, None, []),
        (27, 13, ["on GPU", "in browsers"]),
        (26, 14, ["on GPU", "in browsers"]),
        (29, 14, ["on CPU", "on GPU", "in browsers"]),
    ],
)
def test_a_model_is_refused_by_the_builds_below_it(opset, ir_version, places):
    named = runtime_builds.refusals(opset, ir_version)
    assert [re.sub(r" \(.*", "", words) for words in named] == places
    assert PORTABLE.admits(opset, ir_version) is not bool(places)


def test_what_is_portable_is_the_least_of_the_builds():
    assert runtime_builds.Ceiling(26, 13) == PORTABLE
    assert BROWSER.ceiling == GPU.ceiling
