"""Physics of a record: limits between its readings that hold for every machine, in one table.

Each rule has its name, its limit, the reason for the limit, and what to do where a record breaks
it. Limits are wide: they are to catch what cannot be, and not what is unlikely. Some need what the
hub alone knows (`Evidence`); without that they say nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations, pairwise
from typing import Any

from hub.protocol.vocabularies import ONNXRUNTIME, ONNXRUNTIME_WEB, OPENVINO
from runners.engine.benchmark import power, rank_correlation, releases
from runners.engine.benchmark import record as form
from runners.engine.benchmark.record import Document, Process

_ON_CPU = frozenset({"CPUExecutionProvider", "OpenVINO:CPU"})
_SUMMED_CALLS = frozenset({form.SINGLE_STREAM, form.MULTI_STREAM, form.OFFLINE})
# Samples of two processes from which their order is compared.
_LEAST_SAMPLES, _MOST_SAMPLES = 128, 4_000
_STANDARD_ERRORS, _SHIFTED, _MOST_LAG = 6.0, 1_000, 128
# Distances in nanoseconds at which values that happen to be near each other are counted.
_NEAR_NS = (*range(1, 129), 250, 500, 1_000)
# MACs of one core in one cycle by instruction sets: AMX on bytes; two units of 64 bytes with VNNI;
# two units of 32 bytes. Intel, Optimization Reference Manual, chapters 19 and 20.
_MACS_PER_CYCLE = (("amx_tile", 1024.0), ("avx512f", 128.0), ("", 64.0))


@dataclass(frozen=True, slots=True)
class Evidence:
    """A record, and what the hub knows of the model and of a run of its own.

    ``weight_bytes`` is the size of the model's files, ``macs`` those of one inference with the
    record's inputs, ``worker_ms`` the fastest inference of the hub's worker on one thread. Each is
    None where it is unknown.
    """

    record: Document
    weight_bytes: int | None = None
    macs: float | None = None
    worker_ms: float | None = None

    @property
    def environment(self) -> dict[str, Any]:
        """The machine as it reports itself."""
        return self.record["environment"]  # type: ignore[no-any-return]

    @property
    def is_on_cpu(self) -> bool:
        """Whether the nodes are claimed to have run on processors alone."""
        return self.record["provider"]["claimed"] in _ON_CPU

    @property
    def is_of_page(self) -> bool:
        """Whether a page of a browser measured, which sees little of its machine."""
        return bool(self.record["provider"]["runtime"] == ONNXRUNTIME_WEB)

    @property
    def threads(self) -> int:
        """The threads that one inference may use, 0 where that is unknown."""
        usable = self.environment.get("usable_cpus")
        return self.record["config"]["intra_op_threads"] or (usable if type(usable) is int else 0)

    def timed(self) -> Iterator[tuple[str, Process]]:
        """Each process with samples, and the prefix of its fields."""
        for place, process in enumerate(self.record["processes"]):
            if process["samples_ns"]:
                yield f"processes[{place}].", process


# The field that breaks a rule, its value, and what is wrong with it.
Breach = tuple[str, Any, str]
Test = Callable[[Evidence, float], Iterator[Breach]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A limit between readings: ``reason`` says why no machine goes beyond it."""

    name: str
    limit: float
    reason: str
    cure: str
    test: Test


def _power_floor(evidence: Evidence, limit: float) -> Iterator[Breach]:
    if evidence.record["power"]["provenance"] != "measured":
        return
    for spot, process in evidence.timed():
        joules, wall = math.fsum(process["meter_j"].values()), process["wall_s"]
        if not process["meter_j"] or not wall:
            continue
        used = process["cpu_time_s"]
        cores = max(1.0, used / wall) if not isinstance(used, str) else 1.0
        if joules / wall / cores < limit:
            watts = joules / wall / cores
            words = f"{joules:.3g} J in {wall:.3g} s are {watts:.2g} W for each busy core"
            yield f"{spot}meter_j", joules, words
            return


def _meter_in_guest(evidence: Evidence, _limit: float) -> Iterator[Breach]:
    declared = evidence.record["power"]
    is_measured = declared["provenance"] == "measured" and declared.get("method") == power.RAPL
    if is_measured and evidence.environment.get("virtualized") == "yes":
        yield "power.provenance", "measured", "the machine is a guest, which has no such meter"


