"""Rules between the fields of a record: what no machine can have measured breaks one of them.

`verification` makes the sums again; this module asks whether the readings are possible at all. Each
broken rule names its field, what the rule says and what to do. A record that breaks none may still
be invented: how far somebody is trusted is decided by the hub (docs/benchmarks.md, "Trust").
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations, pairwise
from typing import Any

from hub.protocol.vocabularies import ONNXRUNTIME, ONNXRUNTIME_WEB, OPENVINO
from runners.engine.benchmark import physics, power, processors, rank_correlation
from runners.engine.benchmark import record as form
from runners.engine.benchmark.record import Document, Process

# Nanoseconds. A bound model of one Identity node takes 1,800 in ONNX Runtime 1.31 on a Zen 5 core.
LEAST_SAMPLE_NS = 500
# What two readings of a clock take: a CPython loop needs more than the first, a host without a
# clock in user space less than the second.
LEAST_TIMER_NS, MOST_TIMER_NS = 10, 20_000
# Below so many readings of the clock, equal samples are a matter of its steps.
FINE = 100
_COPIED = 0.99
_WINDOW, _SHARED, _HASHED = 32, 0.1, 4_000
_LOOKED_AT, _LAGS = 256, 64
_MOST_EQUAL = 0.5
# Rounding of the stopwatch to nanoseconds, and of processor time read beside it for each turn.
_ROUNDING_S, _CPU_SHARE, _CPU_S = 2e-6, 0.02, 0.02
_CLOCK_S = 2.0
PAGE = ONNXRUNTIME_WEB
# Which providers each runtime has; nothing else can have run a node.
PROVIDERS = {
    ONNXRUNTIME: frozenset(
        {
            "CPUExecutionProvider",
            "CUDAExecutionProvider",
            "TensorrtExecutionProvider",
            "NvTensorRTRTXExecutionProvider",
            "ROCMExecutionProvider",
            "DmlExecutionProvider",
            "MIGraphXExecutionProvider",
            "OpenVINOExecutionProvider",
            "QNNExecutionProvider",
            "DnnlExecutionProvider",
            "XnnpackExecutionProvider",
            "CoreMLExecutionProvider",
            "ACLExecutionProvider",
            "ArmNNExecutionProvider",
            "AzureExecutionProvider",
            "CANNExecutionProvider",
            "VitisAIExecutionProvider",
            "WebGpuExecutionProvider",
        }
    ),
    OPENVINO: frozenset({"OpenVINO:CPU"}),
    PAGE: frozenset({"WasmExecutionProvider"}),
}
_ON_CPU = "CPUExecutionProvider"


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that a record breaks: its name, the field, what the record says and what is wrong.

    ``computed`` is what comes out, where the record says something else (`verification`).
    """

    rule: str
    field: str
    value: Any
    message: str
    cure: str
    computed: Any = None


def broken(record: Document, where: str = "") -> Iterator[Broken]:
    """The rules that one record breaks, sweeps left out; ``where`` is the prefix of its fields.

    Asks for a record in shape (`record_shape.check`).
    """
    yield from _of_runtime(record, where)
    yield from _of_nodes(record, where)
    for name, value, words in processors.contradictions(record["environment"]):
        cure = "Send the processor as reported by /proc/cpuinfo."
        yield Broken("processor", f"{where}environment.{name}", value, words, cure)
    yield from _of_power(record, where)
    yield from _of_span(record, where)
    finished = []
    for place, process in enumerate(record["processes"]):
        spot = f"{where}processes[{place}]."
        if process["samples_ns"]:
            finished.append((spot, process))
            yield from _of_clock(process, record, spot)
            yield from _of_wall(process, record, spot)
            yield from _of_cpu_time(process, record, spot)
            yield from _of_outputs(process, record, spot)
            yield from _of_chance(process, record, spot)
    yield from _of_copies(finished)
    for rule, (field, value, words) in physics.breaches(physics.Evidence(record)):
        yield Broken(rule.name, f"{where}{field}", value, words, rule.cure)


