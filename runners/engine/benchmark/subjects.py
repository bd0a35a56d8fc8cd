"""One model under one configuration, and the children that are started on it.

This side opens no model and believes only the shape of what the children answer.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from hub.protocol.devices import usable_cores
from runners.engine.benchmark import (
    answers,
    bounds,
    feeds,
    provider_options,
    record_shape,
    sessions,
    statistics,
)
from runners.engine.benchmark import record as form
from runners.engine.benchmark.options import Options
from runners.engine.benchmark.record import NOT_EXPOSED, Process
from runners.engine.benchmark.requests import ProcessRequest, Profile, SessionFacts, SessionRequest
from runners.engine.benchmark.urgent_work import Cutter, UrgentWork
from runners.engine.confine.children import Ending, EndingKind, Stop
from runners.engine.hardware import devices
from runners.engine.jobs import Job
from runners.engine.onnx_files import staging, text

_FILE_BYTES = 1 << 30
_PREPARE_SECONDS = 120
# A server that is asked for no rate gets half of what one stream reaches.
_USUAL_LOAD = 0.5
_SAMPLES_FOR = "p99"
_PROFILE_SECONDS = 1.0
_NOT_SO = "The model does not run in this configuration"


class TroubleError(Exception):
    """A configuration cannot be measured; the code becomes the record's failure."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class Subject:
    """One model under one configuration, and what was found out about the two."""

    job: Job
    options: Options
    model: Path
    # The version path of the model, and those of the files it needs.
    entry: str
    files: list[str]
    name: str = "inputs"
    ports: list[dict[str, Any]] = field(default_factory=list)
    input_source: str = "none"
    facts: SessionFacts = field(default_factory=SessionFacts)
    profile: Profile = field(default_factory=Profile)
    rate_per_s: float = 0.0
    # The rows of one call that the model fixes; 0 where they are free.
    fixed_batch: int = 0
    # What was tried before the measurement: rates of the server, batches of offline.
    trials: list[bounds.RateTrial] = field(default_factory=list)
    batches: dict[str, Any] = field(default_factory=dict)
    # How long a turn is that it takes with another model in one process; 0 for a model alone.
    turn_seconds: float = 0.0
    # Shared by all that one job measures.
    urgent_work: UrgentWork = field(init=False)

    def __post_init__(self) -> None:
        self.urgent_work = UrgentWork(self.job.stop, self.options.budget_seconds)

    @property
    def slot(self) -> list[int]:
        """The processors that this measurement may use."""
        usable = usable_cores()
        return [core for core in self.options.cores if core in usable] or usable

    @property
    def pinned(self) -> list[int]:
        """Those that its processes are pinned to: the last, as the first serve interrupts."""
        return self.slot[-self.options.processors :]

    @property
    def engine_cache(self) -> Path:
        """Where TensorRT keeps its engines: built by the profiled process, read by the timed."""
        return self.job.work / f"{self.name}-engines"

    def under(self, options: Options, name: str) -> Subject:
        """The same model under another configuration."""
        subject = Subject(self.job, options, self.model, self.entry, self.files, name)
        subject.urgent_work = self.urgent_work
        return subject

    def prepare(self) -> None:
        """Make inputs and run a profiled process; raises TroubleError."""
        self.make_inputs()
        if self.options.provider == provider_options.TENSORRT:
            self.engine_cache.mkdir(exist_ok=True)
        ending = self._child(self.process("profile", 0))
        if ending.kind != EndingKind.ANSWERED:
            raise TroubleError("benchmark-failed", f"{_NOT_SO}: {self._words(ending)}.")
        profiled = answers.read(answers.Profiled, ending.answer)
        self.facts, self.profile = profiled.facts, profiled.profile
        claimed = self.facts.claimed
        provider = self.options.provider
        if self.options.runtime == "onnxruntime" and claimed != provider:
            words = f"The runtime used {claimed} instead of {provider}."
            raise TroubleError("ep-not-used", words)
        if not self.profile.nodes_by_provider.get(claimed):
            raise TroubleError("ep-not-used", f"{claimed} runs no node of the model.")

    def make_inputs(self) -> None:
        """Have a child make the inputs; raises TroubleError where none fit the configuration."""
        request = self.session()
        ending = self.job.stage(
            "prepare",
            lambda: feeds.make(self.model, self.job.work / self.name, request),
            wall_seconds=_PREPARE_SECONDS,
            cpu_seconds=_PREPARE_SECONDS,
            file_bytes=_FILE_BYTES,
        )
        if (
            ending.kind == EndingKind.RAISED
            and ending.answer[0] == feeds.UnsuitableInputError.__name__
        ):
            words = ending.answer[1]
            words = f"{words[:1].upper()}{text.clip(words[1:].rstrip('.'), 500)}."
            raise TroubleError("benchmark-no-inputs", words)
        if ending.kind != EndingKind.ANSWERED:
            raise TroubleError("benchmark-failed", f"{_NOT_SO}: {self._words(ending)}.")
        inputs = answers.read(answers.Prepared, ending.answer)
        self.ports, self.input_source = list(map(asdict, inputs.ports)), inputs.source
        self.fixed_batch = inputs.fixed_batch
        if self.options.batch or inputs.batch_by_sizes:
            # Sizes that were chosen may say how many rows a call has: then no batch is tried.
            self.options = replace(self.options, batch=max(1, inputs.batch))

    def time(self, ordinal: int, **changed: Any) -> Process:
        """Run one process to its samples, or to the reason why it has none."""
        return self.run([self], replace(self.process("time", ordinal), **changed))[0]

    def time_with(self, candidate: Subject, ordinal: int, first: str) -> list[Process]:
        """Run one process that holds two models and times them in turns; gives what each had.

        ``first`` is the letter of the one that is loaded first and has the first turn: A for this
        one, B for the candidate.
        """
        sides = [self, candidate] if first == "A" else [candidate, self]
        # Pinned to as many processors as the one with more threads needs.
        wider = max(sides, key=lambda side: side.options.threads)
        processes = wider.run(sides, wider.process("time", ordinal))
        return processes if first == "A" else processes[::-1]

    def run(self, sides: list[Subject], request: ProcessRequest) -> list[Process]:
        """Run a process with the models of these; gives one's samples, or why it has none, each.

        One that ran beside urgent work is repeated as long as that is given way.
        """
        ordinal = request.ordinal
        models = tuple(side.session() for side in sides)
        before = devices.others(self.options.provider)
        ending, is_beside = self._undisturbed(replace(request, models=models))
        foreign = devices.others(self.options.provider)
        if ending.kind != EndingKind.ANSWERED:
            return [_died(ordinal, _code(ending), self._words(ending)) for _ in sides]
        if not isinstance(ending.answer, list) or len(ending.answer) != len(sides):
            return [_died(ordinal, "unreadable", "It answered for other models.") for _ in sides]
        if isinstance(before, int) and isinstance(foreign, int):
            foreign = max(before, foreign)
        processes = [_process(answer, ordinal, foreign) for answer in ending.answer]
        for process in processes if is_beside else ():
            process["interference"]["urgent_work"] = True
        return processes

    def _undisturbed(self, request: ProcessRequest) -> tuple[Ending, bool]:
        """How a process ended, and whether it ran beside urgent work all the same."""
        work = self.urgent_work
        while True:
            work.pause()
            cutter = Cutter(work)
            try:
                ending = self._child(request, cutter)
            except staging.StoppedError:
                if not cutter.has_cut:
                    raise
            else:
                is_beside = work.stop.urgent_since(cutter.began)
                if not (is_beside and work.is_given_way):
                    return ending, is_beside
            work.repeat(cutter.began, is_cut=cutter.has_cut)

    def settle_rate(self) -> None:
        """Fix the rate of arrivals for all processes, from one short stream where none is asked."""
        if self.options.scenario != form.SERVER:
            return
        self.rate_per_s = self.options.rate_per_s
        if not self.rate_per_s:
            # Two digits: as results are compared only at equal rates, they must be able to be.
            self.rate_per_s = float(f"{_USUAL_LOAD / self.seconds_alone():.2g}")

    def seconds_alone(self) -> float:
        """The median of one inference after another, from one process; raises TroubleError."""
        trial = self.time(0, scenario=form.SINGLE_STREAM, samples=1)
        if not trial["samples_ns"]:
            raise TroubleError("benchmark-failed", "The trial of the rate ended early.")
        return statistics.median(trial["samples_ns"]) / 1e9

    @property
    def samples_wanted(self) -> int:
        """How many samples the percentiles need that are published and bounded."""
        names = [_SAMPLES_FOR]
        if self.options.latency_bound_ms:
            names.append(self.options.bound_percentile)
        return max(statistics.samples_needed(name) for name in names)

    def _child(self, request: ProcessRequest, stop: Stop | None = None) -> Ending:
        options = self.options
        seconds = max(1, len(request.models)) * options.process_seconds()
        is_gpu = devices.is_gpu(options.provider)
        return self.job.fresh_stage(
            "measure",
            request.to_json(),
            cores=self.pinned,
            devices=devices.nodes() if is_gpu else (),
            stop=stop,
            wall_seconds=seconds,
            cpu_seconds=int(seconds * (options.processors + 1)) + 1,
            file_bytes=_FILE_BYTES,
        )

    def session(self) -> SessionRequest:
        """How a child opens, feeds and warms up this model."""
        return self.options.session(
            self.model,
            inputs=str(self.job.work / self.name),
            engine_cache=str(self.engine_cache),
            turn_seconds=self.turn_seconds,
        )

    def process(self, mode: str, ordinal: int) -> ProcessRequest:
        """What a child is asked that measures this model as its options say."""
        options = self.options
        return ProcessRequest(
            mode=mode,
            ordinal=ordinal,
            leading=self.session(),
            scenario=options.scenario,
            samples_per_query=options.samples_per_query,
            timed_seconds=options.timed_seconds,
            timed_cap_seconds=options.timed_cap_seconds,
            samples=-(-self.samples_wanted // options.processes),
            most_samples=options.most_samples,
            rate_per_s=self.rate_per_s,
            profile_seconds=min(_PROFILE_SECONDS, options.timed_seconds),
        )

    def _words(self, ending: Ending) -> str:
        return text.clip(self.job.cause(ending).rstrip("."), 500)


def _process(answer: Any, ordinal: int, foreign: int | str) -> Process:
    try:
        process = {**answer, "rejected": False, "reasons": []}
        record_shape.check_process(process, "process")
    except (form.InvalidRecordError, TypeError) as error:
        return _died(ordinal, "unreadable", str(error))
    process["interference"]["foreign_gpu_pids"] = foreign
    # Who it was and how it was counted is ours to say.
    process["ordinal"] = ordinal
    return process


def _code(ending: Ending) -> str:
    lost = (
        ending.kind == EndingKind.RAISED and ending.answer[0] == sessions.ProviderLostError.__name__
    )
    return "ep-not-used" if lost else ending.kind


def _died(ordinal: int, code: str, message: str) -> Process:
    numbers = ("kept_every", "queries", "inferences", "unserved", "warmup_count")
    counts = dict.fromkeys(numbers, 0)
    times = dict.fromkeys(("wall_s", "cpu_time_s", "warmup_s", "timer_ns"), 0.0)
    hidden = ("peak_rss_bytes", "floor_rss_bytes", "peak_device_bytes", "involuntary_switches")
    readings = ("psi_cpu_some", "foreign_cpu", "steal", "throttled", "foreign_gpu_pids")
    return {
        "ordinal": ordinal,
        "samples_ns": [],
        **counts,
        **times,
        "steady": False,
        "session_load_ms": 0.0,
        "first_inference_ms": 0.0,
        **dict.fromkeys((*hidden, "clock_khz"), NOT_EXPOSED),
        "meter_j": {},
        "interference": dict.fromkeys(readings, NOT_EXPOSED),
        "failure": {"code": code, "message": text.clip(message, 500)},
        "outputs": dict.fromkeys(("sha256", "repeat"), NOT_EXPOSED) | {"tensors": []},
        "rejected": True,
        "reasons": ["died"],
    }