def _build_of_version(evidence: Evidence, _limit: float) -> Iterator[Breach]:
    build = str(evidence.environment.get("runtime_build", ""))
    version = str(evidence.environment.get("runtime_version", ""))
    runtime = evidence.record["provider"]["runtime"]
    field = "environment.runtime_build"
    if runtime == OPENVINO and build[:1].isdigit() and not build.startswith(version):
        yield field, build[:80], f"it is not of version {version[:40]}"
    if runtime != ONNXRUNTIME:
        return
    commit = next(
        (
            part.strip().removeprefix("git-commit-id=")
            for part in build.split(",")
            if part.strip().startswith("git-commit-id=")
        ),
        "",
    )
    right = releases.COMMITS.get(version)
    if commit and right and not commit.startswith(right):
        yield field, build[:80], f"version {version} was released from commit {right}"
    other = next((name for name, own in releases.COMMITS.items() if commit.startswith(own)), "")
    if commit and other and other != version:
        yield field, build[:80], f"its commit is that of version {other}"


def _processor_share(evidence: Evidence, limit: float) -> Iterator[Breach]:
    if not evidence.is_on_cpu or evidence.record["config"]["scenario"] not in _SUMMED_CALLS:
        return
    for spot, process in evidence.timed():
        used, readings = process["cpu_time_s"], process["interference"]
        if isinstance(used, str):
            continue
        others = sum(
            value
            for name in ("psi_cpu_some", "foreign_cpu", "steal")
            if isinstance(value := readings[name], int | float)
        )
        least = process["wall_s"] * limit * max(0.25, 1 - others)
        if used < least:
            words = f"one call after another in {process['wall_s']:.3g} s uses at least {least:.3g}"
            yield f"{spot}cpu_time_s", used, f"{words} s of a processor"
            return


def _memory_floor(evidence: Evidence, limit: float) -> Iterator[Breach]:
    if evidence.is_of_page:
        return
    weights = evidence.weight_bytes or evidence.record["model"]["size"]
    least = limit + (weights / 2 if evidence.is_on_cpu else 0)
    for spot, process in evidence.timed():
        peak, floor = process["peak_rss_bytes"], process["floor_rss_bytes"]
        if isinstance(peak, str):
            continue
        if peak < least:
            words = f"a process with this runtime and these weights holds {least:,.0f} bytes"
            yield f"{spot}peak_rss_bytes", peak, words
            return
        if not isinstance(floor, str) and peak < floor:
            yield f"{spot}peak_rss_bytes", peak, f"the process held {floor:,} bytes before"
            return


def _all_processes(evidence: Evidence, limit: float) -> Iterator[Breach]:
    record, config = evidence.record, evidence.record["config"]
    ordinals = [process["ordinal"] for process in record["processes"]]
    if ordinals and ordinals != list(range(ordinals[0], ordinals[0] + len(ordinals))):
        yield "processes", ordinals[:20], "their numbers have gaps: some were left out"
        return
    if ordinals and ordinals[0] > 1:
        yield "processes", ordinals[0], "the first ones were left out"
        return
    if not any(process["samples_ns"] for process in record["processes"]):
        return
    planned, budget = config.get("processes"), config.get("budget_s")
    if type(planned) is not int or not isinstance(budget, int | float) or record["failure"]:
        return
    began, ended = (datetime.fromisoformat(record[name]) for name in ("started_at", "ended_at"))
    spent = (ended - began).total_seconds() + limit
    if 0 < len(ordinals) < planned and spent < budget:
        words = f"{planned} were to run, and their time of {budget:g} s was not used up"
        yield "processes", len(ordinals), words


def _own_samples(evidence: Evidence, limit: float) -> Iterator[Breach]:
    """Processes of which one rises and falls as another does, whatever noise was added.

    A pattern that the machine repeats agrees at other distances as well: that is no copy.
    """
    if evidence.is_of_page:
        return
    processes = [
        (spot, process["samples_ns"][:_MOST_SAMPLES])
        for spot, process in evidence.timed()
        if len(process["samples_ns"]) >= _LEAST_SAMPLES
    ]
    steps = [
        rank_correlation.ranks([after - before for before, after in pairwise(samples)])
        for _, samples in processes
    ]
    for first, second in combinations(range(len(processes)), 2):
        agreement = rank_correlation.correlation(steps[first], steps[second])
        count = min(len(steps[first]), len(steps[second]))
        if agreement <= limit or agreement * math.sqrt(count) <= _STANDARD_ERRORS:
            continue
        left, right = steps[first][:_SHIFTED], steps[second][:_SHIFTED]
        shifted = (
            max(
                rank_correlation.correlation(left[lag:], right),
                rank_correlation.correlation(left, right[lag:]),
            )
            for lag in range(2, _MOST_LAG)
        )
        if max(shifted) < agreement / 2:
            of = processes[first][0].rstrip(".")
            words = f"they rise and fall like those of {of} (Spearman {agreement:.2f})"
            yield f"{processes[second][0]}samples_ns", round(agreement, 3), words
            return


