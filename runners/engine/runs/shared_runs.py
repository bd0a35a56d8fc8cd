"""What the checks of one conformance job share: runs made once, comparisons, and their deaths.

Every run and every comparison is a child of its own; this side sees only what they answer.
"""

from __future__ import annotations

import functools
import math
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hub.protocol.vocabularies import REFERENCE
from runners.engine.runs import answers, child_runs, localise
from runners.engine.runs.answers import (
    Comparison,
    Divergence,
    Generated,
    Prepared,
    Ran,
    Upgraded,
)
from runners.engine.runs.child_runs import BUNDLED, Form
from runners.engine.runs.generate import GENERATED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from runners.engine.confine.children import Ending
    from runners.engine.jobs import Job

# For all sets of one origin; the reference is slow, and what it has not done by then is not judged.
_RUN_CPU_SECONDS, _RUN_WALL_SECONDS = 60, 120.0
# The reference takes some hundred times as long. Its generated sets after the first share this
# budget; a single set has so long at most.
_REFERENCE_BUDGET_SECONDS, _REFERENCE_CPU_SECONDS = 10.0, 30
_FILE_BYTES = 1 << 30
_LATE_SECONDS = 1.5
# The sizes of generated inputs; the next are tried only where a model cannot run the first.
SIZES = ((1, 2, 3), (16, 32, 64), (576, 1024, 1600))
SEED = 20_240_611
# The tag of a second run in another session.
AGAIN = "again"
_GENERATED_SET = "test_data_set_generated-"


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


