"""What the first evidence of a folder of models costs, beside the bare runs in ONNX Runtime.

A hub of its own with embedded defaults gets every model of the folder by `hub.push`. It is measured
until each published version has its first evidence: check, upgrade, conformance on ONNX Runtime and
one light benchmark. The processor time of a job is that of its worker, of the fork server and of
all their children. Beside it stands the processor time of the same work done bare: the original
loaded for the check, and loaded and run on the inputs of the proofs as it is, again, and without
optimisation; the upgraded model loaded and run once; and of the benchmark what its record says of
loading, warming up and timed inferences. That is without imports, sandbox, files, comparisons and
the reference interpreter.

From the same figures follows how long it all takes on quiet cores: proofs on all of them at once,
then one benchmark after another, each with its windows of timing as long as they were here and all
else as long as its processor time. The two parts do not overlap in it, though they may.

    HUB_MODEL_CORPUS=FOLDER python benchmarks/proving.py
    python benchmarks/proving.py FOLDER --models 10 --no-bench
    python benchmarks/proving.py FOLDER --engine --no-certificates

Each model is a folder with a `model.onnx`. Use the processor time where other programs run beside.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


if TYPE_CHECKING:
    from collections.abc import Iterator

LOOK_SECONDS = 2.0
TICKS = os.sysconf("SC_CLK_TCK")
EVIDENCE = ("check", "upgrade", "conformance", "benchmark")
# Bare seconds of sessions of an upgrade that are not counted as its own.
MORE = "more"
IMPORT = 5000
CORES = 4
# How long a light benchmark looks at a host that is at rest.
QUIET_SECONDS = 0.5
# `order.FIRST`: the priority of first evidence; what somebody waits for has a lower number.
FIRST = 4
CARD = "---\nlicense: other\n---\n# {name}\n"


def processor_seconds(pid: int) -> float:
    """User and system time of a process and of all children that it has reaped."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, words[11:15])) / TICKS


def tree(pid: int) -> Iterator[int]:
    """A process and its descendants that live."""
    yield pid
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from tree(int(child))


def tree_seconds(pid: int) -> float:
    total = 0.0
    for one in tree(pid):
        with contextlib.suppress(OSError):
            total += processor_seconds(one)
    return total


def work(log: str, pools: list[str]) -> None:
    """An embedded worker that notes the processor time of each job it does."""
    import django

    django.setup()
    from django.conf import settings

    import hub.server.celery  # noqa: F401
    from hub.server.serve import make_locale
    from runners import pools as names
    from runners.workers import worker

    make_locale(Path(settings.HUB_HOME))
    plain = worker.execute

    def execute(job: Any, sandbox: Any) -> None:
        before, began = tree_seconds(os.getpid()), time.time()
        plain(job, sandbox)
        spent = tree_seconds(os.getpid()) - before
        row = {
            "job": str(job.pk),
            "kind": job.kind,
            "model": str(job.version.model) if job.version else "",
            "options": {key: job.input.get(key) for key in ("runtime", "checks", "target")},
            "priority": job.priority,
            "processor": spent,
            "began": began,
            "ended": time.time(),
        }
        with Path(log).open("a") as file:
            print(json.dumps(row), file=file)

    worker.execute = execute
    worker.Worker(pools or names.EMBEDDED).run()


class Place(NamedTuple):
    """A hub, its workers and where these note their jobs."""

    home: Path
    address: str
    token: str
    processes: dict[str, int]
    log: Path

    def jobs(self) -> list[dict[str, Any]]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines]

    def is_first(self, job: dict[str, Any]) -> bool:
        return job["kind"] in EVIDENCE and job["priority"] <= FIRST