def _of_clock(process: Process, record: Document, spot: str) -> Iterator[Broken]:
    if record["provider"]["runtime"] == PAGE:
        return  # a browser rounds its clock on purpose, to steps that it tells
    # A sample is the difference of two readings of the clock: it is at least as long as these take.
    timer, least = process["timer_ns"], min(process["samples_ns"])
    if not LEAST_TIMER_NS <= timer <= MOST_TIMER_NS:
        words = f"two readings of the clock take {LEAST_TIMER_NS} to {MOST_TIMER_NS:,} ns"
        cure = "Measure on Linux with the system clock, as `hub bench` does."
        yield Broken("clock-resolution", f"{spot}timer_ns", timer, words, cure)
    floor = max(LEAST_SAMPLE_NS, timer)
    if least < floor:
        words = (
            f"a sample of {least} ns is below {floor:g} ns, the least that a call of a runtime and "
            "two readings of the clock take"
        )
        cure = (
            "Send the unmodified samples in nanoseconds. If the model is that fast, use a larger "
            "--batch."
        )
        yield Broken("clock-resolution", f"{spot}samples_ns", least, words, cure)


def _of_wall(process: Process, record: Document, spot: str) -> Iterator[Broken]:
    samples, wall = process["samples_ns"], process["wall_s"] + _ROUNDING_S
    cure = "Send the samples and the length of the timed part of the same process."
    if max(samples) / 1e9 > wall:
        words = f"one sample is longer than the timed part, {process['wall_s']:.9g} s"
        yield Broken("samples-within-wall", f"{spot}wall_s", process["wall_s"], words, cure)
    # At random moments a query waits for those before it: their times overlap.
    elif record["config"]["scenario"] != form.SERVER and (total := sum(samples) / 1e9) > wall:
        words = f"the samples add up to {total:.9g} s, the timed part has {process['wall_s']:.9g} s"
        yield Broken("samples-within-wall", f"{spot}wall_s", process["wall_s"], words, cure)


def _of_cpu_time(process: Process, record: Document, spot: str) -> Iterator[Broken]:
    used = process["cpu_time_s"]
    if isinstance(used, str):
        return
    usable = record["environment"].get("usable_cpus")
    threads = record["config"]["intra_op_threads"] or (usable if type(usable) is int else 0)
    if not threads:
        return
    # Each query in flight beside the first has a thread of its own, and so has a GPU's driver.
    threads += record["config"].get("concurrency", 1) - 1
    threads += record["provider"]["claimed"] not in (_ON_CPU, "OpenVINO:CPU")
    # Processor time is read beside the stopwatch, hence the allowance.
    most = process["wall_s"] * threads
    if used > most * (1 + _CPU_SHARE) + _CPU_S:
        wall = f"{process['wall_s']:.6g} s"
        words = f"{threads} threads have at most {most:.6g} s of processor time in {wall}"
        cure = (
            "Send the CPU time of the timed part only, and the number of threads in "
            "config.intra_op_threads."
        )
        yield Broken("cpu-time-within-wall", f"{spot}cpu_time_s", used, words, cure)
    elif not used:
        words = "an inference takes processor time"
        cure = f'Write "{form.NOT_EXPOSED}" where the machine does not tell it.'
        yield Broken("cpu-time-within-wall", f"{spot}cpu_time_s", used, words, cure)


def _of_outputs(process: Process, record: Document, spot: str) -> Iterator[Broken]:
    if record["provider"]["runtime"] == PAGE:
        return
    sha256 = process["outputs"]["sha256"]
    if sha256 == form.NOT_EXPOSED:
        words = "a process that was timed has the digest of the outputs of its last timed inference"
        cure = "Measure with the `hub bench` of this version, which checks the outputs."
        yield Broken("outputs-digest", f"{spot}outputs.sha256", sha256, words, cure)


def _of_chance(process: Process, record: Document, spot: str) -> Iterator[Broken]:
    """Times of a machine scatter: they are not equal, do not grow by equal steps, do not repeat."""
    samples, field = process["samples_ns"], f"{spot}samples_ns"
    cure = "Send every sample in its order, as the clock gave it."
    is_coarse = record["provider"]["runtime"] == PAGE
    if len(samples) >= 64 and len(set(samples)) < 3 and not is_coarse:
        words = f"{len(samples)} samples have {len(set(samples))} values"
        yield Broken("samples-scatter", field, len(set(samples)), words, cure)
        return
    if not _is_fine(process) or len(samples) < 10:
        return
    for what, values in (("samples", samples), ("steps between samples", _steps(samples))):
        share = Counter(values).most_common(1)[0][1] / len(values)
        if share > _MOST_EQUAL:
            words = f"{share:.0%} of the {what} are equal to the nanosecond"
            yield Broken("samples-scatter", field, round(share, 4), words, cure)
            return
    if (lag := _repeats(samples)) is not None:
        words = f"the samples repeat themselves every {lag} samples"
        yield Broken("samples-once", field, lag, words, cure)


