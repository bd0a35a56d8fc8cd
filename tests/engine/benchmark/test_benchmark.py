"""Benchmarks in the real sandbox, as short as can be: real processes, no figure is believed."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from runners.engine.benchmark import (
    answers,
    feeds,
    loops,
    measuring,
    options,
    pairing,
    power,
    record_shape,
    sessions,
    stored,
    subjects,
    summary,
    task,
    verdicts,
    verification,
)
from runners.engine.benchmark import record as form
from runners.engine.benchmark.requests import SessionRequest
from runners.engine.confine import children, fresh, probe
from runners.engine.confine.isolation import Confinement
from runners.engine.hardware import devices, readings
from runners.engine.jobs import JobError
from tests import kernel, samples
from tests.engine.benchmark import timings
from tests.engine.conftest import codes

CUDA, AZURE = "CUDAExecutionProvider", "AzureExecutionProvider"


def test_a_benchmark_gives_a_record_that_follows_from_its_samples(measured):
    core = max(os.sched_getaffinity(0))
    report, made = measured("benchmark", samples.mlp(), batch=2, cores=[core], sweep_threads=[2])
    assert report.outcome == "passed"
    record = json.loads(made["record.json"])
    assert verification.problems(record) == []
    assert record["status"] == "noisy"  # one process is never enough
    assert (record["format_version"], record["method"]) == (5, "4")
    assert record["comparability"]["timed"]["least_s"] == timings.TIMED["timed_seconds"]
    assert record["comparability"]["warmup"]["least_s"] == timings.TIMED["warmup_seconds"]
    assert record["provider"]["nodes_by_provider"]["CPUExecutionProvider"] > 0
    assert record["per_operator"]["operators"][0]["time_ms"] > 0
    assert record["config"]["inputs"][0]["shape"][0] == 2
    assert record["environment"]["logical_cpus"] == os.cpu_count()
    # What the process found itself pinned to, not what it was asked to be.
    assert record["config"]["cores"] == [core]
    for process in record["processes"]:
        assert process["failure"] is None
        assert 0 < process["floor_rss_bytes"] <= process["peak_rss_bytes"]
        assert process["session_load_ms"] > 0
        assert process["cpu_time_s"] > 0
        assert len(process["samples_ns"]) <= process["queries"]
    (swept,) = record["sweeps"]
    assert (swept["axis"], swept["value"]) == ("threads", 2)
    assert swept["record"]["comparability_key"] != record["comparability_key"]
    rows = list(csv.DictReader(io.StringIO(made["samples.csv"])))
    assert len(rows) == record["accounting"]["samples"]
    assert int(rows[0]["latency_ns"]) == record["processes"][0]["samples_ns"][0]
    assert report.facts == json.loads(json.dumps(form.without_samples(record)))


def test_a_server_is_asked_at_one_rate_and_inputs_stay_bound(measured):
    report, made = measured("benchmark", samples.mlp(), scenario="server", call_style="io_binding")
    record = json.loads(made["record.json"])
    assert record["status"] == "noisy"
    assert record["config"]["rate_per_s"] > 0
    assert record["comparability"]["rate_per_s"] == record["config"]["rate_per_s"]
    assert float(f"{record['config']['rate_per_s']:.2g}") == record["config"]["rate_per_s"]
    assert verification.problems(record) == []
    assert report.facts["comparability"]["call_style"] == "io_binding"


def test_many_streams_time_eight_inferences_as_one_query():
    done = []
    pace = loops.Pace(seconds=0.0, cap_seconds=1.0, samples=5, per_query=8)
    assert len(loops.timed("multi_stream", lambda: done.append(1), pace).samples) == 5
    assert len(done) == 40


def fixed():
    """A model that takes one row and no other number of them."""
    ports = [samples.value(name, shape=(1, 3)) for name in ("x", "y")]
    made = samples.model([samples.node("Relu", ["x"], ["y"])], ports[:1], ports[1:])
    return made.SerializeToString()


@pytest.mark.parametrize(
    ("content", "given", "code"),
    [
        (fixed, {"batch": 7}, "benchmark-no-inputs"),
        (samples.mlp, {"provider": "CUDAExecutionProvider"}, "ep-not-used"),
        # The runtime lists this one as the session's own, and gives it no node.
        (samples.mlp, {"provider": "AzureExecutionProvider"}, "ep-not-used"),
        (samples.mlp, {"shapes": {"no such": 3}}, "benchmark-no-inputs"),
        (samples.mlp, {"threads": 0}, "unusable-option"),
        (samples.mlp, {"grid_region": "Quebec"}, "unusable-option"),
        (samples.lfs_pointer, {}, "git-lfs-pointer"),
    ],
)
def test_what_cannot_be_measured_says_why(measured, content, given, code):
    report, made = measured("benchmark", content(), **given)
    assert code in codes(report)
    assert report.outcome == ("errored" if code == "unusable-option" else "failed")
    if made:
        record = json.loads(made["record.json"])
        assert (record["status"], record["reasons"]) == ("failed", [code])
        assert verification.problems(record) == []


def test_a_provider_that_holds_some_nodes_is_told_with_the_operators_of_the_rest():
    said = timings.record()["provider"] | {
        "partial": True,
        "operators_elsewhere": {"CPUExecutionProvider": ["Shape", "Gather"]},
    }
    (found,) = task.findings(timings.record(provider=said))
    assert found.code == "ep-partial"
    assert "Gather, Shape" in found.message


def test_a_busy_host_is_not_measured(measured):
    gate = {"limits": {"foreign_cpu": 0.0, "psi_cpu_some": 0.0, "steal": 0.0}}
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            report, made = measured("benchmark", samples.mlp(), if_busy="reject", gate=gate)
        finally:
            other.kill()
    record = json.loads(made["record.json"])
    assert record["quiet"]["is_quiet"] is False
    assert (report.outcome, codes(report)) == ("errored", ["host-busy"])
    assert (record["status"], record["processes"]) == ("rejected", [])


def test_a_model_against_itself_in_turns(measured):
    files = {"model.onnx": samples.mlp(), "before/model.onnx": samples.mlp()}
    report, made = measured("compare-speed", files, against="before/model.onnx", processes=2)
    comparison = json.loads(made["comparison.json"])
    assert comparison["order"] == "AB"
    assert verification.problems(comparison) == []
    verdict = comparison["verdict"]
    assert (verdict["word"], verdict["differs"]) == ("inconclusive", [])
    reasons = ["baseline-noisy", "candidate-noisy", "too-few-processes"]
    # On a busy host some of the few do not count.
    assert [one for one in verdict["reasons"] if one != verdicts.REJECTED_USED] == reasons
    assert codes(report) == ["speed-inconclusive"]
    sides = [comparison[name] for name in ("baseline", "candidate")]
    for first, second in zip(*(side["processes"] for side in sides), strict=True):
        assert first["failure"] is None
        # One process: what was read of it is the same, what was timed is each one's own.
        assert first["interference"] == second["interference"]
        assert first["samples_ns"] != second["samples_ns"]
        assert first["peak_rss_bytes"] == form.NOT_APPLICABLE
    for side in sides:
        assert (side["method"], side["config"]["timed"]["turn_s"]) == ("5", 0.02)


def test_threads_of_the_baseline_alone(measured):
    files = {"model.onnx": samples.mlp(), "before/model.onnx": samples.mlp()}
    _, made = measured("compare-speed", files, against="before/model.onnx", baseline_threads=2)
    comparison = json.loads(made["comparison.json"])
    threads = [comparison[name]["config"]["intra_op_threads"] for name in ("baseline", "candidate")]
    assert threads == [2, 1]
    assert comparison["verdict"]["differs"] == ["intra_op_threads"]


def test_models_that_take_turns_are_not_asked_at_random_moments(measured):
    files = {"model.onnx": samples.mlp(), "before/model.onnx": samples.mlp()}
    report, _ = measured(
        "compare-speed", files, against="before/model.onnx", scenario="server", rate_per_s=10.0
    )
    assert codes(report) == ["unusable-option"]


def test_models_of_different_inputs_are_not_compared(measured):
    files = {"model.onnx": samples.mlp(), "other.onnx": samples.conv()}
    report, _ = measured("compare-speed", files, against="other.onnx")
    assert (report.outcome, codes(report)) == ("failed", ["interfaces-differ"])


def test_turns_are_a_b_b_a():
    asked = []
    infers = [lambda letter=letter: asked.append(letter) for letter in "AB"]
    pace = loops.Pace(seconds=0.0, cap_seconds=1.0, samples=5)
    one, other = loops.in_turns("single_stream", infers, pace, 0.0)
    # One round is enough where no time is asked; a turn is one inference at least.
    assert asked == ["A", "B"]
    longer = loops.Pace(seconds=0.002, cap_seconds=1.0, samples=5)
    asked.clear()
    one, other = loops.in_turns("single_stream", infers, longer, 0.0)
    assert "".join(asked).startswith("ABBAABBA")
    assert min(one.wall_s, other.wall_s) >= 0.002
    assert [len(one.samples), len(other.samples)] == [asked.count("A"), asked.count("B")]


def test_a_model_alone_has_one_turn():
    pace = loops.Pace(seconds=0.0, cap_seconds=1.0, samples=5)
    (alone,) = loops.in_turns("single_stream", [lambda: None], pace, 0.0)
    assert len(alone.samples) == 5


def test_a_quiet_host_gets_narrower_limits():
    side = timings.record()
    made = verdicts.complete(side, side, "AB" * 5)
    found = pairing.outcome(made, options.Options())
    assert found["is_quiet"]
    # Three times what was seen, and never less than a clock that ticks in hundredths can tell.
    assert found["limits"]["foreign_cpu"] == pytest.approx(0.06)
    assert found["limits"]["steal"] == 0.005
    told = options.Options(gate=found).gate_in_force()
    assert told["foreign_cpu"] == pytest.approx(0.06)
    assert told["calibrated"] == found["calibrated_at"]


def test_a_host_is_calibrated_by_the_engines_own_model(measured):
    report, _ = measured("calibrate", {})
    assert report.outcome == "passed"
    assert report.facts["processes"] == 2


def test_a_host_that_is_not_at_rest_keeps_the_provisional_limits():
    side = timings.record([timings.process(1)])
    found = pairing.outcome(verdicts.complete(side, side, "A"), options.Options())
    # One process on each side decides nothing, so the provisional limits stay.
    assert (found["is_quiet"], found["limits"]["foreign_cpu"]) == (False, 0.10)
    told = options.Options(gate=found).gate_in_force()
    assert "not at rest" in told["calibrated"]
    eager = options.Options(gate={"limits": {"steal": 9.0}, "calibrated_at": "x", "is_quiet": True})
    assert eager.gate_in_force()["steal"] == 0.02


@pytest.mark.parametrize(
    "given",
    [
        {"nonsense": 1},
        {"batch": 0},
        {"batch": True},
        {"scenario": "all"},
        {"sweep_batch": [1.5]},
        {"timed_seconds": "long"},
        {"if_busy": "hope"},
        {"shapes": {"n": 0}},
        {"rate_per_s": float("nan")},
        {"rate_per_s": float("inf")},
        {"rate_per_s": -1.0},
    ],
)
def test_options_are_bounded(given):
    with pytest.raises(options.UnusableOptionError):
        options.Options.from_json(given)


def test_a_program_of_its_own_wears_every_layer_that_a_fork_wears(tmp_path):
    layers = kernel.offered()
    canary = tmp_path / "canary"
    canary.write_text("not yours")
    arguments = {
        "layers": sorted(layers),
        "spaces": probe._spaces(),
        "canary": str(canary),
        "server": os.getpid(),
    }
    ending = fresh.run("probe", arguments, Confinement(layers, probe._LIMITS), children.Stop())
    assert (ending.kind, ending.answer) == ("answered", [])
    assert canary.read_text() == "not yours"


def test_a_program_that_cannot_be_confined_does_not_start(tmp_path):
    broken = Confinement(frozenset(), probe._LIMITS, folder=tmp_path / "missing")
    ending = fresh.run("probe", {"layers": []}, broken, children.Stop())
    assert ending.kind == "unconfined"


def test_warm_up_ends_when_it_is_steady_or_at_its_cap(monkeypatch):
    now = [0]
    monkeypatch.setattr(loops, "_clock", lambda: now[0])

    def lasting(nanoseconds):
        spans = iter(nanoseconds)

        def infer():
            now[0] += next(spans)

        return infer

    warm = loops.warm_up(lasting(itertools.repeat(1_000_000)), 0.02, 1.0)
    assert warm == loops.WarmUp(20, 0.02, is_steady=True)
    growing = (int(50_000 * 1.15**place) for place in itertools.count())
    capped = loops.warm_up(lasting(growing), 0.01, 0.1)
    assert (capped.is_steady, capped.seconds >= 0.1) == (False, True)
    few = loops.warm_up(lasting(itertools.repeat(10_000_000)), 0.02, 1.0)
    assert few == loops.WarmUp(loops.LEAST_WARMUP, 0.1, is_steady=True)


def test_arrivals_are_seeded_and_waiting_counts():
    pace = loops.Pace(seconds=0.0, cap_seconds=1.0, samples=20, rate_per_s=20_000.0, seed=3)
    infer = lambda: loops._wait_until(loops._clock() + 1_000_000, time.process_time)  # noqa: E731
    slow = loops.timed("server", infer, pace).samples
    # Far more arrive than are served, so each waits longer than the one before.
    assert slow == sorted(slow)
    assert slow[-1] > slow[0] + 15_000_000


def test_what_waiting_for_an_arrival_costs_is_no_inferences(monkeypatch):
    """The clock is watched before each arrival: processor time, and no part of what is asked."""
    used, now = itertools.count(0, 10), itertools.count(0, 20_000)
    monkeypatch.setattr(loops.time, "process_time", lambda: float(next(used)))
    monkeypatch.setattr(loops, "_clock", lambda: next(now))
    read = loops.time.process_time
    watched = loops._wait_until(1_000_000_000 // 10_000, read)
    assert watched == 10.0 * (next(used) // 10 - 1)
    assert watched > 0
    assert loops._wait_until(0, read) == 0.0
    monkeypatch.undo()
    pace = loops.Pace(seconds=0.0, cap_seconds=1.0, samples=20, rate_per_s=20_000.0)
    monkeypatch.setattr(loops, "_wait_until", lambda *_: 1000.0)
    assert loops.timed("server", lambda: None, pace).cpu_s == 0.0


def test_a_rate_that_nobody_asked_for_has_two_digits(monkeypatch, tmp_path):
    told = {"samples_ns": [1_234_567] * 3}
    monkeypatch.setattr(subjects.Subject, "time", lambda *_, **__: told)
    run_options = options.Options(scenario="server")
    job = SimpleNamespace(stop=children.Stop())
    subject = subjects.Subject(job, run_options, tmp_path, "model.onnx", [])
    subject.settle_rate()
    assert subject.rate_per_s == 410.0  # half of 810 a second, about


def zone(folder, name, label, microjoules, most=1_000_000_000):
    """One zone of powercap as the kernel shows it; see Documentation/power/powercap."""
    home = folder / name
    home.mkdir()
    for file, value in (("name", label), ("energy_uj", microjoules), ("max_energy_range_uj", most)):
        (home / file).write_text(f"{value}\n")
    return home / "energy_uj"


def spent(folder, change):
    """What is read as spent while something happens to the counters."""
    found = readings.Instruments(folder)
    before = found.look()
    change()
    spent = found.energy_between(before, found.look())
    found.close()
    return spent


@pytest.fixture
def packages(tmp_path):
    """Two packages with cores, memory and graphics inside, and what holds or repeats them."""
    counters = [zone(tmp_path, f"intel-rapl:{k}", f"package-{k}", 5_000_000) for k in (0, 1)]
    for name, label in (
        ("intel-rapl:0:0", "core"),
        ("intel-rapl:0:1", "uncore"),
        ("intel-rapl:0:2", "dram"),
        ("intel-rapl:1:0", "core"),
        ("intel-rapl:2", "psys"),
        ("intel-rapl-mmio:0", "package-0"),
    ):
        zone(tmp_path, name, label, 1)
    (tmp_path / "intel-rapl").mkdir()
    return counters


def test_packages_are_summed_and_what_they_hold_is_not_counted_twice(tmp_path, packages):
    def work():
        packages[0].write_text("7000000")
        packages[1].write_text("5500000")

    assert spent(tmp_path, work) == {"intel-rapl:0": 2.0, "intel-rapl:1": 0.5}
    said = power.sources(options.Options(), None, tmp_path)
    assert (said["provenance"], said["meters"]) == ("measured", ["intel-rapl:0", "intel-rapl:1"])


def test_energy_counters_that_wrap_are_unrolled(tmp_path):
    counter = zone(tmp_path, "intel-rapl:0", "package-0", 999_000_000)
    assert spent(tmp_path, lambda: counter.write_text("2000000")) == {"intel-rapl:0": 3.0}


def test_a_counter_that_wrapped_at_an_unknown_end_gives_nothing(tmp_path, packages):
    (tmp_path / "intel-rapl:0" / "max_energy_range_uj").unlink()
    assert spent(tmp_path, lambda: packages[0].write_text("1")) == {}


def test_energy_of_some_packages_is_not_given_for_all(tmp_path, packages, monkeypatch):
    """The kernel shows counters to root alone; whoever runs these tests may be root."""
    refused = tmp_path / "intel-rapl:1" / "energy_uj"
    monkeypatch.setattr(readings.os, "access", lambda path, _: path != refused)
    assert readings.meters(tmp_path) == {}
    assert spent(tmp_path, lambda: None) == {}
    assert power.sources(options.Options(), None, tmp_path)["provenance"] == "none"
    stated = power.sources(options.Options(watts_per_core=10.0), None, tmp_path)
    assert stated["provenance"] == "estimated"


def test_a_counter_that_stops_answering_gives_nothing(tmp_path, packages):
    assert spent(tmp_path, lambda: packages[1].write_text("")) == {}


def test_a_host_without_a_gpu_says_so():
    library = "libno-such-library.so.1"
    assert set(devices.describe(library).values()) == {form.NOT_EXPOSED}
    assert (devices.processes(library), devices.joules(library)) == (None, None)


class Nvml:
    """A driver's management library, as far as it is asked, that keeps what it was asked."""

    def __init__(self, running=(), throttle=0x01):
        self.running, self.asked = running, []
        self.calls = {
            "nvmlInit_v2": lambda: 0,
            "nvmlDeviceGetHandleByUUID": lambda uuid, _: self.asked.append(uuid) or 0,
            "nvmlDeviceGetHandleByIndex_v2": lambda number, _: self.asked.append(number.value) or 0,
            "nvmlDeviceGetComputeRunningProcesses_v3": self.tell,
            "nvmlDeviceGetCurrentClocksThrottleReasons": partial(self.answer, throttle),
            "nvmlDeviceGetMemoryInfo": self.memory,
            "nvmlDeviceGetClockInfo": self.clock,
        }

    def __getattr__(self, name):
        return self.calls.get(name, lambda *_: 3)  # NVML_ERROR_NOT_SUPPORTED

    @staticmethod
    def answer(value, _, found):
        found._obj.value = value
        return 0

    @staticmethod
    def clock(_, kind, found):
        found._obj.value = {1: 1410, 2: 1593}[kind.value]
        return 0

    @staticmethod
    def memory(_, found):
        found._obj.used = 3 << 30
        return 0

    def tell(self, _, count, found):
        count, room = count._obj, count._obj.value
        count.value = len(self.running)
        if room < len(self.running):
            return 7  # NVML_ERROR_INSUFFICIENT_SIZE
        for place, pid in enumerate(self.running):
            found[place].pid, found[place].used = pid, 2**64 - 1 if pid == 1 else pid << 20
        return 0


