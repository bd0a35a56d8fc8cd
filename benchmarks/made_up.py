"""Made-up models for benchmarks: facts as rows would give them, the same ones for the same number.

In the proportions of a public hub: most cards tell little, some tell of
carbon, personal data, earlier models and figures. Nothing here was measured on anything.
"""

from __future__ import annotations

import random
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hub.protocol.facts import Facts
from hub.protocol.figures import Figure, Unit
from hub.protocol.intervals import Interval, IntervalMethod
from metadata.graphs import facts

START = datetime(2026, 1, 1, tzinfo=UTC)
TASKS = (
    "image-classification", "object-detection", "text-classification", "translation",
    "token-classification", "automatic-speech-recognition", "tabular-classification",
    "image-to-image",
)  # fmt: skip
LICENCES = ("apache-2.0",) * 5 + ("mit",) * 3 + ("cc-by-nc-4.0", "openrail", "")
OPERATORS = (
    "Add", "Conv", "Gather", "Gemm", "GridSample", "MatMul", "Mul", "Relu", "Reshape", "Resize",
    "Sigmoid", "Softmax", "Split", "Transpose",
)  # fmt: skip
SUBJECTS = ("sports", "birds", "traffic", "speech", "digits", "receipts", "leaves", "planets")
PRECISIONS = {
    "float32": {"float": 900}, "float16": {"float16": 900}, "int8": {"int8": 880, "float": 20},
    "mixed": {"float16": 500, "float": 400},
}  # fmt: skip
DATASETS = 200
RUNTIME = ("onnxruntime", "1.31.1")


def versions(count: int) -> list[facts.VersionFacts]:
    """``count`` models with one version each; every fifth is derived from an earlier one."""
    chance = random.Random(count)  # noqa: S311 - a benchmark, not a secret
    return [_version(chance, index) for index in range(count)]


def namespace(index: int) -> str:
    """Who published the model of that number."""
    return f"lab{index % 97}"


def name(index: int) -> str:
    """What the model of that number is called."""
    return f"{SUBJECTS[index % len(SUBJECTS)]}-{index}"


def models(of: list[facts.VersionFacts]) -> list[facts.ModelFacts]:
    """The models that those versions belong to."""
    return [
        facts.ModelFacts(
            namespace=facts.AgentFacts(one.namespace, organisation=True, title=one.namespace),
            name=one.name,
            created_at=one.created_at,
            published_at=one.published_at,
            summary=one.summary,
            licenses=one.licenses,
            task=one.task,
            keywords=one.keywords,
            versions=(1,),
            newest=1,
        )
        for one in of
    ]


def _version(chance: random.Random, index: int) -> facts.VersionFacts:
    subject, task = SUBJECTS[index % len(SUBJECTS)], chance.choice(TASKS)
    at = START + timedelta(minutes=index)
    precision = chance.choice(tuple(PRECISIONS))
    size = chance.randrange(10**5, 2 * 10**8)
    card = _card(chance, index)
    return facts.VersionFacts(
        namespace=namespace(index),
        name=name(index),
        number=1,
        state="published",
        uploader=f"person{index % 211}",
        created_at=at,
        published_at=at,
        manifest_sha256=f"{index:064x}",
        summary=f"Made-up model {index} for {subject}.",
        licenses=(chance.choice(LICENCES),),
        task=task,
        keywords=(subject,),
        card=card,
        files=(
            facts.FileFacts("model.onnx", f"{index + 10**9:064x}", size),
            facts.FileFacts("README.md", f"{index + 2 * 10**9:064x}", 1200),
        ),
        variants=(
            facts.VariantFacts(
                name="default",
                entry="model.onnx",
                opset=chance.randrange(9, 27),
                ir_version=chance.randrange(4, 12),
                precision=precision,
                parameters=size // 4,
                facts=Facts.read(_facts(chance, PRECISIONS[precision])),
            ),
        ),
        checks=(facts.CheckFacts("onnx", "passed", (), at),),
        results=tuple(
            facts.ResultFacts(
                key=index * 4 + place,
                variant="default",
                runtime=RUNTIME[0],
                runtime_version=RUNTIME[1],
                check=check,
                outcome="failed" if chance.random() < 0.03 else "passed",
                blames="",
                reason="",
                at=at,
            )
            for place, check in enumerate(("bundled", "determinism"))
        ),
        measured=_measured(chance, index, card),
        entries=_entries(card),
    )