def _of_copies(finished: Sequence[tuple[str, Process]]) -> Iterator[Broken]:
    """Each process has samples of its own."""
    cure = "Start a fresh process for each list of samples, and send each list once."
    # Three kinds of copies: the same samples in any order, runs of them in a row, and the same
    # course with noise added or another scale, which the ranks of the steps keep.
    sets = [
        frozenset(_windows(process["samples_ns"])) if _is_fine(process) else None
        for _, process in finished
    ]
    ranks = [
        rank_correlation.ranks(_steps(process["samples_ns"][:_LOOKED_AT]))
        if _is_fine(process)
        else ()
        for _, process in finished
    ]
    ordered = [sorted(process["samples_ns"]) for _, process in finished]
    for first, second in combinations(range(len(finished)), 2):
        field = f"{finished[second][0]}samples_ns"
        of = finished[first][0].rstrip(".")
        count = len(ordered[first])
        if ordered[first] == ordered[second] and (count >= 64 or (sets[first] and count >= 8)):
            words = f"they are the samples of {of}"
            yield Broken("samples-once", field, of, words, cure)
        elif _shared(sets[first], sets[second]) > _SHARED:
            words = f"runs of {_WINDOW} of them are those of {of}"
            yield Broken("samples-once", field, of, words, cure)
        elif rank_correlation.correlation(ranks[first], ranks[second]) > _COPIED:
            words = f"they rise and fall like those of {of}"
            yield Broken("samples-once", field, of, words, cure)
        else:
            continue
        return  # of many copies one says it


def _of_runtime(record: Document, where: str) -> Iterator[Broken]:
    """The runtime and its providers are known ones, in the record and in its environment."""
    provider, runtime = record["provider"], record["provider"]["runtime"]
    field, cure = f"{where}provider.", "Send runtime and providers as the runtime names them."
    providers = PROVIDERS.get(runtime)
    if providers is None:
        words = f"the runtimes are {', '.join(PROVIDERS)}"
        yield Broken("runtime", f"{field}runtime", runtime, words, cure)
        return
    if (other := record["environment"].get("runtime", runtime)) != runtime:
        words = f"the record is of {runtime}, its environment of another runtime"
        yield Broken("runtime", f"{where}environment.runtime", other, words, cure)
    for name, names in (
        ("claimed", {provider["claimed"]}),
        ("nodes_by_provider", set(provider["nodes_by_provider"])),
        ("kernels_by_provider", set(provider["kernels_by_provider"])),
    ):
        if strange := sorted(names - providers):
            words = f"{runtime} has no provider {strange[0][:60]}"
            yield Broken("provider-of-nodes", f"{field}{name}", strange[0], words, cure)
            return


def _of_nodes(record: Document, where: str) -> Iterator[Broken]:
    """Which provider ran the nodes: the claimed one holds some, and kernels ran where nodes are."""
    provider, field = record["provider"], f"{where}provider."
    claimed, nodes = provider["claimed"], provider["nodes_by_provider"]
    kernels = provider["kernels_by_provider"]
    if provider["runtime"] == PAGE or not record["processes"] or record["failure"]:
        return  # a page cannot see where nodes are; of what did not run nothing is claimed
    others = any(count for name, count in nodes.items() if name != claimed)
    strange = sorted(set(kernels) - set(nodes) - {_ON_CPU})
    stray = _stray(record, set(kernels) | set(nodes) | {_ON_CPU})
    gpu = record["environment"].get("gpu_model", form.NOT_APPLICABLE)
    idle = kernels and not kernels.get(claimed, {}).get("count")
    for fails, place, value, words in (
        (
            not nodes.get(claimed),
            f"{field}nodes_by_provider",
            nodes,
            f"{claimed} is claimed and holds no node",
        ),
        (idle, f"{field}kernels_by_provider", kernels, f"{claimed} is claimed and ran no kernel"),
        (
            strange,
            f"{field}kernels_by_provider",
            kernels,
            f"{strange[:1]} ran kernels and holds no node",
        ),
        (stray, f"{where}per_operator", stray, f"a node of {stray} is listed, which holds none"),
        (
            provider["partial"] is not others,
            f"{field}partial",
            provider["partial"],
            "a run is partial if and only if another provider runs nodes",
        ),
        (
            claimed in form.GPU_PROVIDERS and gpu == form.NOT_APPLICABLE,
            f"{where}environment.gpu_model",
            gpu,
            f"{claimed} runs on a GPU, and the environment names none",
        ),
    ):
        if fails:
            cure = (
                "Name the provider that ran the nodes; to measure another one use --provider on a "
                "machine that has it."
            )
            yield Broken("provider-of-nodes", place, value, words, cure)
            return