@pytest.mark.parametrize(
    ("bound", "asked"),
    [
        ("MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f", b"MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f"),
        ("GPU-8932f937,GPU-1", b"GPU-8932f937"),
        ("1,0", 1),
        ("", 0),
    ],
)
def test_the_gpu_that_is_described_is_the_one_that_is_bound(monkeypatch, bound, asked):
    nvml = Nvml()
    monkeypatch.setattr(devices.ctypes, "CDLL", lambda _: nvml)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", bound)
    assert devices.processes() == {}
    assert nvml.asked == [asked]


def test_more_processes_on_a_gpu_than_there_was_room_for_are_all_told(monkeypatch):
    monkeypatch.setattr(devices.ctypes, "CDLL", lambda _: Nvml(range(1, 101)))
    assert devices.processes() == {1: None} | {pid: pid << 20 for pid in range(2, 101)}
    assert (devices.others(CUDA), devices.others("CPUExecutionProvider")) == (100, "not-applicable")
    memory = [devices.memory_of(pid) for pid in (1, 2, 101)]
    assert memory == ["not-exposed", 2 << 20, "not-exposed"]


@pytest.mark.parametrize(
    ("bits", "names"),
    [
        (0x00, ()),
        # Idle, clocks that somebody set, synchronised boards: nothing is lacking.
        (0x01 | 0x02 | 0x10 | 0x100, ()),
        (0x04, ("sw-power-cap",)),
        (0x20 | 0x40, ("sw-thermal-slowdown", "hw-thermal-slowdown")),
        (0x08 | 0x80, ("hw-slowdown", "hw-power-brake")),
    ],
)
def test_reasons_that_lower_the_clocks_of_a_gpu(monkeypatch, bits, names):
    monkeypatch.setattr(devices.ctypes, "CDLL", lambda _: Nvml(throttle=bits))
    found = devices.reading()
    assert found == devices.Reading(1410, 1593, 3 << 30, names)


