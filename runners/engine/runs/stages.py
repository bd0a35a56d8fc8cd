"""Stages that run a model, with their limits, and those that search a fault of the optimiser."""

from __future__ import annotations

from functools import partial
from typing import Any

from runners.engine.confine.children import EndingKind
from runners.engine.jobs import Job
from runners.engine.runs import answers, optimiser
from runners.engine.runs.answers import Evidence, Message, Name, OptimisedRun, ReducedModel
from runners.engine.runs.child_runs import ModelFile
from runners.engine.runs.localise import Places
from runners.engine.runs.optimiser import Case, OptimiserFault
from runners.engine.runtimes.graph_passes import GraphPasses

# Limits of one run of all data sets of an origin. Sets that the slow reference has not finished by
# then are not judged.
_CPU_SECONDS, _WALL_SECONDS = 60, 120.0
FILE_BYTES = 1 << 30
# Operators of a reduced model that a sentence lists.
MOST_OPERATORS = 8


def run_limits(job: Job, cpu_seconds: int = 0) -> dict[str, Any]:
    """Limits of a stage that runs a model: the usual ones, or more; or `cpu_seconds`."""
    usual = job.limits()
    return {
        "wall_seconds": max(usual.wall_seconds, _WALL_SECONDS),
        "cpu_seconds": cpu_seconds or max(usual.cpu_seconds, _CPU_SECONDS),
        "file_bytes": FILE_BYTES,
    }


def optimiser_fault(
    job: Job, model_file: ModelFile, case: Case, profile: str
) -> OptimiserFault | None:
    """Find what the graph optimiser breaks on one data set; None if it breaks nothing.

    The case expects the outputs without optimisation. Each run is a child of its own, since a pass
    may crash it.
    """
    log = job.work / "optimiser.log"

    def run_with(passes: GraphPasses) -> OptimisedRun:
        task = partial(optimiser.run, model_file, case, passes, profile, log)
        ending = job.stage("optimiser", task, **run_limits(job))
        if ending.kind == EndingKind.ANSWERED:
            return answers.read(OptimisedRun, ending.answer)
        log_ending = job.stage("log", partial(optimiser.suspects_in, log), writes=False)
        is_read = log_ending.kind == EndingKind.ANSWERED
        suspects = answers.read(list[Name], log_ending.answer) if is_read else []
        return OptimisedRun(Message(job.cause(ending)), suspects)

    return optimiser.search(run_with)


def smallest_failure(
    job: Job,
    model_file: ModelFile,
    case: Case,
    fault: OptimiserFault,
    profile: str,
    places: Places,
) -> ReducedModel:
    """Cut the smallest model out that shows a fault of the optimiser, as evidence."""
    task = partial(optimiser.reduce, model_file, case, fault, profile, places)
    ending = job.stage("reduce", task, **run_limits(job))
    if ending.kind == EndingKind.ANSWERED:
        return answers.read(ReducedModel, ending.answer)
    return ReducedModel([], Evidence(""))


def sentence_of(fault: OptimiserFault, reduced: ReducedModel) -> str:
    """What the optimiser breaks, and the nodes of the smallest model that shows it."""
    if not reduced.operators:
        return fault.sentence
    count = len(reduced.operators)
    nodes = f"{count} {'node' if count == 1 else 'nodes'}"
    some = ", ".join(reduced.operators[:MOST_OPERATORS])
    return f"{fault.sentence}; the smallest model that fails has {nodes}: {some}"
