"""Opening, pausing and ending trainings. Who may: maintainers of the model's namespace."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from hub.protocol import federated, problems, training_rules
from hub.protocol.federated import Part
from hub.protocol.training_rules import Rules
from registry.core import events
from registry.core.account_uses import Dependent
from registry.core.outbox import Subject
from registry.core.permissions import Actor, require, require_user
from registry.federated.models import Round, Training
from registry.federated.models.trainings import BaseData, TrainingState
from registry.federated.schedule import Schedule
from registry.federated.services import evaluations, rounds
from registry.federated.services.locking import lock
from registry.models import File, RegisteredModel, User, Version
from registry.models.registered_models import has_files
from registry.storage.services import blobs

LONGEST_HYPERPARAMETERS = 20_000
MOST_PATTERNS, LONGEST_PATTERN = 100, 200
_RULES, _SCHEDULE = Rules(), Schedule()


@dataclass(frozen=True, slots=True)
class Plan:
    """What a training would be: its file, rules and schedule with defaults, and roles' patterns."""

    version: Version
    base_data: BaseData
    entry: str
    rules: Rules
    schedule: Schedule
    roles: dict[str, list[str]]


def plan(
    actor: Actor,
    *,
    version: Version,
    base_data: str,
    entry: str = "",
    rules: Rules,
    schedule: Schedule,
    roles: dict[str, list[str]],
) -> Plan:
    """Check what a training is to be made of; nothing is written.

    Raises NotAllowed, TrainingConflict, InvalidRequest.
    """
    require(actor, "training.manage", version.model)
    if version.state != Version.State.PUBLISHED:
        raise problems.TrainingConflict(
            f"{version.ref} is {version.state}; a training must start from a published version.",
            state=version.state,
        )
    _expect_undeclared(version, base_data)
    _expect_kept(rules, schedule)
    return Plan(version, BaseData(base_data), _entry(version, entry), rules, schedule, roles)


@transaction.atomic
def create(
    actor: Actor,
    *,
    version: Version,
    base_data: str = Training.BaseData.UNKNOWN,
    entry: str = "",
    title: str = "",
    rules: Rules = _RULES,
    schedule: Schedule = _SCHEDULE,
    roles: dict[str, list[str]] | None = None,
    hyperparameters: dict[str, Any] | None = None,
    release_every: int = 10,
    release_best: str = "",
    release_publishes: bool = True,
    opens_itself: bool = True,
) -> Training:
    """Make a training from a published version; a worker reads its schema first.

    ``base_data`` declares what an uploaded version was trained on; of one that came of a round,
    the hub knows it. ``roles`` are patterns of tensors' names by role, where the hub's guess is to
    be corrected.
    Raises NotAllowed, TrainingConflict, InvalidRequest.
    """
    checked = plan(
        actor,
        version=version,
        base_data=base_data,
        entry=entry,
        rules=rules,
        schedule=schedule,
        roles=roles or {},
    )
    model = RegisteredModel.objects.select_for_update().get(pk=version.model_id)
    highest = Training.objects.filter(model=model).aggregate(most=Max("number"))["most"] or 0
    training = Training.objects.create(
        model=model,
        number=highest + 1,
        base=version,
        base_data=base_data,
        entry=checked.entry,
        title=title.strip()[:200],
        rules=checked.rules.to_json(),
        schedule=checked.schedule.to_json(),
        roles=checked.roles,
        hyperparameters=_bounded(hyperparameters or {}),
        release_every=release_every,
        release_best=release_best,
        release_publishes=release_publishes,
        opens_itself=opens_itself,
        created_by=require_user(actor, of=model),
    )
    events.record("training.created", training, actor=actor, model=model, ref=str(training))
    return training


@transaction.atomic
def take_schema(
    *, training: Training, layout: list[Part], graph_sha256: str, skeleton: str, weights: str
) -> bool:
    """Keep what a worker read of a draft's file; False where it is no draft without schema.

    ``skeleton`` and ``weights`` are digests of stored files.
    A draft whose rules do not go with its tensors stays one, and ``refusal`` says why.
    """
    training = lock(training)
    if training.state != Training.State.DRAFT or training.layout_sha256:
        return False
    training.layout = [part.to_json() for part in layout]
    training.layout_sha256 = federated.layout_digest(layout)
    training.graph_sha256 = graph_sha256
    stored = blobs.hold([skeleton, weights])
    training.skeleton = stored[skeleton]
    training.skeleton_sha256 = skeleton
    training.weights = stored[weights]
    training.refusal = _misfits(training)
    training.save()
    events.record("training.read", training, actor=None, model=training.model)
    if training.opens_itself and not training.refusal:
        _open(training)
    return True