def _stray(record: Document, providers: set[str]) -> str:
    """A provider of some listed operator or node that neither holds nodes nor ran kernels."""
    profile = record["per_operator"]
    nodes = profile.get("nodes")
    rows = [*profile["operators"], *(nodes if isinstance(nodes, list) else [])]
    named = [row.get("provider", _ON_CPU) for row in rows if isinstance(row, dict)]
    return next((str(name)[:60] for name in named if name not in providers and name != ""), "")


def _of_power(record: Document, where: str) -> Iterator[Broken]:
    declared, grid = record["power"], record["grid"]
    if words := power.contradiction(declared, record["provider"]["claimed"]):
        cure = (
            "Use a meter that is known, state watts (estimated) or leave out energy (none): "
            f"{', '.join(sorted(power.METERS))}."
        )
        yield Broken("known-meter", f"{where}power", declared.get("method"), words, cure)
    if declared["provenance"] == "measured":
        meters = set(declared.get("meters", ()))
        for place, process in enumerate(record["processes"]):
            if process["meter_j"] and set(process["meter_j"]) != meters:
                words = f"the meters of the record are {', '.join(sorted(meters))}"
                cure = "Read the same meters in each process, or none."
                spot = f"{where}processes[{place}].meter_j"
                yield Broken("known-meter", spot, sorted(process["meter_j"]), words, cure)
                break
    if grid is not None and grid != power.known_grid(grid["region"]):
        words = f"the table of grids has no such row for the region {grid['region'][:40]!r}"
        cure = "Name a region of the table (--region FRA), or leave out carbon."
        yield Broken("known-grid", f"{where}grid", grid["region"], words, cure)


def _of_span(record: Document, where: str) -> Iterator[Broken]:
    """All processes ran one after another, between the beginning and the end of the record."""
    began, ended = (datetime.fromisoformat(record[name]) for name in ("started_at", "ended_at"))
    span = (ended - began).total_seconds() + _CLOCK_S
    spent = math.fsum(process["wall_s"] + process["warmup_s"] for process in record["processes"])
    if spent > span:
        words = f"its processes took {spent:.6g} s, and it has {max(span - _CLOCK_S, 0):.6g} s"
        cure = "Send the times at which the measurement began and ended, in UTC."
        ended_at = record["ended_at"]
        yield Broken("processes-within-record", f"{where}ended_at", ended_at, words, cure)


def _is_fine(process: Process) -> bool:
    """Whether a typical sample is many steps of the clock, so that equal samples are suspicious."""
    samples = sorted(process["samples_ns"])
    return bool(samples[len(samples) // 2] >= FINE * max(process["timer_ns"], 1))


def _steps(samples: Sequence[int]) -> list[int]:
    return [after - before for before, after in pairwise(samples)]


def _windows(samples: Sequence[int]) -> Iterator[int]:
    """A hash of each run of samples, of the first few thousand."""
    for place in range(min(len(samples), _HASHED) - _WINDOW + 1):
        yield hash(tuple(samples[place : place + _WINDOW]))


def _shared(first: frozenset[int] | None, second: frozenset[int] | None) -> float:
    """The share of the runs of the smaller set that the other one has, too."""
    if not first or not second:
        return 0.0
    return len(first & second) / min(len(first), len(second))


def _repeats(samples: Sequence[int]) -> int | None:
    """The distance at which the samples repeat themselves; None where they do not.

    Exact repetition is looked for in all of them, repetition with added noise (autocorrelation of
    the ranks of the steps) in the first few hundred.
    """
    # Windows that occurred before vote for the distance to the last occurrence; the distance with
    # most votes is the period.
    places: dict[int, int] = {}
    again: Counter[int] = Counter()
    for place, window in enumerate(_windows(samples)):
        if window in places:
            again[place - places[window]] += 1
        places[window] = place
    if again and again.total() > _SHARED * (min(len(samples), _HASHED) - _WINDOW + 1):
        return again.most_common(1)[0][0]
    ranks = rank_correlation.ranks(_steps(samples[: _LOOKED_AT + 1]))
    for lag in range(2, min(_LAGS, len(ranks) - _WINDOW) + 1):
        if rank_correlation.correlation(ranks[:-lag], ranks[lag:]) > _COPIED:
            return lag
    return None
