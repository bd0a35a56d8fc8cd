"""Whatever is done to a model's structure, the sandbox answers and goes on working.

By default a small fixed set of mutants. HUB_MUTANT_SECONDS=60 runs fresh ones for so long instead,
over every node test of the installed onnx as well; HUB_MUTANT_SEED=n repeats such a run. A
counterexample is written to the folder named by HUB_MUTANT_FOLDER, if there is one.
"""

from __future__ import annotations

import os
import secrets
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import onnx
import pytest

from hub.protocol import splits
from runners.engine.server.tasks import FLOWS
from runners.sandbox import Limits, Request, Sandbox
from tests import samples
from tests.engine.benchmark.timings import TIMED
from tests.properties import mutations

SECONDS = float(os.environ.get("HUB_MUTANT_SECONDS", "0"))
SEED = int(os.environ.get("HUB_MUTANT_SEED", "0") or 0)
DATA = Path(onnx.__file__).parent / "backend/test/data"
LIMITS = Limits(
    wall_seconds=8, cpu_seconds=2, memory_bytes=1 << 30, output_bytes=1 << 20, job_seconds=40
)
SUBJECT = "0" * 64
SPLIT = {
    "name": "test",
    "task": "classification",
    "reader": "csv",
    "files": ["rows.csv"],
    "inputs": [{"name": "x", "columns": ["x"]}],
    "target": {"column": "y", "labels": ["a", "b"]},
}
# Options that each task cannot do without; the drawn one goes with the mutant.
OPTIONS = {
    "annotate": [
        {"props": {"model_author": "Ada", "hub_iri": "https://hub.example/models/a/b/v/1"}}
    ],
    # No int8-qdq: a mutant has no data to be calibrated on.
    "convert": [{"recipe": "fp16"}, {"recipe": "int8"}],
    "benchmark": [TIMED],
    "compare-speed": [TIMED | {"against": "m.onnx"}],
    "conformance": [{"runtime": "onnxruntime"}],
    "difference": [{"against": "m.onnx"}],
    "evaluation": [{"split": SPLIT}],
    "federated-schema": [{}, {"roles": {"trainable": ["*"]}}],
    "run": [{"inputs": []}],
    "upgrade": [{}, {"target": 13}],
}
# The first two bring their own model, the others read weights or archives and no model.
OTHERS = {"suite", "calibrate", "federated-check", "federated-aggregate", "import"}
MODEL_TASKS = [task for task in FLOWS if task not in OTHERS]
FEW = {"check": 8, "describe": 8, "benchmark": 1, "compare-speed": 1}


def own_seeds():
    """Give models of ours with every kind of structure, none of them large."""
    makers = (
        *(samples.mlp, samples.conv, samples.add_one, samples.with_functions),
        *(samples.with_branches, samples.quantised, samples.zip_map, samples.layernorm_killer),
        *(samples.int_min_div, samples.split_killer),
    )
    return {make.__name__: make() for make in makers}


def shipped_seeds(*folders):
    return {
        path.parent.name: path.read_bytes()
        for folder in folders
        for path in sorted((DATA / folder).glob("*/model.onnx"))
        if path.stat().st_size < 200_000
    }


def node_seeds():
    """Give the models of the installed node tests: every operator, many attributes."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases()
    models = {case.name: case.model for case in cases if case.model is not None}
    return {name: made.SerializeToString() for name, made in models.items()}


@dataclass
class Trial:
    """Tries mutants on one sandbox, and says which one broke it."""

    sandbox: Sandbox
    folder: Path
    seeds: dict[str, bytes]
    random: Random
    outcomes: dict[str, int] = field(default_factory=dict)

    def mutant(self):
        """Give the next mutant and its story."""
        while True:
            seed = self.random.choice(sorted(self.seeds))
            model = onnx.ModelProto.FromString(self.seeds[seed])
            drawn = mutations.mutate(self.random, model, self.random.choice((1, 1, 2, 3, 5)))
            try:
                return model.SerializeToString(), f"{seed}: {', '.join(drawn)}"
            except ValueError:  # too large to be written: there is no such file
                continue

    def attempt(self, task):
        content, story = self.mutant()
        options = self.random.choice(OPTIONS.get(task, [{}]))
        before = server_of(self.sandbox)
        report = self.ask(task, content, options)
        self.outcomes[report.outcome] = self.outcomes.get(report.outcome, 0) + 1
        told = [(finding.code, finding.message) for finding in report.findings]
        if report.outcome not in {"passed", "failed"} or server_of(self.sandbox) != before:
            keep(content)
            pytest.fail(f"{task} {options} of {story} -> {report.outcome} {told}")

    def ask(self, task, content, options):
        place = self.folder / "mutant"
        place.write_bytes(content)
        files = {"m.onnx": str(place)}
        if task == "evaluation":
            rows = self.folder / "rows.csv"
            rows.write_text("x,y\n" + "0.5,1\n" * 8)
            files[f"{splits.DATA_FOLDER}/rows.csv"] = str(rows)
        return self.sandbox.run(Request(task, "m.onnx", files, SUBJECT, options, LIMITS))


def server_of(sandbox):
    sandbox.level()
    return sandbox._server._process.pid


def keep(content):
    """Save a counterexample for whoever has to mend it."""
    folder = os.environ.get("HUB_MUTANT_FOLDER")
    if folder:
        Path(folder, f"mutant-{time.time_ns()}.onnx").write_bytes(content)


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    """One for all of them: who takes its server along is told in the test that made it."""
    with Sandbox(tmp_path_factory.mktemp("scratch")) as made:
        yield made


@pytest.fixture(scope="module")
def seeds():
    return own_seeds() | shipped_seeds("simple", "pytorch-operator")


def still_honest(trial):
    report = trial.ask("check", samples.mlp(), {})
    assert report.outcome == "passed"
    assert {one["verdict"] for one in report.facts["verdicts"].values()} == {"ok"}


@pytest.mark.skipif(SECONDS > 0, reason="a longer run was asked for")
@pytest.mark.parametrize("task", MODEL_TASKS)
def test_every_task_survives_a_few_mutants(sandbox, seeds, tmp_path, task):
    trial = Trial(sandbox, tmp_path, seeds, Random(f"fixed for {task}"))
    for _ in range(FEW.get(task, 3)):
        trial.attempt(task)
    still_honest(trial)


@pytest.mark.skipif(SECONDS <= 0, reason="HUB_MUTANT_SECONDS is not set")
def test_every_task_survives_mutants_for_a_while(sandbox, tmp_path):
    seed = SEED or secrets.randbits(32)
    print(f"HUB_MUTANT_SEED={seed}")  # noqa: T201 - shown by pytest when the run fails
    folders = ("simple", "pytorch-operator", "pytorch-converted")
    seeds = own_seeds() | shipped_seeds(*folders) | node_seeds()
    trial = Trial(sandbox, tmp_path, seeds, Random(seed))
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for _ in range(10):
            # A check costs a tenth of the others and dies of the same models.
            trial.attempt("check")
        trial.attempt(trial.random.choice(MODEL_TASKS))
        still_honest(trial)
    assert trial.outcomes["passed"] > 0
    assert trial.outcomes["failed"] > 0


def test_mutants_differ_from_their_seed():
    """Most mutations change the model; else the tests above would prove nothing."""
    seeds = own_seeds()
    random = Random(7)
    changed = 0
    for _ in range(200):
        content = seeds[random.choice(sorted(seeds))]
        model = onnx.ModelProto.FromString(content)
        mutations.mutate(random, model, 2)
        changed += model.SerializeToString() != content
    assert changed > 180