def _resampled(evidence: Evidence, limit: float) -> Iterator[Breach]:
    """Processes whose values are those of another, in any order and number.

    Values of two processes meet by chance as often as they nearly meet: at a distance of a few
    nanoseconds, or of a step of the clock. Drawn values meet without nearly meeting.
    """
    if evidence.is_of_page:
        return
    processes = [
        (spot, process["samples_ns"][:_MOST_SAMPLES])
        for spot, process in evidence.timed()
        if len(process["samples_ns"]) >= _LEAST_SAMPLES
    ]
    for (of, first), (spot, second) in combinations(processes, 2):
        values = set(first)
        equal = _share(second, values)
        if equal <= limit:
            continue
        near = max(_share(second, {value + away for value in values}) for away in _NEAR_NS)
        if equal > limit + near:
            words = f"{equal:.0%} of them are those of {of.rstrip('.')} to the nanosecond"
            yield f"{spot}samples_ns", round(equal, 3), f"{words}, and {near:.0%} by chance"
            return


def _share(samples: Sequence[int], values: set[int]) -> float:
    return sum(sample in values for sample in samples) / len(samples)


def _digest_bytes(evidence: Evidence, limit: float) -> Iterator[Breach]:
    named = [("provider.optimised_model_sha256", "optimised_model_sha256")]
    digests = [(field, evidence.record["provider"].get(name)) for field, name in named]
    digests += [
        (f"{spot}outputs.sha256", row["outputs"]["sha256"]) for spot, row in evidence.timed()
    ]
    for field, digest in digests:
        if not isinstance(digest, str) or len(digest) != 64:
            continue
        different = len({digest[place : place + 2] for place in range(0, 64, 2)})
        if different < limit:
            yield field, digest, f"its 32 bytes have {different} values"
            return


def _clock_of_governor(evidence: Evidence, _limit: float) -> Iterator[Breach]:
    environment = evidence.environment
    hidden = [process["clock_khz"] == form.NOT_EXPOSED for _, process in evidence.timed()]
    for name in ("governor", "turbo"):
        value = environment.get(name, form.NOT_EXPOSED)
        if value != form.NOT_EXPOSED and hidden and all(hidden):
            words = "where cpufreq tells it, the same folder tells the clock, which is not exposed"
            yield f"environment.{name}", value, words
            return


def _guest_kernel(evidence: Evidence, _limit: float) -> Iterator[Breach]:
    kernel = str(evidence.environment.get("kernel", ""))
    if evidence.environment.get("virtualized") == "no":
        for mark in ("-fc-", "-fc", "microsoft-standard-WSL", "-gvisor"):
            if mark in kernel:
                words = f"the kernel {kernel[:60]} is one of guests"
                yield "environment.virtualized", "no", words
                return


def _batch_of_inputs(evidence: Evidence, _limit: float) -> Iterator[Breach]:
    config = evidence.record["config"]
    firsts = {port["shape"][0] for port in config["inputs"] if port["shape"]}
    if config["batch"] > 1 and firsts and config["batch"] not in firsts:
        words = f"no input has that many rows: {', '.join(map(str, sorted(firsts)))}"
        yield "config.batch", config["batch"], words


def _macs_per_second(evidence: Evidence, limit: float) -> Iterator[Breach]:
    median = (evidence.record["stats"] or {}).get("p50_of_processes_ms")
    if not evidence.macs or not median:
        return
    most = limit * 1e3
    if evidence.is_on_cpu:
        if not evidence.threads:
            return
        isa = evidence.environment.get("isa") or []
        per_cycle = next(macs for name, macs in _MACS_PER_CYCLE if not name or name in isa)
        most = limit * per_cycle * evidence.threads / _MACS_PER_CYCLE[0][1]
    reached = evidence.macs / (median / 1e3)
    if reached > most:
        words = f"{evidence.macs:,.0f} MACs in {median:.3g} ms are {reached:.2g} a second"
        yield "stats.p50_of_processes_ms", median, f"{words}, and the machine can {most:.2g}"


