"""What the checks of one conformance job share: runs made once, comparisons, and their deaths.

Every run and every comparison is a child of its own; this side sees only what they answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runners.engine.onnx_files import text
from runners.engine.runs import answers, child_runs, localise
from runners.engine.runs.child_runs import BUNDLED, GENERATED, Form

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from runners.engine.confine.children import Ending
    from runners.engine.jobs import Job

# For all sets of one origin; the reference is slow, and what it has not done by then is not judged.
_RUN_CPU_SECONDS, _RUN_WALL_SECONDS = 60, 120.0
_FILE_BYTES = 1 << 30
_LATE_SECONDS = 1.5
# The sizes of generated inputs; the next are tried only where a model cannot run the first.
_SIZES = ((1, 2, 3), (16, 32, 64), (576, 1024, 1600))
_SEED = 20_240_611
_GENERATED_SET = "test_data_set_generated-"
_DEATHS = {
    "timed-out": "exceeded the time limit of a run",
    "out-of-memory": "exceeded the memory limit of a run",
    "flooded": "returned an endless response",
    "silent": "ended without a response",
}
_PREAMBLE = re.compile(
    r"^\[ONNXRuntimeError\] : \d+ : [A-Z_]+ : |Load model from \S+ failed: ?(?:Fatal error: )?"
    r"|Exception during initialization: "
    r"|/\S+\.(?:cc|h):\d+ [^()]{0,300}\([^()]{0,1000}\)(?: const)? "
    r"|Exception from src/\S+:\d+:\s*|Check '[^']{1,200}' failed at src/\S+:\d+:\s*"
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """How one run went.

    "ran", "unsupported" by the runtime, "unprepared" machine, "refused" (not loaded), "died",
    "late" (our time was over), or "none": there are no inputs to run on.
    """

    word: str
    results: Path
    reason: str = ""
    refused: dict[str, str] = field(default_factory=dict)
    sets: int = 0
    form: str = ""
    # What is to be said of a run that did not get to its end.
    note: str = ""
    signal: bool = False
    seconds: float = 0.0

    @property
    def ran(self) -> int:
        """How many data sets were run to their end."""
        return self.sets - len(self.refused)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides' outputs compared; `worst` is the folder of the first set that disagrees."""

    sets: tuple[str, ...]
    agrees: bool
    rows: list[dict[str, Any]]
    worst: str = ""

    @property
    def agreed(self) -> bool:
        return bool(self.sets) and self.agrees


