"""Options of providers: closed lists, values of a type, and what they become in a session."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from runners.engine.benchmark import loads, options, provider_options, sessions, verification
from runners.engine.benchmark.requests import SessionRequest
from tests.engine.benchmark import timings

CPU, CUDA, TENSORRT = provider_options.CPU, provider_options.CUDA, provider_options.TENSORRT


def read(provider, given, *, runtime="onnxruntime", call_style="run", concurrency=1):
    return provider_options.read(
        runtime, provider, given, call_style=call_style, concurrency=concurrency
    )


def test_values_have_the_type_of_their_option():
    given = {
        "use_tf32": "false",
        "gpu_mem_limit": "2147483648",
        "cudnn_conv_algo_search": "DEFAULT",
    }
    right = {"use_tf32": False, "gpu_mem_limit": 1 << 31, "cudnn_conv_algo_search": "DEFAULT"}
    assert read(CUDA, given) == right
    assert read(CUDA, right) == right
    assert provider_options.as_texts(right) == {
        "use_tf32": "0", "gpu_mem_limit": "2147483648", "cudnn_conv_algo_search": "DEFAULT"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("provider", "given", "words"),
    [
        (CUDA, {"use_tf23": "1"}, r"no option 'use_tf23'\. Did you mean use_tf32\?"),
        (TENSORRT, {"fp16_enable": "1"}, "Did you mean trt_fp16_enable"),
        (CPU, {"zzz": "1"}, "Its options are enable_cpu_mem_arena"),
        (CUDA, {"use_tf32": "maybe"}, "use_tf32 must be true or false, not 'maybe'"),
        (CUDA, {"use_tf32": 2}, "must be true or false"),
        (CUDA, {"cudnn_conv_algo_search": "FAST"}, "one of EXHAUSTIVE, HEURISTIC, DEFAULT"),
        (TENSORRT, {"trt_builder_optimization_level": "6"}, "a whole number from 0 to 5"),
        (TENSORRT, {"trt_builder_optimization_level": True}, "a whole number from 0 to 5"),
        (TENSORRT, {"trt_engine_cache_path": "/etc"}, "no option 'trt_engine_cache_path'"),
        (CUDA, {"device_id": "1"}, "no option 'device_id'"),
        ("DmlExecutionProvider", {"device_id": "1"}, "No options are known for DmlExecution"),
        (CUDA, {"enable_cuda_graph": "true"}, "needs the call style io_binding"),
    ],
)
def test_what_cannot_be_set_says_why(provider, given, words):
    with pytest.raises(provider_options.ProviderOptionError, match=words):
        read(provider, given)
    with pytest.raises(options.UnusableOptionError) as caught:
        options.Options.from_json({"provider": provider, "provider_options": given})
    assert caught.value.option == "provider_options"


def test_a_captured_graph_is_bound_and_has_one_caller():
    asked = {"trt_cuda_graph_enable": "1"}
    assert read(TENSORRT, asked, call_style="io_binding") == {"trt_cuda_graph_enable": True}
    with pytest.raises(provider_options.ProviderOptionError, match="concurrency of 1"):
        read(TENSORRT, asked, call_style="io_binding", concurrency=2)


def test_every_kind_reads_what_it_wrote():
    for kinds in (*provider_options.BY_PROVIDER.values(), provider_options._OPENVINO):
        for kind in kinds.values():
            value = True if kind is bool else kind[0]
            assert provider_options._value(kind, json.loads(json.dumps(value))) == value
            with pytest.raises(ValueError, match=r"true or false|a whole number|one of"):
                provider_options._value(kind, "none of them")


def test_options_of_the_cpu_are_settings_of_its_session():
    import onnxruntime

    choices = {"enable_cpu_mem_arena": False, "enable_mem_pattern": False,
              "set_denormal_as_zero": True}  # fmt: skip
    request = SessionRequest(model="m", provider=CPU, provider_options=choices)
    made = sessions._options(onnxruntime, request, profiled=False)
    assert not made.enable_cpu_mem_arena
    assert not made.enable_mem_pattern
    assert made.get_session_config_entry("session.set_denormal_as_zero") == "1"
    assert sessions._provider_options(request) == {}
    plain = replace(request, provider_options={})
    usual = sessions._options(onnxruntime, plain, profiled=False)
    assert usual.enable_cpu_mem_arena
    assert usual.enable_mem_pattern


def test_tensorrt_finds_engines_that_were_built_before():
    request = SessionRequest(
        model="m", provider=TENSORRT, provider_options={"trt_fp16_enable": True},
        engine_cache="/job/inputs-engines",
    )  # fmt: skip
    assert sessions._provider_options(request) == {
        "trt_fp16_enable": "1",
        "trt_engine_cache_enable": "1",
        "trt_timing_cache_enable": "1",
        "trt_engine_cache_path": "/job/inputs-engines",
        "trt_timing_cache_path": "/job/inputs-engines",
    }


class Port:
    """An input of a compiled model of OpenVINO."""

    def get_names(self):
        return {"x"}


class Request:
    """One infer request of OpenVINO, as far as it is called."""

    def infer(self, values):
        return {"y": values}

    def get_output_tensor(self, place):
        return SimpleNamespace(data=np.float32([place]))


def test_openvino_has_as_many_streams_and_requests_as_callers(monkeypatch):
    """OpenVINO is not installed here: the library stands in at the names that are called."""
    compiled = SimpleNamespace(
        inputs=[Port()], outputs=["y"],
        create_infer_request=Request,
    )  # fmt: skip
    asked = []
    core = SimpleNamespace(
        read_model=lambda path: path,
        compile_model=lambda *given: asked.append(given[2]) or compiled,
    )
    library = SimpleNamespace(
        Core=lambda: core, Tensor=lambda value: value, get_version=lambda: "fake"
    )
    monkeypatch.setitem(sys.modules, "openvino", library)
    monkeypatch.setattr("importlib.metadata.version", lambda _: "0")
    hints = {"PERFORMANCE_HINT": "THROUGHPUT", "INFERENCE_PRECISION_HINT": "bf16"}
    request = SessionRequest(
        model="m", runtime="openvino", threads=2, concurrency=3, provider_options=hints
    )
    opened = sessions.open_session(request, {"x": np.float32([1])}, profiled=False)
    assert len(opened.callers) == 3
    assert asked[0]["NUM_STREAMS"] == 3
    assert asked[0]["INFERENCE_NUM_THREADS"] == 6
    assert asked[0]["INFERENCE_PRECISION_HINT"] == "bf16"
    assert opened.facts.execution_mode == "throughput, 3 streams, bfloat16"
    assert opened.callers[2].read(opened.callers[2].infer())[0].tolist() == [0.0]


def record(**choices):
    plain = timings.record()
    return timings.record(provider=plain["provider"] | {"options": choices})


def test_options_of_a_record_are_known_ones_and_in_its_key():
    good = record(enable_mem_pattern=False)
    assert verification.problems(good) == []
    assert good["comparability_key"] != timings.record()["comparability_key"]
    for choices in ({"fast": True}, {"enable_mem_pattern": "0"}):
        assert {one.rule for one in loads.broken(record(**choices))} == {"provider-options"}