def _worker_speed(evidence: Evidence, limit: float) -> Iterator[Breach]:
    median = (evidence.record["stats"] or {}).get("p50_of_processes_ms")
    if not evidence.worker_ms or not median or not evidence.is_on_cpu or not evidence.threads:
        return
    least = evidence.worker_ms / (limit * evidence.threads)
    if median < least:
        words = (
            f"a worker of the hub needs {evidence.worker_ms:.3g} ms on one thread, "
            f"{evidence.worker_ms / median:.0f} times as long"
        )
        yield "stats.p50_of_processes_ms", median, words


RULES: tuple[Rule, ...] = (
    Rule(
        "power-floor", 0.1,
        "Watts: a core that computes takes more than 0.1 W with its share of the package; the "
        "cores of phones take about as much.",
        "Send the joules that the meter counted in the timed part.",
        _power_floor,
    ),
    Rule(
        "meter-in-guest", 0,
        "A guest cannot read the energy counter of a processor: what it reads is its "
        "hypervisor's word.",
        "Leave out energy, or state watts as estimated.",
        _meter_in_guest,
    ),
    Rule(
        "build-of-version", 0,
        "A release is built from one commit, which its build states.",
        "Send version and build as the runtime states them.",
        _build_of_version,
    ),
    Rule(
        "processor-share", 0.25,
        "Share: a loop of calls computes all the time, less what neighbours took of its processor; "
        "on the busiest host a quarter of that is asked for.",
        "Send the processor time of the timed part.",
        _processor_share,
    ),
    Rule(
        "memory-floor", 16 << 20,
        "Bytes: an interpreter with a runtime holds more than 16 MiB, and half of the weights lie "
        "in memory while they are used, on processors.",
        "Send the peak memory of the process that was timed.",
        _memory_floor,
    ),
    Rule(
        "all-processes", 2.0,
        "Seconds of rounding: a run ends before its plan only when its time is used up. A "
        "changed plan of the run is not detected.",
        "Send every process of the run, whatever its figures are.",
        _all_processes,
    ),
    Rule(
        "samples-with-noise", 0.3,
        "Spearman's correlation of the steps between samples: noise of 2 % leaves 0.4 to 0.7 of a "
        "copy, processes of one machine have less than 0.1.",
        "Start a fresh process for each list of samples.",
        _own_samples,
    ),
    Rule(
        "samples-drawn", 0.5,
        "Share of values that two processes have in common beyond chance.",
        "Send the samples of each process as its clock gave them.",
        _resampled,
    ),
    Rule(
        "digest-bytes", 12,
        "Different values among 32 bytes: of a SHA-256 fewer occur less than once in 10²⁰ digests.",
        "Send the digests as `hub bench` computed them.",
        _digest_bytes,
    ),
    Rule(
        "clock-of-governor", 0,
        "Linux tells governor, boost and clock in one folder.",
        "Send governor, turbo and clock as the machine tells them.",
        _clock_of_governor,
    ),
    Rule(
        "guest-kernel", 0,
        "Kernels of microVMs and of WSL run in guests alone.",
        "Send `virtualized` as the processor's flags tell it.",
        _guest_kernel,
    ),
    Rule(
        "batch-of-inputs", 0,
        "A batch is the number of rows of some input.",
        "Send the shapes of the inputs that were run.",
        _batch_of_inputs,
    ),
    Rule(
        "macs-per-second", 2.5e13,
        "MACs in one second: AMX does 1,024 in a cycle of a core, at 6 GHz, and Winograd's "
        "convolutions save three quarters; of other instruction sets in proportion. A board has a "
        "thousand times as many.",
        "Send the samples of whole inferences with the inputs of the record.",
        _macs_per_second,
    ),
    Rule(
        "worker-speed", 16,
        "Times: of two processors in use one is at most 16 times as fast on one thread (clock 3, "
        "instructions per cycle 2, vectors 2 to 3), and threads at most multiply that.",
        "Send the samples of whole inferences with the inputs of the record.",
        _worker_speed,
    ),
)  # fmt: skip


def breaches(evidence: Evidence) -> Iterator[tuple[Rule, Breach]]:
    """Each rule that the evidence breaks, and where."""
    for rule in RULES:
        for breach in rule.test(evidence, rule.limit):
            yield rule, breach