def test_a_process_on_a_throttled_gpu_does_not_count(monkeypatch):
    monkeypatch.setattr(devices.ctypes, "CDLL", lambda _: Nvml(throttle=0x20))
    instruments = readings.Instruments(with_gpu=True)
    told = readings.interference(instruments.look(), instruments.look())
    instruments.close()
    assert told["gpu_throttle"] == ["sw-thermal-slowdown"]
    assert (told["gpu_sm_clock_mhz"], told["gpu_memory_used_bytes"]) == (1410, 3 << 30)
    one = timings.process(1, interference=timings.QUIET | {"gpu_throttle": told["gpu_throttle"]})
    quiet = timings.process(1, interference=timings.QUIET | {"gpu_throttle": []})
    gate = options.Options().gate_in_force()
    assert summary.faults(one, gate) == ["gpu-throttled"]
    assert summary.faults(quiet, gate) == []
    record_shape.check_process(one, "process")


def test_a_gpu_that_tells_nothing_is_not_called_throttled(monkeypatch):
    def silent(_):
        nvml = Nvml()
        nvml.calls = {name: nvml.calls[name] for name in nvml.calls if "Handle" in name}
        nvml.calls["nvmlInit_v2"] = lambda: 0
        return nvml

    monkeypatch.setattr(devices.ctypes, "CDLL", silent)
    assert devices.reading() == devices.Reading(None, None, None, None)
    moment = readings.Instruments(with_gpu=True).look()
    assert readings.interference(moment, moment)["gpu_throttle"] == form.NOT_EXPOSED


