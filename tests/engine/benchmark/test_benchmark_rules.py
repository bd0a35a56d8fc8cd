"""Records that no machine can have made: each is named with its rule, field and cure."""

from __future__ import annotations

import random

import pytest

from runners.engine.benchmark import environments, power, processors, rules, verification
from runners.engine.benchmark import record as form
from tests.engine.benchmark import timings

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"


def all_of(make):
    return [make(ordinal) for ordinal in range(1, 11)]


def of_samples(ordinal, samples, **changed):
    """A process with these samples whose other fields fit them."""
    seconds = sum(samples) / 1e9
    times = {"wall_s": seconds, "cpu_time_s": seconds}
    counts = {"queries": len(samples), "inferences": len(samples)}
    return timings.process(ordinal, **times, **counts, samples_ns=list(samples), **changed)


def provider(**changed):
    return timings.record()["provider"] | changed


def environment(**changed):
    return timings.ENVIRONMENT | changed


def grown(ordinal, count=200):
    draw = random.Random(ordinal)
    return [int(1e6 * draw.uniform(0.99, 1.01)) for _ in range(count)]


def copied():
    """Ways to make ten processes of the samples of one."""
    one = grown(1)
    mixed = sorted(one)
    return {
        "the same": [of_samples(k, one) for k in range(1, 11)],
        "in another order": [
            of_samples(k, random.Random(k).sample(mixed, len(mixed))) for k in range(1, 11)
        ],
        "shifted": [of_samples(k, one[7 * k :] + one[: 7 * k]) for k in range(1, 11)],
        "scaled": [of_samples(k, [sample + 1000 * k for sample in one]) for k in range(1, 11)],
        "with noise": [
            of_samples(k, [sample + random.Random(k + sample).randint(-50, 50) for sample in one])
            for k in range(1, 11)
        ],
    }


def repeated():
    """Ways to make many samples of a process from few."""
    few = grown(1, 50)
    noise = random.Random(3)
    return {
        "the same": few * 20,
        "with noise": [sample + noise.randint(-30, 30) for sample in few * 20],
    }


MEASURED = {"provenance": "measured", "method": power.RAPL, "meters": ["intel-rapl:0"]}
EMPTY_GRID = {"region": "", "g_per_kwh": 0, "year": 0, "source": ""}
METERED = {"meter_j": {"intel-rapl:0": 1.0}}
CUDA_NODES = {CUDA: {"count": 3, "time_ms": 1.0}}


