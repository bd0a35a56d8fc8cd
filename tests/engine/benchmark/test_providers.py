"""Only what has run a model rightly is offered, whatever the library claims."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.engine.confine import probe
from runners.engine.hardware import providers

CPU = providers.CPU


@pytest.fixture(scope="module")
def layers():
    return probe.probe().layers


def test_what_works_here_is_offered_with_its_profile(layers):
    told = providers.offer(layers)
    assert CPU in told.providers
    assert set(told.providers) <= set(told.compiled_in)
    assert set(told.profiles) == set(told.runtimes) >= {"onnxruntime", "onnx-reference"}
    assert told.profiles["onnxruntime"]["opset"] >= 21


@pytest.mark.parametrize("claimed", ["CUDAExecutionProvider", "NoSuchExecutionProvider"])
def test_a_provider_that_falls_back_silently_is_not_offered(layers, monkeypatch, claimed):
    monkeypatch.setattr(providers, "_compiled_in", lambda: [claimed, CPU])
    told = providers.offer(layers)
    assert told.providers == [CPU]
    assert told.failed[claimed]


def test_a_wrong_result_is_not_offered(layers, monkeypatch):
    raw, inputs, expected = providers._model()
    monkeypatch.setattr(providers, "_model", lambda: (raw, inputs, expected + 1))
    told = providers.offer(layers)
    assert told.providers == []
    assert told.failed[CPU] == "its result differs from the CPU's"


def test_a_runtime_that_crashes_is_not_offered(layers, monkeypatch):
    import os
    import signal

    def crash(_name):
        os.kill(os.getpid(), signal.SIGSEGV)

    monkeypatch.setattr(providers, "_profile", crash)
    told = providers.offer(layers)
    assert (told.runtimes, told.providers) == ({}, [])
    assert told.failed["onnxruntime"].startswith("signalled")


def test_a_library_that_cannot_be_loaded_is_named(layers, monkeypatch, tmp_path):
    """ONNX Runtime writes the cause to its log alone; here the library is no library."""
    import onnxruntime

    (tmp_path / "capi").mkdir()
    shared = "libonnxruntime_providers_shared.so"
    real = Path(onnxruntime.__file__).parent / "capi" / shared
    (tmp_path / "capi" / shared).write_bytes(real.read_bytes())
    (tmp_path / "capi" / "libonnxruntime_providers_cuda.so").write_text("no library\n" * 100)
    monkeypatch.setattr(onnxruntime, "__file__", str(tmp_path / "__init__.py"))
    cause = providers._try("CUDAExecutionProvider")
    assert cause.startswith("libonnxruntime_providers_cuda.so cannot be loaded: ")
    assert "invalid ELF header" in cause
    assert providers._try(CPU) == ""