def test_parts_of_a_gpu_are_opened_through_their_own_files(tmp_path, monkeypatch):
    (tmp_path / "nvidia-caps").mkdir()
    names = ["nvidia0", "nvidiactl", "nvidia-caps/nvidia-cap21", "nvidia-caps/nvidia-cap22"]
    for name in (*names, "nvidia-caps/other", "sda"):
        (tmp_path / name).touch()
    monkeypatch.setattr(Path, "is_char_device", lambda self: self.is_file())
    assert sorted(str(one.relative_to(tmp_path)) for one in devices.nodes(tmp_path)) == sorted(
        names
    )


def test_watts_of_a_core_are_no_energy_of_a_gpu():
    given = options.Options(provider=CUDA, watts_per_core=10.0)
    assert power.sources(given, None) == {"provenance": "none", "method": "none"}


def test_the_libraries_of_a_provider_tell_their_versions(monkeypatch):
    assert sessions._loaded("libc.so") is not None
    assert sessions._loaded("libcudnn.so") is None
    assert sessions._ep_version(CUDA) == form.NOT_EXPOSED
    assert sessions._ep_version("CPUExecutionProvider") == form.NOT_APPLICABLE

    def runtime(said):
        said._obj.value = 12080
        return 0

    held = {
        "libcudart.so.12": SimpleNamespace(cudaRuntimeGetVersion=runtime),
        "libcudnn.so.9": SimpleNamespace(cudnnGetVersion=lambda: 90501),
    }

    def load(name, mode):
        assert mode == os.RTLD_NOLOAD
        if name not in held:
            raise OSError(name)
        return held[name]

    monkeypatch.setattr(sessions.ctypes, "CDLL", load)
    assert sessions._ep_version(CUDA) == "CUDA 12080, cuDNN 90501"