@transaction.atomic
def refuse_schema(*, training: Training, findings: list[dict[str, str]]) -> None:
    """Keep why a draft's file cannot be trained."""
    training = lock(training)
    if training.state == Training.State.DRAFT and not training.layout_sha256:
        training.refusal = findings[:50]
        training.save(update_fields=["refusal"])
        events.record("training.refused", training, actor=None, model=training.model)


@transaction.atomic
def edit(actor: Actor, *, training: Training, **changes: Any) -> Training:
    """Change title, hyperparameters or release policy; rules and schedule of a draft alone."""
    require(actor, "training.manage", training.model)
    training = lock(training)
    for name, read in (("rules", Rules.from_json), ("schedule", Schedule.from_json)):
        if name in changes:
            if training.state != Training.State.DRAFT:
                raise problems.TrainingConflict(
                    f"The {name} cannot be changed once the training is open. Start another "
                    "training."
                )
            changes[name] = read(_merged(getattr(training, name), changes[name])).to_json()
    _expect_kept(
        Rules.from_json(changes.get("rules", training.rules)),
        Schedule.from_json(changes.get("schedule", training.schedule)),
    )
    _bounded(changes.get("hyperparameters", {}))
    for name, value in changes.items():
        setattr(training, name, value)
    if "rules" in changes and training.layout_sha256:
        training.refusal = _misfits(training)
    training.save(update_fields=[*changes, "refusal"])
    events.record(
        "training.edited", training, actor=actor, model=training.model, fields=sorted(changes)
    )
    return training