class Bench:
    """One model and one runtime on trial."""

    def __init__(self, job: Job, runtime: str, *, declared: Any = None) -> None:
        self.job = job
        self.runtime = runtime
        # The key `inputs` of the version's card, as it is written there.
        self.declared = declared
        self.sizes: Sequence[int] = SIZES[0]
        self.original = Form(job.model, job.model.parent, "original")
        self.upgraded: Form | None = None
        self.upgraded_opset = 0
        self._tried_upgrade = False
        self.sets = {origin: job.work / "sets" / origin for origin in (BUNDLED, GENERATED)}
        self.prepared = self._prepare()
        self.generation_problem = ""
        self._attempts: dict[str, Attempt] = {}

    def _prepare(self) -> Prepared:
        root, model = self.job.work / "sets", self.job.model
        ending = self.job.stage(
            "prepare", lambda: child_runs.prepare(model, root), file_bytes=_FILE_BYTES
        )
        if ending.kind == "answered":
            return answers.read(Prepared, ending.answer)
        return Prepared(problem=self.job.cause(ending), is_readable=False)

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
            result = answers.read(Upgraded, ending.answer)
            if result.changed:
                self.upgraded, self.upgraded_opset = Form(target, model.parent), result.opset

    def forms(self) -> list[Form]:
        """The model's forms, best first for the reference."""
        return [form for form in (self.upgraded, self.original) if form is not None]

    def generate(self) -> Attempt:
        """Make inputs that the runtime can run, larger ones if small ones do not fit."""
        first: tuple[Attempt, Path] | None = None
        for k, sizes in enumerate(SIZES):
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
        root = self.job.work / f"sets-{k}"
        failure = self._make_inputs(root, GENERATED, sizes)
        if failure:
            self.generation_problem = failure
        else:
            attempt = self._first_run(str(k))
            unfit = set(attempt.refused)
            fit = [size for size in sizes if f"{_GENERATED_SET}{size}" not in unfit]
            self.sizes = fit or sizes
            # From here on, whoever asks for this run means the one that worked.
            self._attempts[_key(self.runtime, GENERATED, "original", "")] = attempt
            return attempt
        return Attempt("none", root, self.generation_problem)

    def _first_run(self, tag: str) -> Attempt:
        """Run the generated sets, and in the same session the bundled ones unless they ran."""
        bundled = _key(self.runtime, BUNDLED, "original", "")
        origins = [GENERATED]
        if self.prepared.bundled and bundled not in self._attempts:
            origins.append(BUNDLED)
        attempts = self.attempts(self.runtime, origins, tag=tag)
        if BUNDLED in attempts:
            self._attempts[bundled] = attempts[BUNDLED]
        return attempts[GENERATED]

    def generate_more(self, origin: str) -> str:
        """Generate sets of another origin, of sizes that ran; a string says why there are none.

        `generate` comes first.
        """
        return self._make_inputs(self.job.work / "sets", origin, self.sizes)

    def _make_inputs(self, root: Path, origin: str, sizes: Sequence[int]) -> str:
        """Generate sets of an origin; a string says why there are none."""
        task = functools.partial(
            child_runs.make_inputs,
            self.job.model,
            root,
            SEED,
            sizes,
            declared=self.declared,
            origin=origin,
            examples=self.job.input,
        )
        ending = self.job.stage("generate", task, file_bytes=_FILE_BYTES)
        if ending.kind != "answered":
            return f"generating inputs {self.job.cause(ending)}"
        failure = answers.read(Generated, ending.answer).failure
        if not failure:
            self.sets[origin] = root / origin
        return failure

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
        subject = form or self.original
        key = _key(runtime, origin, subject.word, tag if optimise else f"{tag}unoptimised")
        if key not in self._attempts:
            self._attempts[key] = self._run(runtime, origin, subject, optimise=optimise, key=key)
        return self._attempts[key]

    def attempts(
        self,
        runtime: str,
        origins: Sequence[str],
        *,
        form: Form | None = None,
        optimise: bool = True,
        tag: str = "",
    ) -> dict[str, Attempt]:
        """Run the data sets of several origins, in one session where that gives the same.

        What draws random numbers may give others later in a session, and the reference is so slow
        that its origins share no time. Where a session of all ends without an answer, each origin
        runs alone, so that one is not judged by another.
        """
        subject = form or self.original
        words = tag if optimise else f"{tag}unoptimised"
        keys = {origin: _key(runtime, origin, subject.word, words) for origin in origins}
        lacking = {origin: key for origin, key in keys.items() if key not in self._attempts}
        if len(lacking) > 1 and runtime != REFERENCE and not self.prepared.random:
            self._run_together(runtime, lacking, subject, optimise=optimise)
        return {
            origin: self.attempt(runtime, origin, form=form, optimise=optimise, tag=tag)
            for origin in origins
        }

    def _run_together(
        self, runtime: str, keys: dict[str, str], form: Form, *, optimise: bool
    ) -> None:
        places = [self.job.work / "runs" / key for key in keys.values()]
        pairs = list(zip([self.sets[origin] for origin in keys], places, strict=True))
        ending = self.run_stage(
            f"run {' and '.join(keys.values())}",
            lambda: child_runs.run(runtime, form, pairs, optimise=optimise),
        )
        if ending.kind == "answered":
            ran = answers.session(ending.answer, len(keys))
            for key, place, one in zip(keys.values(), places, ran, strict=True):
                self._attempts[key] = _ran(one, place, form)
            return
        for place in places:
            shutil.rmtree(place, ignore_errors=True)

    def _run(self, runtime: str, origin: str, form: Form, *, optimise: bool, key: str) -> Attempt:
        results, sets = self.job.work / "runs" / key, self.sets[origin]
        # Whether bundled data are right must not depend on which of them were tried.
        is_bounded = runtime == REFERENCE and origin == GENERATED
        # One set is enough to see whether the reference differs from itself.
        seconds = 0.0 if key.endswith(f"-{AGAIN}") else _REFERENCE_BUDGET_SECONDS
        budget = seconds if is_bounded else math.inf
        ending = self.run_stage(
            f"run {key}",
            lambda: child_runs.run(
                runtime, form, [(sets, results)], optimise=optimise, budget=budget
            ),
            cpu_seconds=_REFERENCE_CPU_SECONDS if is_bounded else 0,
        )
        if ending.kind == "answered":
            [ran] = answers.session(ending.answer, 1)
            return _ran(ran, results, form)
        if ending.kind == "timed-out":
            return self._out_of_time(results, form.word)
        kind = "died"
        if ending.kind == "raised":
            kind = _RAISED.get(ending.answer[0], "refused")
        reason = self.job.cause(ending)
        return Attempt(kind, results, reason, form=form.word, signal=ending.kind == "signalled")

    def run_stage(self, name: str, task: Callable[[], Any], *, cpu_seconds: int = 0) -> Ending:
        """Run a task in a child that has the time of a run, or so many processor seconds."""
        usual = self.job.limits()
        return self.job.stage(
            name,
            task,
            wall_seconds=max(usual.wall_seconds, _RUN_WALL_SECONDS),
            cpu_seconds=cpu_seconds or max(usual.cpu_seconds, _RUN_CPU_SECONDS),
            file_bytes=_FILE_BYTES,
        )

    def _out_of_time(self, results: Path, form: str) -> Attempt:
        """Keep what a run had done when its time was over."""
        whose = "the job" if self.job.seconds_left() <= _LATE_SECONDS else "the run"
        note = f"{whose} ran out of time"
        ending = self.job.stage("count", lambda: child_runs.count(results), writes=False)
        done = answers.read(answers.Done, ending.answer).done if ending.kind == "answered" else 0
        if done:
            return Attempt("ran", results, sets=done, form=form, note=f"{note} after {done} sets")
        word = "late" if whose == "the job" else "died"
        return Attempt(word, results, note, form=form)

    def compare(self, expected: Path, actual: Path, profile: str = "") -> Comparison | str:
        """Compare the outputs in two folders; a string says why it could not be done."""
        model, profile = self.job.model, profile or self.prepared.profile
        ending = self.job.stage(
            "compare", lambda: child_runs.compare(model, expected, actual, profile), writes=False
        )
        if ending.kind != "answered":
            return f"comparing the outputs {self.job.cause(ending)}"
        return answers.read(Comparison, ending.answer)

    def localise(self, parties: localise.Parties, origin: str, name: str) -> Divergence:
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
            return answers.divergence(ending.answer)
        return Divergence(None, "", f"looking for the node {self.job.cause(ending)}")


def _ran(ran: Ran, results: Path, form: Form) -> Attempt:
    note = f"{ran.left_out} larger inputs left out to save time" if ran.left_out else ""
    return Attempt("ran", results, "", ran.refused, ran.sets, form.word, note, seconds=ran.seconds)


def _key(runtime: str, origin: str, form: str, tag: str) -> str:
    return "-".join(part for part in (runtime, origin, form, tag) if part)


_RAISED = {"UnsupportedModelError": "unsupported", "UnpreparedError": "unprepared"}