class Binding:
    """What a session binds its inputs and outputs to, for a provider that is not here."""

    def __init__(self):
        self.told = []

    def bind_ortvalue_input(self, name, value):
        self.told.append((name, value))

    def bind_output(self, name, device):
        self.told.append((name, device))

    def synchronize_outputs(self):
        self.told.append("synchronised")


class Session:
    """A session of a GPU's provider, as far as its calls go."""

    def __init__(self):
        self.binding = Binding()

    def io_binding(self):
        return self.binding

    def get_outputs(self):
        return [type("Port", (), {"name": "y"})]

    def run_with_iobinding(self, binding):
        binding.told.append("ran")


def test_a_gpu_is_bound_to_device_tensors_and_waited_for(monkeypatch):
    monkeypatch.setattr(sessions, "_on_device", lambda value, device: (value, device))
    session = Session()
    request = SessionRequest(model="m", call_style="io_binding", provider="CUDAExecutionProvider")
    sessions._caller(session, {"x": 1}, request).infer()
    assert session.binding.told == [("x", (1, "cuda")), ("y", "cuda"), "ran", "synchronised"]


@pytest.fixture
def sessions_like(monkeypatch):
    """Have models opened by a session of onnxruntime's own that something befalls."""
    import onnxruntime

    made = []

    def use(**changed):
        plain = onnxruntime.InferenceSession

        def note(self, *given, **more):
            made.append(self)
            plain.__init__(self, *given, **more)

        kind = type("Session", (plain,), {"__init__": note, **changed})
        monkeypatch.setattr(onnxruntime, "InferenceSession", kind)
        return made

    return use


