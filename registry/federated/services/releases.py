"""The result of a round as a version: the same skeleton, new weights, a card that names the rounds.

It is submitted and checked as any version is; nothing of a participant is in it.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from hub.protocol import federated
from registry.cards import cards, edits
from registry.cards.fields import INHERITED
from registry.core import events
from registry.federated import history, privacy, scores, selectors
from registry.federated.models import Round, Training
from registry.models import Blob, File, RegisteredModel, Version
from registry.storage.services import blobs, quotas
from registry.versions import lifecycle
from registry.versions.services import files

MOST_ROUNDS_NAMED = 100
# Files that hold weights, in the formats that models are published in.
WEIGHT_ENDINGS = (
    ".onnx", ".onnx_data", ".onnx.data", ".ort", ".safetensors", ".bin", ".pt", ".pth", ".ckpt",
    ".h5", ".keras", ".msgpack", ".tflite", ".gguf", ".pb", ".mlmodel", ".npz", ".pkl", ".joblib",
)  # fmt: skip


def best(training: Training) -> Round | None:
    """The round with the best score, the first of equals; None where no score decides."""
    order = {Training.Best.HIGHEST: "-score", Training.Best.LOWEST: "score"}
    if not training.release_best:
        return None
    scored = training.rounds.filter(score__isnull=False).select_related("aggregate")
    return scored.order_by(order[Training.Best(training.release_best)], "number").first()


def release(training: Training, ended: Round) -> Version:
    """Draft and submit the version of an aggregated round, inside the caller's transaction.

    Raises QuotaExceeded, CardInvalid.
    """
    result = ended.aggregate.result
    assert result is not None  # noqa: S101 - the caller asked, or has just made it
    assert training.skeleton is not None  # noqa: S101 - as long as the training is
    model = RegisteredModel.objects.select_for_update().get(pk=training.model_id)
    quotas.lock(model.namespace)
    version = lifecycle.draft(
        model,
        training.created_by,
        message=f"Round {ended.number} of training {training.number}",
        branch=training.base.branch,
    )
    folder = PurePosixPath(training.entry).parent
    _put(version, training.entry, training.skeleton)
    _put(version, str(folder / federated.WEIGHTS), result)
    for path, blob in _kept_files(training):
        _put(version, path, blob)
    readme = card(training, ended).encode()
    files.take_card(version, readme)
    _put(version, cards.CARD_PATH, blobs.write(readme))
    quotas.expect(training.model.namespace, result.size)
    lifecycle.freeze(version, training.created_by, publish=training.release_publishes)
    ended.version = version
    ended.save(update_fields=["version"])
    events.record(
        "round.released",
        ended,
        actor=None,
        model=model,
        number=ended.number,
        version=version.number,
    )
    return version


def card(training: Training, ended: Round) -> str:
    """The card of a round's version: what its base says that still holds, and how it was made."""
    front: dict[str, Any] = {
        name: training.base.card[name] for name in INHERITED if training.base.card.get(name)
    }
    front |= {
        "base_model": f"{training.model.ref}@{training.base.number}",
        "base_model_relation": "finetune",
    }
    head = "".join(edits.written(name, value) for name, value in front.items())
    rules = training.typed_rules
    words = (
        f"{training.title or 'A federated training'}: devices trained this model on their own "
        f"data, starting from version {training.base.number} on, and sent their updates. The hub "
        f"checked each contribution and aggregated them with the rule `{rules.rule}`. The graph is "
        f"that of version {training.base.number}, byte for byte."
    )
    body = [
        f"# {training.model.ref}, training {training.number}, round {ended.number}",
        "",
        words,
        "",
        "| round | contributions | examples | left out | weights |",
        "| --- | --- | --- | --- | --- |",
        *_rows(training, ended),
        "",
        f"Examples are counted by the devices themselves, up to {rules.examples_cap} each.",
        "",
        *_evaluation(ended),
        "## Differential privacy",
        "",
        privacy.words(privacy.of_round(ended)),
        "",
    ]
    return "\n".join([f"---\n{head}---", "", *body])


def _evaluation(ended: Round) -> list[str]:
    evaluation = selectors.evaluations([ended]).get(ended.pk)
    joined = history.open_scores(evaluation) if evaluation else None
    return ["## Evaluation on devices", "", scores.words(joined.all), ""] if joined else []


def _rows(training: Training, ended: Round) -> list[str]:
    rounds = Round.objects.filter(
        training=training, state=Round.State.AGGREGATED, number__lte=ended.number
    ).select_related("aggregate")
    rows = []
    for row in reversed(rounds.order_by("-number")[:MOST_ROUNDS_NAMED]):
        aggregate = row.aggregate
        count = history.open_examples(aggregate)
        examples = "not shown because of the noise" if count is None else count
        rows.append(
            f"| {row.number} | {len(aggregate.inputs)} | {examples} "
            f"| {len(aggregate.left_out)} | `{aggregate.result_sha256[:16]}…` |"
        )
    return rows


def _kept_files(training: Training) -> list[tuple[str, Blob]]:
    """Files of the base besides its models, their external data, other weights and its card.

    Weights in another format are those of the base: they would pass for the result.
    """
    base = training.base
    replaced = {cards.CARD_PATH, str(PurePosixPath(training.entry).parent / federated.WEIGHTS)}
    for variant in base.variants.select_related("entry"):
        replaced |= variant.paths
    rows = File.objects.filter(version=base, derived=False).select_related("blob")
    return [
        (row.path, row.blob)
        for row in rows
        if row.path not in replaced and not row.path.lower().endswith(WEIGHT_ENDINGS)
    ]


def _put(version: Version, path: str, blob: Blob) -> None:
    File.objects.create(version=version, path=path, blob=blob, **files.git_names(path, blob))
