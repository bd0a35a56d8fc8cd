"""The same model asked by MLPerf LoadGen, whose own logs are the result: one single stream.

LoadGen has no fresh processes, no readings of the host and no sandbox: it runs here, in this
process, so it is for models that one trusts. The hub's own loop stays the method of record.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.protocol import problems
from runners.engine.benchmark import feeds, sessions, stored
from runners.engine.benchmark.options import Options

if TYPE_CHECKING:
    from hub.cli.bench.subjects import Subject

_PERFORMANCE_COUNT = 1
_SUMMARY = "mlperf_log_summary.txt"
_TRIAL = 10


def run(subject: Subject, config: dict[str, Any], folder: Path) -> list[str]:
    """Have LoadGen ask a single stream and write its logs into the folder; gives what to tell."""
    try:
        # `import mlcommons_loadgen` would put an empty module under this name.
        import mlperf_loadgen as loadgen  # noqa: PLC0415  (optional)
    except ImportError:
        raise problems.LibraryMissing(
            "--mlperf needs MLPerf LoadGen: pip install 'onnx-hub[mlperf]' (x86-64 only)."
        ) from None
    options = Options.from_json(config)
    if options.scenario != "single_stream":
        raise problems.HubError(
            "--mlperf supports only the single_stream scenario. Remove --scenario."
        )
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hub-bench-") as scratch:
        opened = _open(subject, options, Path(scratch))
        settings = _settings(loadgen, opened.callers[0].infer, options.timed_seconds)
        _ask(loadgen, opened.callers[0].infer, settings, folder)
        opened.expect_provider()
    return [line for line in (folder / _SUMMARY).read_text(encoding="utf-8").splitlines() if line]


def _open(subject: Subject, options: Options, folder: Path) -> sessions.Opened:
    for path, place in subject.files.items():
        target = folder.joinpath("model", *path.split("/"))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(place)
    model = folder.joinpath("model", *subject.entry.split("/"))
    request = options.session(model, engine_cache=str(folder))
    feeds.make(model, folder / "inputs", request)
    return sessions.open_session(request, stored.read(folder / "inputs"), profiled=False)


def _settings(loadgen: Any, infer: Any, seconds: float) -> Any:
    for _ in range(_TRIAL):
        infer()
    began = time.perf_counter_ns()
    for _ in range(_TRIAL):
        infer()
    each = (time.perf_counter_ns() - began) // _TRIAL
    settings = loadgen.TestSettings()
    settings.scenario = loadgen.TestScenario.SingleStream
    settings.mode = loadgen.TestMode.PerformanceOnly
    settings.min_duration_ms = int(seconds * 1000)
    # It sizes the list of queries beforehand: too long a time, and the run ends early, invalid.
    settings.single_stream_expected_latency_ns = max(each // 2, 1)
    return settings


def _ask(loadgen: Any, infer: Any, settings: Any, folder: Path) -> None:
    def issue(samples: Any) -> None:
        for sample in samples:
            infer()
            loadgen.QuerySamplesComplete([loadgen.QuerySampleResponse(sample.id, 0, 0)])

    log = loadgen.LogSettings()
    log.log_output.outdir = str(folder)
    log.log_output.copy_summary_to_stdout = False
    system = loadgen.ConstructSUT(issue, lambda: None)
    library = loadgen.ConstructQSL(
        _PERFORMANCE_COUNT, _PERFORMANCE_COUNT, lambda _: None, lambda _: None
    )
    try:
        loadgen.StartTestWithLogSettings(system, library, settings, log)
    finally:
        loadgen.DestroyQSL(library)
        loadgen.DestroySUT(system)
    (folder / "settings.json").write_text(
        json.dumps({"expected_latency_ns": settings.single_stream_expected_latency_ns}),
        encoding="ascii",
    )