def test_a_provider_that_cannot_be_made_is_not_replaced(sessions_like, opened):
    import onnxruntime

    plain = onnxruntime.InferenceSession._create_inference_session

    def create(self, providers, *rest):
        if providers[0][0] == CUDA:
            raise RuntimeError("no device")
        plain(self, providers, *rest)

    sessions_like(_create_inference_session=create)
    with pytest.raises(RuntimeError, match="no device"):
        opened(CUDA)


def test_a_provider_that_fails_in_a_run_is_not_replaced(sessions_like, opened):
    from onnxruntime.capi.onnxruntime_pybind11_state import EPFail

    class Failing:
        def __init__(self, inner):
            self.inner = inner

        def run(self, *given):
            raise EPFail("lost")

        def __getattr__(self, name):
            return getattr(self.inner, name)

    made = sessions_like()
    session = opened(AZURE)
    session.expect_provider()
    made[-1]._sess = Failing(made[-1]._sess)
    with pytest.raises(EPFail):
        session.callers[0].infer()


def test_what_another_provider_ran_is_no_measurement(sessions_like, asking):
    import onnxruntime

    plain = onnxruntime.InferenceSession.run

    def run(self, *given):
        found = plain(self, *given)
        self._providers = ["CPUExecutionProvider"]
        return found

    arguments = asking(AZURE).to_json()
    instruments = measuring.prepare(arguments)
    assert measuring.work(arguments, instruments)[0]["queries"] > 0
    sessions_like(run=run)
    with pytest.raises(sessions.ProviderLostError, match=f"{AZURE} was requested, but CPU"):
        measuring.work(arguments, instruments)
    instruments.close()
    lost = children.Ending("raised", ["ProviderLostError", "…"])
    assert subjects._code(lost) == "ep-not-used"
    assert subjects._code(children.Ending("raised", ["ValueError", "…"])) == "raised"