@contextlib.contextmanager
def running(command: list[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that ends with the block."""
    process = subprocess.Popen(command, text=True, **options)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:  # a worker ends the job in hand first
            process.kill()
            process.wait()


@contextlib.contextmanager
def hub(base: Path, workers: list[list[str]], bench: str) -> Iterator[Place]:
    """A hub as `hub serve` starts it, but with workers that keep a log."""
    home, log = base / "hub", base / "jobs.jsonl"
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("HUB_", "DATABASE_", "DJANGO_"))
    } | {"PYTHONPATH": str(ROOT), "HUB_LIMITS_ANON_RATE": "1000000/min", "HUB_BENCH": bench}
    command = [sys.executable, "-m", "hub"]
    start = [*command, "serve", "--port", "0", "--no-samples", "--no-worker", "--home", str(home)]
    with contextlib.ExitStack() as stack:
        web = stack.enter_context(running(start, env=environment, cwd=ROOT, stdout=subprocess.PIPE))
        assert web.stdout is not None
        address = next(line for line in web.stdout if line.startswith("address: "))
        threading.Thread(target=web.stdout.read, daemon=True).start()
        token = subprocess.run(
            [*command, "token", "create", "--user", "admin", "--scope", "admin",
             "--home", str(home)],
            check=True, capture_output=True, text=True, env=environment, cwd=ROOT,
        ).stdout.strip()  # fmt: skip
        own = {"HUB_HOME": str(home), "DJANGO_SETTINGS_MODULE": "hub.server.settings"}
        os.environ.update(own)
        processes = {"web and graphs": web.pid}
        errors = stack.enter_context((base / "workers.log").open("w"))
        for place, pools in enumerate(workers):
            line = [sys.executable, str(ROOT / "benchmarks" / "proving.py"), "--work", str(log)]
            one = running([*line, *pools], env=environment | own, cwd=ROOT, stderr=errors)
            name = f"worker {place + 1} {','.join(pools)}".strip()
            processes[name] = stack.enter_context(one).pid
        yield Place(home, address.removeprefix("address: ").strip(), token, processes, log)


def push_all(place: Place, folders: list[Path]) -> None:
    from hub.client.hub import Hub
    from hub.protocol.problems import HubError

    client = Hub(place.address, token=place.token)
    for folder in folders:
        card = CARD.format(name=folder.name)
        name = f"zoo/{folder.name.replace('_', '-').lower()}"
        try:
            client.push(name, folder, card=card, wait=False, progress=False)
        except HubError as error:
            print(f"{folder.name} was not pushed: {error}", flush=True)


def outstanding(bench: str) -> dict[str, int]:
    """How many versions still lack each part of their first evidence.

    What ONNX Runtime does not load is owed no benchmark, but that of an upgrade may wait.
    """
    from registry.models import Variant, Version
    from runners.benchmarks import unmeasured
    from runners.models import Job

    kinds = [kind for kind in EVIDENCE if kind != "benchmark" or bench != "off"]
    lacking = dict.fromkeys(kinds, 0)
    ended = set(
        Job.objects.exclude(state__in=Job.LIVE)
        .filter(kind__in=kinds, priority__lte=FIRST)
        .values_list("version", "kind")
    )
    waiting = set(
        Job.objects.filter(state__in=Job.LIVE, kind="benchmark", priority__lte=FIRST)
        .values_list("version", flat=True)
    )  # fmt: skip
    for pk, state in Version.objects.values_list("pk", "state"):
        if state in (Version.State.DRAFT, Version.State.WITHDRAWN):
            continue
        for kind in kinds:
            if (pk, kind) in ended:
                continue
            main = Variant.objects.filter(version=pk).select_related("entry").first()
            is_owed = kind != "benchmark" or main is None or pk in waiting
            is_owed = is_owed or not unmeasured.obstacle(main)
            lacking[kind] += is_owed
    return lacking


def wait(bench: str, began: float, minutes: float) -> dict[str, float]:
    """Watch until all first evidence is there; the seconds after which each part of it was."""
    ready: dict[str, float] = {}
    shown = None
    while time.time() - began < minutes * 60:
        lacking = outstanding(bench)
        for kind, count in lacking.items():
            if count:
                ready.pop(kind, None)
            else:
                ready.setdefault(kind, time.time() - began)
        if lacking != shown:
            shown = lacking
            words = ", ".join(f"{kind} {count}" for kind, count in lacking.items())
            print(f"{time.time() - began:6.0f} s  still without: {words}", flush=True)
        if not any(lacking.values()):
            break
        time.sleep(LOOK_SECONDS)
    return ready


def sets_by_size(model: Any) -> Iterator[list[list[Any]]]:
    """The usual, the varied and the swept inputs of each group of sizes."""
    from runners.engine.runs import generate, shared_runs

    origins = (generate.GENERATED, generate.VARIED, generate.SWEPT)
    for sizes in shared_runs.SIZES:
        with contextlib.suppress(generate.CannotGenerateError):
            yield [
                generate.datasets(model, seed=shared_runs.SEED, sizes=sizes, origin=origin)
                for origin in origins
            ]


def bare(model: str, upgraded: list[str]) -> None:
    """In a process of its own: the same sessions and runs; print their processor seconds by kind.

    Inputs are made before the clock starts. `upgraded` are the files of the upgrade, which runs
    more sessions than count as its own: those are `MORE`.
    """
    from runners.engine import runtimes
    from runners.engine.onnx_files import datasets
    from runners.engine.runs import child_runs
    from runners.engine.upgrades import baseline

    path = Path(model)
    proto, runtime = child_runs.load(path), runtimes.of("onnxruntime")
    seconds = dict.fromkeys((*EVIDENCE, MORE), 0.0)

    def timed(kind: str, source: Path, sets: list[Any], *, optimise: bool = True) -> int:
        """Load once and run all sets; give how many ran."""
        began = time.process_time()
        opened = runtimes.attempt(
            lambda: runtime.open(source, optimise=optimise, folder=path.parent)
        )
        ran = 0
        for one in [] if isinstance(opened, Exception) else sets:
            ran += not isinstance(runtimes.attempt(opened, one.inputs), Exception)
        seconds[kind] += time.process_time() - began
        return ran

    with tempfile.TemporaryDirectory() as folder:
        child_runs.prepare(path, Path(folder))
        home = Path(folder) / child_runs.BUNDLED
        bundled = datasets.read(home, proto) if home.is_dir() else []
    usual: list[Any] = []
    varied, swept = usual, usual
    for sets in sets_by_size(proto):
        usual, varied, swept = sets
        seconds["check"] = 0.0
        if timed("check", path, usual):
            break
    # An upgrade leaves these out where runs are slow.
    varied = varied if seconds["check"] < baseline.TIME_FOR_MORE else []
    swept = swept if seconds["check"] < baseline.TIME_FOR_SWEEPS else []
    seconds["check"] = 0.0
    timed("check", path, [])
    for optimise in (True, True, False):
        timed("conformance", path, [*bundled, *usual], optimise=optimise)
    for optimise in (True, False):
        timed("upgrade", path, varied, optimise=optimise)
    for optimise in (True, False):
        timed(MORE, path, [*bundled, *usual, *swept], optimise=optimise)
    timed(MORE, path, [*bundled, *usual])
    for place, file in enumerate(upgraded):
        timed(MORE if place else "upgrade", Path(file), [*bundled, *usual, *varied])
        timed(MORE, Path(file), swept)
    print(json.dumps(seconds))


class Window(NamedTuple):
    """The warm-ups and timed parts of a benchmark: as long as they lasted, and its processor."""

    seconds: float
    processor: float

    @classmethod
    def of(cls, record: dict[str, Any]) -> Window:
        seconds = processor = 0.0
        for one in record.get("processes", []):
            if one["wall_s"]:
                whole = one["warmup_s"] + one["wall_s"]
                seconds += whole
                processor += one["cpu_time_s"] * whole / one["wall_s"]
        return cls(seconds, processor)


def on_quiet_cores(
    first: list[dict[str, Any]], rest: float, records: dict[str, dict[str, Any]]
) -> tuple[float, float]:
    """Seconds of all proofs, and then of all benchmarks one by one, on `CORES` quiet cores."""
    proofs = [job["processor"] for job in first if job["kind"] != "benchmark"]
    alone = 0.0
    for job in first:
        if job["kind"] == "benchmark":
            window = Window.of(records.get(job["job"], {}))
            alone += QUIET_SECONDS * bool(window.seconds)
            alone += job["processor"] - window.processor + window.seconds
    return max([(sum(proofs) + rest) / CORES, *proofs]), alone


def in_sessions(record: dict[str, Any]) -> float:
    """Processor seconds that a record's processes spent in loading, warming up and inferring."""
    total = 0.0
    for one in record.get("processes", []):
        if one.get("inferences"):
            each = one["cpu_time_s"] / one["inferences"]
            total += one["session_load_ms"] / 1e3 + one["cpu_time_s"] + one["warmup_count"] * each
    return total


def first_records() -> dict[str, dict[str, Any]]:
    """The records of the first benchmarks, by job."""
    from registry.storage.files import store
    from runners.models import Job

    return {
        str(job.pk): json.loads(store().path(sha256).read_text())
        for job in Job.objects.filter(kind="benchmark", priority__lte=FIRST)
        if (sha256 := job.typed_report.files.get("record.json"))
    }


def bare_alone(folder: Path, upgraded: list[Path]) -> dict[str, float]:
    """The answer of `bare` for one model; empty where it fails, which is printed."""
    command = [sys.executable, str(ROOT / "benchmarks" / "proving.py"), "--bare"]
    ran = subprocess.run(
        [*command, str(folder / "model.onnx"), *map(str, upgraded)],
        check=False, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    if ran.returncode:
        print(f"\n{folder.name}: {ran.stderr.strip().splitlines()[-1:]}")
        return {}
    answer: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return answer


def bare_seconds(folders: list[Path], records: dict[str, dict[str, Any]]) -> dict[str, float]:
    """The processor seconds of the same work without a hub, by kind."""
    from registry.models import Variant
    from registry.storage.files import store

    total = dict.fromkeys(EVIDENCE, 0.0)
    for count, folder in enumerate(folders):
        print(f"\rbare runs: {count + 1} of {len(folders)}", end="", flush=True)
        name = folder.name.replace("_", "-").lower()
        mine = Variant.objects.filter(version__model__name=name)
        variant = mine.filter(origin=Variant.Origin.UPGRADED).select_related("entry").first()
        upgraded = [store().path(variant.entry.blob_id)] if variant else []
        for kind, spent in bare_alone(folder, upgraded).items():
            total[kind] += spent if kind in total else 0.0
    print()
    total["benchmark"] = sum(map(in_sessions, records.values()))
    return total


def tell_speeds() -> None:
    """Print how many main variants are measured, and why others are not."""
    from registry.models import Variant
    from runners.benchmarks import unmeasured
    from runners.models import Measurement

    mains = {}
    for variant in Variant.objects.select_related("entry", "version").order_by("-pk"):
        mains[variant.version_id] = variant
    standings = Counter()
    for variant in mains.values():
        one = unmeasured.of(variant)
        standings[f"{one.state}: {one.reason}" if one.reason else one.state] += 1
    print("speed of the main variants:")
    for words, count in standings.most_common():
        print(f"  {count:3}  {words[:160]}")
    accepted = Measurement.objects.filter(status="accepted").values("variant").distinct()
    print(f"  of the measured, {accepted.count()} have an accepted result")


def tell(
    place: Place,
    ready: dict[str, float],
    total: dict[str, float],
    records: dict[str, dict[str, Any]],
    without: dict[str, float],
) -> None:
    """Print what was measured. `total` is by process, `without` the bare seconds by kind."""
    jobs = place.jobs()
    first = [job for job in jobs if place.is_first(job)]
    models = len({job["model"] for job in first}) or 1
    line = "{:14} {:>6} {:>14} {:>12} {:>8} {:>12}"
    print(line.format("kind", "jobs", "processor, s", "bare, s", "ratio", "all after, s"))
    sums = [0.0, 0.0]
    for kind in EVIDENCE:
        spent = [job["processor"] for job in first if job["kind"] == kind]
        own = without.get(kind, 0.0)
        sums[0] += sum(spent)
        sums[1] += own
        ratio = f"{sum(spent) / own:.1f}" if own else "-"
        after = f"{ready[kind]:.0f}" if kind in ready else "not all"
        print(line.format(kind, len(spent), f"{sum(spent):.1f}", f"{own:.1f}", ratio, after))
    ratio = f"{sums[0] / sums[1]:.1f}" if sums[1] else "-"
    print(line.format("together", len(first), f"{sums[0]:.1f}", f"{sums[1]:.1f}", ratio, ""))
    others: dict[str, list[float]] = {}
    for job in jobs:
        if not place.is_first(job):
            others.setdefault(job["kind"], []).append(job["processor"])
    for kind, all_of_it in sorted(others.items()):
        print(line.format(f"also {kind}"[:14], len(all_of_it), f"{sum(all_of_it):.1f}", "", "", ""))
    rest = sum(total.values()) - sum(job["processor"] for job in jobs)
    print(f"the hub itself (requests, queue, graphs): {rest:.1f} s of processor time")
    proofs, alone = on_quiet_cores(first, rest, records)
    print(
        f"on {CORES} quiet cores: {proofs:.0f} s of proofs and {alone:.0f} s of benchmarks, "
        f"{proofs + alone:.0f} s together"
    )
    print(f"{3600 * models / (sums[0] or 1):.0f} models for each core and hour of first evidence")
    hours = (sums[0] + rest) / models * IMPORT / 3600
    print(f"{IMPORT} such models: {hours:.1f} hours of one core, that of the hub itself included")
    tell_speeds()
    print("the dearest jobs:")
    for job in sorted(first, key=lambda one: -one["processor"])[:10]:
        wall = job["ended"] - job["began"]
        print(f"  {job['processor']:7.1f} s ({wall:.1f} s wall)  {job['kind']:12} {job['model']}")


def engine_alone(folders: list[Path], *, is_empty: bool) -> None:
    """Do upgrade and conformance of each model in a process like a fork server, and print both."""
    import proving_engine

    from runners.sandbox import _environment

    sums: Counter[str] = Counter()
    stages: Counter[str] = Counter()
    row = "{:40} {:>8} {:>12} {:>8} {:>8} {:>8}"
    print(row.format("processor seconds", "upgrade", "conformance", "bare", "all", "strength"))
    with tempfile.TemporaryDirectory(prefix="hub-proving-") as made:
        for folder in folders:
            command = [sys.executable, "-s", str(ROOT / "benchmarks" / "proving.py"),
                       "--engine-work", str(folder), made, "empty" if is_empty else ""]  # fmt: skip
            ran = subprocess.run(
                command, check=False, stdout=subprocess.PIPE, text=True, env=_environment()
            )
            if ran.returncode:
                print(f"{folder.name}: failed")
                continue
            jobs = proving_engine.read(ran.stdout)
            without = bare_alone(folder, sorted(Path(made).glob(f"{folder.name}.*.onnx")))
            own = without["upgrade"] + without["conformance"]
            seconds = {task: job.seconds for task, job in jobs.items()}
            sums.update(seconds | {"bare": own, "all": own + without[MORE]})
            for task, job in jobs.items():
                stages.update({f"{task}: {name}": spent for name, spent in job.stages.items()})
            figures = (f"{value:.2f}" for value in (*seconds.values(), own, own + without[MORE]))
            print(row.format(folder.name, *figures, jobs["upgrade"].strength), flush=True)
    jobs_together = sums["upgrade"] + sums["conformance"]
    print(row.format("together", *(f"{value:.1f}" for value in sums.values()), ""))
    print(f"{jobs_together:.1f} s are {jobs_together / sums['bare']:.2f} times the bare sessions, "
          f"and {jobs_together / sums['all']:.2f} times all sessions")  # fmt: skip
    for name, spent in stages.most_common(12):
        print(f"  {spent:7.1f} s  {name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default=os.environ.get("HUB_MODEL_CORPUS", ""))
    parser.add_argument("--models", type=int, help="only so many, spread over the folder")
    parser.add_argument("--no-bench", action="store_true", help="without the benchmarks")
    parser.add_argument("--minutes", type=float, default=60.0, help="give up after so long")
    parser.add_argument("--engine", action="store_true", help="the two jobs of proofs, no hub")
    parser.add_argument("--no-certificates", action="store_true", help="with --engine: search all")
    options = parser.parse_args()
    folders = sorted(path.parent for path in Path(options.folder).glob("*/model.onnx"))
    if not folders:
        parser.error("name a folder of folders with a model.onnx, or set HUB_MODEL_CORPUS")
    if 0 < (options.models or 0) < len(folders):
        folders = [folders[k * len(folders) // options.models] for k in range(options.models)]
    if options.engine:
        engine_alone(folders, is_empty=options.no_certificates)
        return 0
    bench = "off" if options.no_bench else "light"
    # Else a terminated run would leave its hub at work.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="hub-proving-") as base:
        with hub(Path(base), [[], ["cpu.urgent"]], bench) as place:
            import django

            django.setup()
            began = time.time()
            push_all(place, folders)
            print(f"{time.time() - began:6.0f} s  {len(folders)} models pushed", flush=True)
            ready = wait(bench, began, options.minutes)
            total = {name: tree_seconds(pid) for name, pid in place.processes.items()}
        records = first_records()
        tell(place, ready, total, records, bare_seconds(folders, records))
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], sys.argv[3:])
    elif sys.argv[1:2] == ["--bare"]:
        bare(sys.argv[2], sys.argv[3:])
    elif sys.argv[1:2] == ["--engine-work"]:
        import proving_engine

        proving_engine.work(*sys.argv[2:])
    else:
        sys.exit(main())