def impossible():
    """Each with the rule that it breaks and the field that shows it; its sums are right."""
    samples, outputs = "processes[0].samples_ns", "processes[0].outputs.sha256"
    nodes, record = "provider.nodes_by_provider", timings.record

    def only(name, /, **changed):
        return record(**{name: changed})

    return {
        "1 ns": (
            "clock-resolution", samples,
            record(all_of(lambda k: of_samples(k, [1] * 200, session_load_ms=1.0))),
        ),
        "below the clock": (
            "clock-resolution", samples,
            record(all_of(lambda k: timings.process(k, 0.004, timer_ns=6000.0))),
        ),
        "no clock": (
            "clock-resolution", "processes[0].timer_ns",
            record(all_of(lambda k: timings.process(k, timer_ns=0.0))),
        ),
        "samples twice the wall": (
            "samples-within-wall", "processes[0].wall_s",
            record(all_of(lambda k: timings.process(k, wall_s=0.1, cpu_time_s=0.1))),
        ),
        "one sample above the wall": (
            "samples-within-wall", "processes[0].wall_s",
            record(
                all_of(lambda k: timings.process(k, samples=1, wall_s=0.0005, cpu_time_s=0.0005))
            ),
        ),
        "CPU time ten times the wall": (
            "cpu-time-within-wall", "processes[0].cpu_time_s",
            record(all_of(lambda k: timings.process(k, cpu_time_s=2.0))),
        ),
        "no CPU time": (
            "cpu-time-within-wall", "processes[0].cpu_time_s",
            record(all_of(lambda k: timings.process(k, cpu_time_s=0.0))),
        ),
        "constant": (
            "samples-scatter", samples,
            record(all_of(lambda k: of_samples(k, [1_000_000 + k] * 200))),
        ),
        "equal steps": (
            "samples-scatter", samples,
            record(all_of(lambda k: of_samples(k, range(1_000_000, 1_200_000, 1000 + k)))),
        ),
        **{
            f"copied: {name}": ("samples-once", "processes[1].samples_ns", record(processes))
            for name, processes in copied().items()
        },
        **{
            f"repeated: {name}": (
                "samples-once", samples,
                record([of_samples(1, values), *map(timings.process, (2, 3))]),
            )
            for name, values in repeated().items()
        },
        "CUDA over CPU nodes": (
            "provider-of-nodes", nodes,
            record(provider=provider(claimed=CUDA), environment=environment(gpu_model="H100")),
        ),
        "CUDA nodes, CPU kernels": (
            "provider-of-nodes", "provider.kernels_by_provider",
            record(provider=provider(claimed=CUDA, nodes_by_provider={CUDA: 3})),
        ),
        "CUDA without a GPU": (
            "provider-of-nodes", "environment.gpu_model",
            record(
                provider=provider(
                    claimed=CUDA, nodes_by_provider={CUDA: 3}, kernels_by_provider=CUDA_NODES
                )
            ),
        ),
        "CUDA nodes listed on the CPU": (
            "provider-of-nodes", "per_operator",
            record(
                per_operator={
                    "status": "profiled",
                    "operators": [{"operator": "Gemm", "provider": CUDA}],
                }
            ),
        ),
        "no partial run": (
            "provider-of-nodes", "provider.partial", record(provider=provider(partial=True)),
        ),
        "an unknown provider": (
            "provider-of-nodes", "provider.claimed", record(provider=provider(claimed="Quantum")),
        ),
        "an unknown runtime": (
            "runtime", "provider.runtime", record(provider=provider(runtime="x")),
        ),
        "two runtimes": (
            "runtime", "environment.runtime", record(environment=environment(runtime="openvino")),
        ),
        "AVX-512 on Haswell": (
            "processor", "environment.isa",
            record(
                environment=environment(
                    cpu_model="Intel(R) Core(TM) i7-4770 CPU @ 3.40GHz", cpu_family="6",
                    cpu_model_number="60", isa=["avx2", "fma", "avx512f"],
                )
            ),
        ),
        "more processors than there are": (
            "processor", "environment.usable_cpus",
            record(environment=environment(usable_cpus=64, logical_cpus=4)),
        ),
        "measured by TDP x load": (
            "known-meter", "power",
            record(
                all_of(lambda k: timings.process(k, **METERED)),
                power=MEASURED | {"method": "TDP x load"},
            ),
        ),
        "a meter of its own": (
            "known-meter", "power",
            record(
                all_of(lambda k: timings.process(k, meter_j={"plug": 1.0})),
                power=MEASURED | {"meters": ["plug"]},
            ),
        ),
        "other meters than told": (
            "known-meter", "processes[0].meter_j",
            record(all_of(lambda k: timings.process(k, meter_j={"plug": 1.0})), power=MEASURED),
        ),
        "a core of a megawatt": (
            "known-meter", "power",
            only(
                "power", provenance="estimated", method=power.BY_CPU_TIME, watts_per_core=1e6,
                source="me",
            ),
        ),
        "an empty grid": ("known-grid", "grid", only("grid", **EMPTY_GRID)),
        "a grid of its own": (
            "known-grid", "grid", only("grid", **power.grid("FRA") | {"g_per_kwh": 1.0}),
        ),
        "more time than there was": (
            "processes-within-record", "ended_at", record(ended_at="2026-11-22T00:00:01Z"),
        ),
        "no outputs": (
            "outputs-digest", outputs,
            record(
                all_of(
                    lambda k: timings.process(
                        k,
                        outputs=dict.fromkeys(("sha256", "repeat"), form.NOT_EXPOSED)
                        | {"tensors": []},
                    )
                )
            ),
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", impossible())
def test_what_no_machine_can_have_measured_is_named(name):
    rule, field, record = impossible()[name]
    found = verification.problems(record)
    assert (found[0].rule, found[0].field) == (rule, field), found
    assert found[0].message
    assert found[0].cure


def test_what_machines_do_breaks_no_rule():
    """Coarse clocks with fast models, drift, two levels of speed, threads and thinned samples."""
    draw = random.Random(0)

    def of(values, **changed):
        return timings.record([of_samples(k, values(k), **changed) for k in range(1, 6)])

    made = {
        "two microseconds, clock of 10 ns": of(
            lambda _: [draw.choice((1830, 1840, 1850)) for _ in range(500)], timer_ns=60.0
        ),
        "ever slower": of(lambda _: [int(1e6 + 100 * k + draw.gauss(0, 900)) for k in range(500)]),
        "two levels in turn": of(
            lambda _: [int((1e6, 2e6)[k % 2] + draw.gauss(0, 900)) for k in range(500)]
        ),
        "some far out": of(lambda _: [int(1e6 * draw.lognormvariate(0, 0.5)) for _ in range(500)]),
    }
    threads = timings.record()["config"] | {"intra_op_threads": 4}
    made["four threads"] = timings.record(
        [timings.process(k, cpu_time_s=0.75) for k in range(1, 11)], config=threads
    )
    for name, record in made.items():
        assert verification.problems(record) == [], name


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"cpu_model": "AMD Ryzen 5 3600", "cpu_family": "23", "isa": ["avx2", "avx512f"]}, "isa"),
        ({"cpu_model": "AMD EPYC 9654", "cpu_family": "25", "isa": ["amx_tile"]}, "isa"),
        ({"cpu_model": "AMD EPYC 9654", "cpu_family": "6"}, "cpu_family"),
        ({"cpu_model": "Intel(R) Xeon(R)", "isa": ["asimd"]}, "isa"),
        ({"cpu_model": "Intel(R) Xeon(R)", "machine": "aarch64"}, "machine"),
        ({"isa": ["avx512_vnni"]}, "isa"),
        ({"isa": ["avx2", "asimd"]}, "isa"),
        (
            {
                "cpu_model": "Intel(R) Xeon(R) Platinum 8275CL", "cpu_family": "6",
                "cpu_model_number": "85", "isa": ["avx2", "avx512f", "amx_tile"],
            },
            "isa",
        ),
    ],
)  # fmt: skip
def test_a_processor_that_contradicts_itself_is_named(said, field):
    assert [name for name, _, _ in processors.contradictions(said)] == [field]


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"cpu_model": "AMD EPYC", "cpu_family": "26", "isa": ["avx2", "avx512f", "avx512_bf16"]},
        {"cpu_model": "Genuine Intel(R) CPU 0000", "cpu_family": "99999", "isa": ["avx2"]} | {
            "cpu_family": "6", "cpu_model_number": "999", "isa": ["avx2", "avx512f", "amx_tile"],
        },
        {"cpu_model": "Intel(R) Xeon(R) Processor", "cpu_family": "6", "virtualized": "yes"} | {
            "cpu_model_number": "167", "isa": ["avx2", "avx512f", "amx_bf16", "amx_tile"],
        },
        {"cpu_model": "AMD EPYC Processor", "cpu_family": "23", "virtualized": "yes"} | {
            "isa": ["avx2", "avx512f"],
        },
        {"cpu_model": "arm 0x41 0xd0c", "machine": "aarch64", "isa": ["asimd", "asimddp"]},
        {"cpu_model": "not-exposed", "usable_cpus": 2, "logical_cpus": "not-exposed"},
    ],
)  # fmt: skip
def test_a_processor_that_may_be_is_believed(said):
    assert list(processors.contradictions(said)) == []


def test_this_machine_breaks_no_rule_of_processors():
    assert list(processors.contradictions(environments._processor([0]))) == []


def test_a_page_has_a_clock_of_its_own():
    environment_ = environment(runtime=rules.PAGE)
    told = provider(
        runtime=rules.PAGE, requested=["WasmExecutionProvider"], claimed="WasmExecutionProvider",
        nodes_by_provider={}, kernels_by_provider={},
    )  # fmt: skip
    coarse = [
        of_samples(k, [100_000 * (10 + (k + j) % 2) for j in range(80)], timer_ns=1e5)
        for k in range(1, 2)
    ]
    record = timings.record(coarse, provider=told, environment=environment_)
    assert verification.problems(record) == []