@pytest.fixture
def asking(tmp_path):
    """What a child is asked of a small model under a provider."""

    def ask(provider):
        model = tmp_path / "model.onnx"
        model.write_bytes(samples.mlp())
        job = SimpleNamespace(work=tmp_path, stop=children.Stop())
        run_options = options.Options(
            provider=provider, timed_seconds=0.01, warmup_seconds=0.0, warmup_cap_seconds=0.0
        )
        subject = subjects.Subject(job, run_options, model, "model.onnx", [])
        session = subject.session()
        feeds.make(model, tmp_path / subject.name, session)
        return replace(subject.process("time", 1), models=(session,))

    return ask


@pytest.fixture
def opened(asking):
    def open_session(provider):
        request = asking(provider).leading
        values = stored.read(Path(request.inputs))
        return sessions.open_session(request, values, profiled=False)

    return open_session


@pytest.mark.parametrize(
    ("threads", "turn_seconds", "rests"), [(2, 0.02, True), (1, 0.02, False), (2, 0.0, False)]
)
def test_threads_rest_while_the_other_model_has_its_turn(threads, turn_seconds, rests):
    import onnxruntime

    request = SessionRequest(model="m", threads=threads, turn_seconds=turn_seconds, provider=CUDA)
    made = sessions._options(onnxruntime, request, profiled=False)
    try:
        said = made.get_session_config_entry("session.force_spinning_stop")
    except RuntimeError:
        said = "0"
    assert (said == "1") is rests


def test_no_other_file_of_a_job_is_followed(tmp_path):
    target = tmp_path / "target"
    target.write_text("untouched")
    (tmp_path / task.RECORD).symlink_to(target)
    job = type("Job", (), {"out": Path(tmp_path)})
    with pytest.raises(JobError, match="left a file"):
        task.write(job, task.RECORD, "{}")
    assert target.read_text() == "untouched"


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {"ports": 3, "source": "seeded", "batch": 1, "fixed_batch": 0},
        {"ports": [], "source": "seeded", "batch": True, "fixed_batch": 0},
        {"ports": [{"name": "x", "dtype": "float32", "shape": [-1]}], "source": "seeded"},
        {"ports": [{"name": "x", "dtype": "float32", "shape": [True]}], "source": "seeded"},
        [{}, {}],
        {"facts": {}, "profile": {}},
        {"facts": None, "profile": None},
    ],
)
def test_an_answer_of_another_shape_is_nobodys_word(answer):
    for kind in (answers.Prepared, answers.Profiled):
        with pytest.raises(JobError, match="has an unexpected format"):
            answers.read(kind, answer)