class Bench:
    """One model and one runtime on trial."""

    def __init__(self, job: Job, runtime: str, *, declared: Any = None) -> None:
        self.job = job
        self.runtime = runtime
        # The key `inputs` of the version's card, as it is written there.
        self.declared = declared
        self.sizes: Sequence[int] = _SIZES[0]
        self.original = Form(job.model, job.model.parent)
        self.upgraded: Form | None = None
        self.upgraded_opset = 0
        self._tried_upgrade = False
        self.sets = {origin: job.work / "sets" / origin for origin in (BUNDLED, GENERATED)}
        self.facts = self._prepare()
        self.generation_problem = ""
        self._attempts: dict[str, Attempt] = {}

    def _prepare(self) -> dict[str, Any]:
        root, model = self.job.work / "sets", self.job.model
        ending = self.job.stage(
            "prepare", lambda: child_runs.prepare(model, root), file_bytes=_FILE_BYTES
        )
        if ending.kind == "answered":
            return answers.prepared(ending.answer)
        return {"problem": told(ending, self.job), "unread": True}

    @property
    def random(self) -> list[str]:
        """The operators of the model that draw random numbers."""
        return [str(name) for name in self.facts["random"]]

    @property
    def profile(self) -> str:
        return str(self.facts["profile"])

    def upgrade(self) -> None:
        """Convert the model for the reference, once; without success there is only the original."""
        if self._tried_upgrade:
            return
        self._tried_upgrade = True
        model, target = self.job.model, self.job.work / "upgraded" / "model.onnx"
        runtime = self.runtime
        ending = self.job.stage(
            "upgrade", lambda: child_runs.upgrade(model, target, runtime), file_bytes=_FILE_BYTES
        )
        if ending.kind == "answered":
            changed, opset = answers.upgraded(ending.answer)
            if changed:
                self.upgraded, self.upgraded_opset = Form(target, model.parent), opset

    def forms(self) -> list[Form]:
        """The model's forms, best first for the reference."""
        return [form for form in (self.upgraded, self.original) if form is not None]

    def generate(self) -> Attempt:
        """Make inputs that the runtime can run, larger ones if small ones do not fit."""
        first: tuple[Attempt, Path] | None = None
        for k, sizes in enumerate(_SIZES):
            attempt = self._generate(k, sizes)
            if attempt.word != "ran" or attempt.ran:
                return attempt
            first = first or (attempt, self.sets[GENERATED])
        if first is None:
            return Attempt("none", self.sets[GENERATED], "no inputs were generated")
        # Refused in every size: whoever else is asked is asked on the smallest.
        attempt, self.sets[GENERATED] = first
        self._attempts[_key(self.runtime, GENERATED, "original", "")] = attempt
        return attempt

    def _generate(self, k: int, sizes: Sequence[int]) -> Attempt:
        root, model = self.job.work / f"sets-{k}", self.job.model
        ending = self.job.stage(
            "generate",
            lambda: child_runs.make_inputs(model, root, _SEED, sizes, declared=self.declared),
            file_bytes=_FILE_BYTES,
        )
        if ending.kind != "answered":
            self.generation_problem = f"generating inputs {told(ending, self.job)}"
        elif problem := answers.problem(ending.answer):
            self.generation_problem = problem
        else:
            self.sets[GENERATED] = root / GENERATED
            attempt = self.attempt(self.runtime, GENERATED, tag=str(k))
            unfit = set(attempt.refused)
            fit = [size for size in sizes if f"{_GENERATED_SET}{size}" not in unfit]
            self.sizes = fit or sizes
            # From here on, whoever asks for this run means the one that worked.
            self._attempts[_key(self.runtime, GENERATED, "original", "")] = attempt
            return attempt
        return Attempt("none", root, self.generation_problem)

    def generate_more(self, origin: str) -> str:
        """Generate sets of another origin, of sizes that ran; a string says why there are none.

        `generate` comes first.
        """
        root, model, sizes = self.job.work / "sets", self.job.model, self.sizes
        ending = self.job.stage(
            "generate",
            lambda: child_runs.make_inputs(
                model,
                root,
                _SEED,
                sizes,
                declared=self.declared,
                origin=origin,
                examples=self.job.input,
            ),
            file_bytes=_FILE_BYTES,
        )
        if ending.kind != "answered":
            return f"generating inputs {told(ending, self.job)}"
        self.sets[origin] = root / origin
        return answers.problem(ending.answer)

    def attempt(
        self,
        runtime: str,
        origin: str,
        *,
        form: Form | None = None,
        optimise: bool = True,
        tag: str = "",
    ) -> Attempt:
        """Run all data sets of one origin, once for each way of running them."""
        chosen = form or self.original
        word = "original" if chosen is self.original else "upgraded"
        key = _key(runtime, origin, word, tag if optimise else f"{tag}unoptimised")
        if key not in self._attempts:
            self._attempts[key] = self._run(runtime, origin, chosen, optimise=optimise, key=key)
        return self._attempts[key]

    def _run(self, runtime: str, origin: str, form: Form, *, optimise: bool, key: str) -> Attempt:
        results, sets = self.job.work / "runs" / key, self.sets[origin]
        ending = self.run_stage(
            f"run {key}", lambda: child_runs.run(runtime, form, sets, results, optimise=optimise)
        )
        word = "original" if form is self.original else "upgraded"
        if ending.kind == "answered":
            refused, count = answers.ran(ending.answer)
            return Attempt("ran", results, "", refused, count, word, seconds=ending.seconds)
        if ending.kind == "timed-out":
            return self._out_of_time(results, word)
        kind = "died"
        if ending.kind == "raised":
            kind = _RAISED.get(ending.answer[0], "refused")
        reason = told(ending, self.job)
        return Attempt(kind, results, reason, form=word, signal=ending.kind == "signalled")

    def run_stage(self, name: str, task: Callable[[], Any]) -> Ending:
        """Run a task in a child that has the time of a run."""
        usual = self.job.limits()
        return self.job.stage(
            name,
            task,
            wall_seconds=max(usual.wall_seconds, _RUN_WALL_SECONDS),
            cpu_seconds=max(usual.cpu_seconds, _RUN_CPU_SECONDS),
            file_bytes=_FILE_BYTES,
        )

    def _out_of_time(self, results: Path, form: str) -> Attempt:
        """Keep what a run had done when its time was over."""
        whose = "the job" if self.job.seconds_left() <= _LATE_SECONDS else "the run"
        note = f"{whose} ran out of time"
        ending = self.job.stage("count", lambda: child_runs.count(results), writes=False)
        done = answers.counted(ending.answer) if ending.kind == "answered" else 0
        if done:
            return Attempt("ran", results, sets=done, form=form, note=f"{note} after {done} sets")
        word = "late" if whose == "the job" else "died"
        return Attempt(word, results, note, form=form)

    def compare(self, expected: Path, actual: Path, profile: str = "") -> Comparison | str:
        """Compare the outputs in two folders; a string says why it could not be done."""
        model, chosen = self.job.model, profile or self.profile
        ending = self.job.stage(
            "compare",
            lambda: child_runs.compare(model, expected, actual, chosen),
            writes=False,
        )
        if ending.kind != "answered":
            return f"comparing the outputs {told(ending, self.job)}"
        return Comparison(*answers.compared(ending.answer))

    def localise(self, parties: localise.Parties, origin: str, name: str) -> dict[str, Any]:
        """Look for the first node that diverges on one data set."""
        # Against itself a runtime was only seen to differ on the original.
        forms = [self.original] if parties.optimised else self.forms()
        places = localise.Places(self.sets[origin], self.job.work, self.job.out)
        ending = self.job.stage(
            "localise",
            lambda: localise.find(parties, forms, places, name),
            wall_seconds=_RUN_WALL_SECONDS,
            cpu_seconds=_RUN_CPU_SECONDS,
            file_bytes=_FILE_BYTES,
        )
        if ending.kind == "answered":
            return answers.localised(ending.answer)
        note = f"looking for the node {told(ending, self.job)}"
        return {"node": None, "evidence": "", "note": note}


def _key(runtime: str, origin: str, form: str, tag: str) -> str:
    return "-".join(part for part in (runtime, origin, form, tag) if part)


def told(ending: Ending, job: Job) -> str:
    """Say in words how a child ended, without the folders it worked in."""
    match ending.kind:
        case "raised":
            name, said = ending.answer
            words = said if name in _OWN_CLASSES else f"{name}: {said}"
        case "signalled":
            words = f"crashed with {ending.answer}"
        case kind:
            words = _DEATHS.get(kind, kind)
    folders = (job.model.parent, job.input, job.work, job.out)
    return plain(words, *(str(folder) for folder in folders))


def plain(words: str, *private: str) -> str:
    """Shorten a library's complaint: without its codes, and without the folders given."""
    return text.message(_PREAMBLE.sub("", words), *private)


_RAISED = {"UnsupportedModelError": "unsupported", "UnpreparedError": "unprepared"}
_OWN_CLASSES = frozenset({"LoadError", *_RAISED})