def _measured(
    chance: random.Random, index: int, card: dict[str, Any]
) -> tuple[facts.EvaluationFacts, ...]:
    """A second opinion on every fourth claim, a little below it."""
    if "model-index" not in card or index % 4:
        return ()
    result = card["model-index"][0]["results"][0]
    claimed = Decimal(str(result["metrics"][0]["value"]))
    value = float(claimed - Decimal(chance.randrange(0, 120)) / 1000)
    return (
        facts.EvaluationFacts(
            key="made-up",
            variant="default",
            metric="accuracy",
            figure=Figure(
                value,
                Unit.SHARE,
                interval=Interval(value - 0.01, value + 0.01, IntervalMethod.CLOPPER_PEARSON),
            ),
            dataset=entry_slug(result["dataset"]["type"]),
            dataset_version=1,
            split="test",
            rows=1000,
            predictions_sha256="0" * 64,
            at=START,
        ),
    )


def _facts(chance: random.Random, stored: dict[str, int]) -> dict[str, Any]:
    picture = chance.random() < 0.05
    return {
        "opsets": {"": 17},
        "operators": [
            {"domain": "", "name": name, "count": 1} for name in chance.sample(OPERATORS, 5)
        ],
        "inputs": [{"name": "input", "type": "tensor", "dtype": "float", "shape": [None, 3]}],
        "outputs": [{"name": "output", "type": "tensor", "dtype": "float", "shape": [None, 10]}],
        "precision_profile": {"bytes_by_dtype": stored, "forms": []},
        "producer": {"name": "pytorch", "version": "2.9.0"},
        "metadata": {"Image.BitmapPixelFormat": "Bgr8"} if picture else {},
    }


def _card(chance: random.Random, index: int) -> dict[str, Any]:
    card: dict[str, Any] = {}
    if chance.random() < 0.3:
        card["co2_eq_emissions"] = {"emissions": chance.randrange(1, 10**6)}
    if chance.random() < 0.5:
        data = chance.randrange(DATASETS)
        said = ("yes", "no", "anonymised", "unknown")[data % 4]
        card["training_data"] = [
            {"name": f"Data {data}", "iri": _dataset(data), "personal_data": said}
        ]
    if index > 10 and chance.random() < 0.2:
        base = chance.randrange(index)
        card["base_model"] = f"{namespace(base)}/{name(base)}@1"
        card["base_model_relation"] = chance.choice(("finetune", "quantized"))
    if chance.random() < 0.3:
        card["model-index"] = [{"name": "made up", "results": [_result(chance)]}]
    return card


def _result(chance: random.Random) -> dict[str, Any]:
    return {
        "dataset": {"type": _dataset(chance.randrange(DATASETS)), "name": "Data"},
        "metrics": [{"type": "accuracy", "value": chance.randrange(500, 999) / 1000}],
    }


def entry_slug(dataset: str) -> str:
    return f"set-{dataset.rpartition('/')[2]}"


def _entries(card: dict[str, Any]) -> tuple[facts.EntryFacts, ...]:
    """The entry of the data set that a card reports a result on."""
    if "model-index" not in card:
        return ()
    dataset = card["model-index"][0]["results"][0]["dataset"]["type"]
    return (facts.EntryFacts(entry_slug(dataset), (dataset,)),)


def _dataset(number: int) -> str:
    return f"https://data.example/sets/{number}"