def _merged(before: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """What is there with what changes; a delta goes with the noise that it is stated for."""
    merged = before | changes
    if merged.get("noise_multiplier") is None and "delta" not in changes:
        merged.pop("delta", None)
    return merged


@transaction.atomic
def set_state(actor: Actor, *, training: Training, state: str, reason: str = "") -> Training:
    """Open, pause, go on with, finish or cancel a training; raises TrainingConflict, NoiseUnfit.

    A pause lets the live round end and opens no other. Finishing and cancelling end that round.
    """
    require(actor, "training.manage", training.model)
    training = lock(training)
    if training.state == state:
        return training
    if state not in _MOVES.get(Training.State(training.state), set()):
        raise problems.TrainingConflict(
            f"{training} is {training.state} and cannot become {state}.", state=training.state
        )
    if state == Training.State.OPEN:
        _open(training, actor)
        return training
    training.state = state
    training.reason = reason.strip()
    if training.is_over:
        training.ended_at = timezone.now()
    training.save(update_fields=["state", "reason", "ended_at"])
    if training.is_over:
        rounds.cancel_live(training)
    if state == Training.State.CANCELLED:
        evaluations.cancel(training)
    events.record(f"training.{state}", training, actor=actor, model=training.model, reason=reason)
    evaluations.release_best(training)
    return training


@transaction.atomic
def on_deleted(subject: Subject) -> None:
    """Cancel the trainings of a model that was deleted permanently, with their rounds."""
    gone = Training.objects.filter(model=subject.model_id).exclude(has_files("model__"))
    for training in map(lock, gone.filter(state__in=_MOVES)):
        training.state, training.reason = Training.State.CANCELLED, "Its model was deleted."
        training.ended_at = timezone.now()
        training.save(update_fields=["state", "reason", "ended_at"])
        rounds.cancel_live(training)
        evaluations.cancel(training)
        events.record("training.cancelled", training, actor=None, model=training.model)


_MOVES = {
    Training.State.DRAFT: {Training.State.OPEN, Training.State.CANCELLED},
    Training.State.OPEN: {
        Training.State.PAUSED,
        Training.State.FINISHED,
        Training.State.CANCELLED,
    },
    Training.State.PAUSED: {
        Training.State.OPEN,
        Training.State.FINISHED,
        Training.State.CANCELLED,
    },
}


def _open(training: Training, actor: Actor | None = None) -> None:
    if not training.layout_sha256:
        words = " ".join(str(message.get("message", "")) for message in training.refusal[:3])
        raise problems.TrainingConflict(
            f"The schema of {training} is not known yet. {words or 'A worker is still reading it.'}"
        )
    if training.refusal:
        raise problems.NoiseUnfit(training.refusal[0]["message"])
    if training.opened_at is None and training.typed_schedule.has_cohort:
        training.selection_seed = secrets.token_hex(32)
    training.state = Training.State.OPEN
    training.opened_at = training.opened_at or timezone.now()
    training.save(update_fields=["state", "opened_at", "selection_seed"])
    events.record("training.open", training, actor=actor, model=training.model)
    if not Round.objects.filter(training=training, state__in=Round.LIVE).exists():
        rounds.open_next(training)


def _misfits(training: Training) -> list[dict[str, str]]:
    """What of a layout the rules cannot train, as a finding with its cure; empty where all fits."""
    moved = [part.name for part in training.typed_layout if part.role == federated.STATISTIC]
    if training.typed_rules.noise_multiplier is None or not moved:
        return []
    examples = ", ".join(repr(name[:100]) for name in moved[:3])
    words = (
        f"{training} has {len(moved)} statistics of batch normalisations, such as {examples}: "
        "their means leave each device unclipped, so noise cannot protect them and would break the "
        'model. Start another training with roles {"frozen": ["…"]} whose '
        "patterns name them, from a model with another normalisation, or set noise_multiplier to "
        "null in the rules of this draft."
    )
    return [{"code": "training-noise-unfit", "severity": "error", "message": words, "where": ""}]


def _expect_kept(rules: Rules, schedule: Schedule) -> None:
    """Raise InvalidRequest for rules that this hub cannot keep, and a quorum above their limit."""
    if rules.client_certificate and not settings.HUB_CERTIFICATE_PROXIES:
        raise problems.InvalidRequest.at(
            "/rules/client_certificate",
            "This hub trusts no proxy to verify client certificates, so no device could join. "
            "The operator must name such a proxy in HUB_CERTIFICATE_PROXIES.",
        )
    if rules.noise_multiplier is not None and schedule.evaluate_every:
        raise problems.InvalidRequest.at("/schedule/evaluate_every", training_rules.NOISE_UNCOUNTED)
    most = training_rules.MOST_ROBUST
    if rules.rule in training_rules.ROBUST and schedule.quorum > most:
        raise problems.InvalidRequest.at(
            "/schedule/quorum",
            f"The rule {rules.rule} accepts at most {most} contributions. Choose a "
            "smaller quorum or another rule.",
        )


def _expect_undeclared(version: Version, base_data: str) -> None:
    """Raise InvalidRequest for a word on a version of which the hub knows how it was trained."""
    if base_data == Training.BaseData.UNKNOWN:
        return
    origin = Round.objects.filter(version=version).select_related("training").first()
    if origin is not None:
        raise problems.InvalidRequest.at(
            "/base_data",
            f"{version.ref} was made by training {origin.training.number} on this hub, which "
            "records how it was trained. Leave this field out.",
        )


def patterns_of(roles: dict[str, Any]) -> dict[str, list[str]]:
    """Read patterns by role, in the order in which roles are read; raises InvalidRequest."""
    for role, patterns in roles.items():
        if role not in federated.ROLES:
            raise problems.InvalidRequest.at(
                f"/roles/{str(role)[:80]}", f"Valid roles: {', '.join(federated.ROLES)}."
            )
        if not _are_patterns(patterns):
            raise problems.InvalidRequest.at(
                f"/roles/{role}",
                f"This must list up to {MOST_PATTERNS} patterns of tensors' names, such as "
                f'"encoder.*", each of up to {LONGEST_PATTERN} characters.',
            )
    return {role: list(roles[role]) for role in federated.ROLES if role in roles}


def _are_patterns(patterns: Any) -> bool:
    return (
        isinstance(patterns, list)
        and len(patterns) <= MOST_PATTERNS
        and all(
            isinstance(pattern, str) and 0 < len(pattern) <= LONGEST_PATTERN for pattern in patterns
        )
    )


def _bounded(hyperparameters: dict[str, Any]) -> dict[str, Any]:
    """The same; raises InvalidRequest for more than each device should download each time."""
    if len(json.dumps(hyperparameters)) > LONGEST_HYPERPARAMETERS:
        raise problems.InvalidRequest.at(
            "/hyperparameters",
            f"Hyperparameters may have at most {LONGEST_HYPERPARAMETERS} characters of JSON.",
        )
    return hyperparameters


def _entry(version: Version, entry: str) -> str:
    """The ONNX file that is trained: the one named, or the version's first variant's."""
    if not entry:
        first = version.variants.select_related("entry").filter(origin="uploaded").first()
        entry = first.entry.path if first else "model.onnx"
    if not File.objects.filter(version=version, path=entry, derived=False).exists():
        raise problems.InvalidRequest.at("/entry", f"{version.ref} has no file {entry}.")
    return entry


def of_account(user: User) -> Iterator[Dependent]:
    """The trainings that release versions in the name of a user."""

    def hand_over(training: Training, heir: User) -> None:
        Training.objects.filter(pk=training.pk).update(created_by=heir)

    live = (TrainingState.DRAFT, TrainingState.OPEN, TrainingState.PAUSED)
    for training in user.trainings.filter(state__in=live).select_related("model__namespace"):
        yield Dependent(
            "training",
            str(training),
            training.model.namespace,
            "training.manage",
            partial(hand_over, training),
        )
