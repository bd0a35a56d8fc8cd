"""Trainings, rounds and contributions as the API gives and takes them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from rest_framework import serializers

from hub.protocol.training_rules import FEDAVG, Rules
from registry.api.addresses import api_url
from registry.api.inputs import MOST_VALUES, Input, Items
from registry.api.serializers import Digest
from registry.federated import attacks, history, privacy, selection
from registry.federated.models import (
    Aggregate,
    Contribution,
    Participant,
    Round,
    Training,
)
from registry.federated.schedule import Schedule
from registry.federated.services import rounds, trainings


def address(training: Training) -> str:
    """The address of a training in the API."""
    return api_url("models", training.model.ref, "trainings", str(training.number))


class TrainingEdit(Input):
    """The changeable fields of a training; rules and schedule only in a draft."""

    title = serializers.CharField(max_length=200, allow_blank=True, required=False)
    rules = serializers.DictField(
        required=False,
        help_text="how contributions are aggregated; docs/federated.md describes the fields and "
        f"figures of every rule. The default is {attacks.words(FEDAVG)} {attacks.limits()}",
    )
    schedule = serializers.DictField(required=False, help_text="see docs/federated.md")
    hyperparameters = serializers.DictField(required=False, help_text="passed to devices unchanged")
    release_every = serializers.IntegerField(
        min_value=0,
        max_value=1_000_000,
        required=False,
        help_text="release after this number of rounds; 0 releases on request",
    )
    release_best = serializers.ChoiceField(
        Training.Best.choices,
        allow_blank=True,
        required=False,
        help_text="score that selects the round to release when the training is finished; empty "
        "for none",
    )
    release_publishes = serializers.BooleanField(required=False)


class TrainingInput(TrainingEdit):
    """A new training, based on a published version."""

    version = serializers.IntegerField(min_value=1)
    base_data = serializers.ChoiceField(
        Training.BaseData.choices,
        required=False,
        default=Training.BaseData.UNKNOWN,
        help_text="what an uploaded version was trained on: `untrained` for initial weights, "
        "`public` for data that belong to no participant. With `unknown`, no ε is stated "
        "regardless of the noise",
    )
    entry = serializers.CharField(max_length=512, required=False, default="")
    roles = serializers.DictField(
        required=False, help_text="patterns of tensor names by role; see docs/federated.md"
    )
    open = serializers.BooleanField(
        required=False, default=True, help_text="open the training as soon as its schema is known"
    )

    def validate_rules(self, value: Any) -> Rules:
        return Rules.from_json(value)

    def validate_schedule(self, value: Any) -> Schedule:
        return Schedule.from_json(value)

    def validate_roles(self, value: Any) -> dict[str, list[str]]:
        return trainings.patterns_of(value)


class StepInput(Input):
    """The reason for a step of a training."""

    reason = serializers.CharField(max_length=1000, allow_blank=True, required=False, default="")


class RoundInput(Input):
    """A new round, for all participants or for the named ones."""

    participants = Items(
        child=serializers.CharField(),
        max_length=MOST_VALUES,
        required=False,
        allow_null=True,
        default=None,
    )


class ScoreInput(Input):
    """The score of a round's result on held-out data."""

    score = serializers.FloatField()


class InviteInput(Input):
    uses = serializers.IntegerField(min_value=1, required=False, default=1)
    group = serializers.CharField(max_length=64, allow_blank=True, required=False, default="")
    expires_days = serializers.IntegerField(min_value=1, required=False, default=30)


class JoinInput(Input):
    """A device that joins a training."""

    invite = serializers.CharField(max_length=200)
    public_key = serializers.CharField(max_length=100, help_text="Ed25519, base64url")
    runtime = serializers.CharField(max_length=100, allow_blank=True, required=False, default="")
    capabilities = serializers.DictField(required=False, default=dict)


class ParticipantEdit(Input):
    """The changeable fields of a participant."""

    state = serializers.ChoiceField(Participant.State.choices, required=False)
    certificate = serializers.RegexField(
        r"^(sha256:[0-9a-f]{64})?$",
        allow_blank=True,
        required=False,
        help_text="certificate that its requests must present; empty for any",
    )


class ContributionInput(Input):
    """A contribution whose bytes were uploaded before, named in its signed manifest."""

    manifest = serializers.DictField()
    signature = serializers.CharField(max_length=100)
    blob = serializers.CharField(required=False, help_text="as in the manifest, if given")
    n = serializers.IntegerField(required=False, help_text="as in the manifest, if given")


class InviteOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    group = serializers.CharField()
    uses = serializers.IntegerField()
    used = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    revoked_at = serializers.DateTimeField(allow_null=True)


class InviteMadeOutput(InviteOutput):
    code = serializers.CharField(help_text="shown only once")


class ParticipantOutput(serializers.Serializer[Participant]):
    participant = serializers.CharField(source="pseudonym")
    group = serializers.CharField()
    state = serializers.ChoiceField(Participant.State.choices)
    runtime = serializers.CharField()
    certificate = serializers.SerializerMethodField(
        help_text="digest of the client certificate it is bound to; empty for none"
    )
    joined_at = serializers.DateTimeField()

    def get_certificate(self, row: Participant) -> str:
        return f"sha256:{row.certificate}" if row.certificate else ""


class JoinedOutput(serializers.Serializer[Any]):
    participant = serializers.CharField(help_text="pseudonym used in manifests")
    token = serializers.CharField(help_text="shown only once")
    training = serializers.CharField(help_text="id used in manifests")


class ContributionOutput(serializers.Serializer[Contribution]):
    """Your contribution to a round."""

    round = serializers.IntegerField(source="round.number")
    state = serializers.ChoiceField(Contribution.State.choices)
    blob = Digest(source="sha256")
    bytes = serializers.IntegerField(source="size")
    n = serializers.IntegerField()
    encoding = serializers.CharField()
    received_at = serializers.DateTimeField()
    problem = serializers.SerializerMethodField(help_text="problem type of the rejection")
    tensor = serializers.CharField()
    detail = serializers.CharField()
    figures = serializers.JSONField()

    def get_problem(self, row: Contribution) -> str | None:
        return f"{settings.HUB_PUBLIC_URL}/problems/{row.problem}" if row.problem else None


class GivenOutput(ContributionOutput):
    """A contribution as maintainers see it: by pseudonym."""

    participant = serializers.CharField(source="participant.pseudonym")
    group = serializers.CharField(source="participant.group")


class AggregateOutput(serializers.Serializer[Any]):
    """The result of a round's contributions, without participants' names."""

    rules = serializers.JSONField()
    participants = serializers.SerializerMethodField()
    examples = serializers.SerializerMethodField(
        help_text="as counted by the devices; null with noise unless you are a maintainer"
    )
    left_out = serializers.SerializerMethodField(help_text="number by reason")
    result = Digest(source="result_sha256")
    figures = serializers.SerializerMethodField(help_text="maintainers read all of them")
    seed_commitment = serializers.SerializerMethodField(
        help_text="digest of the seed of the noise, which is never shown; null without noise"
    )
    engine = serializers.JSONField()
    privacy = serializers.SerializerMethodField(
        help_text="differential privacy of the result, as for a training"
    )
    planned_at = serializers.DateTimeField()
    made_at = serializers.DateTimeField(allow_null=True)

    def get_privacy(self, row: Aggregate) -> dict[str, Any]:
        return privacy.of_round(row.round).to_json()

    def get_participants(self, row: Aggregate) -> int:
        return len(row.inputs)

    def get_examples(self, row: Aggregate) -> int | None:
        return row.examples if self.context["may_manage"] else history.open_examples(row)

    def get_figures(self, row: Aggregate) -> dict[str, Any]:
        return row.figures if self.context["may_manage"] else history.open_figures(row)

    def get_seed_commitment(self, row: Aggregate) -> str | None:
        return f"sha256:{selection.commitment(row.seed)}" if row.seed else None

    def get_left_out(self, row: Aggregate) -> dict[str, int]:
        return history.tally(row.left_out)


class RoundOutput(serializers.Serializer[Round]):
    """A round with the number of its contributions in each state."""

    number = serializers.IntegerField()
    mode = serializers.ChoiceField(Round.Mode.choices)
    state = serializers.ChoiceField(Round.State.choices)
    base = Digest(source="base_sha256")
    quorum = serializers.IntegerField()
    target = serializers.IntegerField()
    opened_at = serializers.DateTimeField()
    deadline = serializers.DateTimeField()
    closed_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField(help_text="why it failed: below-quorum or aggregation-failed")
    selection = serializers.SerializerMethodField(
        help_text="number of selected participants; null if anyone may contribute"
    )
    contributions = serializers.SerializerMethodField(help_text="number by state")
    result = serializers.SerializerMethodField(help_text="digest of the aggregate, if there is one")
    score = serializers.FloatField(
        help_text="scores on held-out data, entered by maintainers", allow_null=True
    )
    version = serializers.IntegerField(source="version.number", default=None, allow_null=True)

    def get_selection(self, row: Round) -> dict[str, Any] | None:
        if row.selected is None:
            return None
        drawn = {
            "candidates": row.candidates,
            "seed": row.seed,
            "limit": selection.limit(row.seed, row.selected),
        }
        return {"asked": len(row.selected), **(drawn if row.seed else {})}

    def get_contributions(self, row: Round) -> dict[str, int]:
        return rounds.counts([row])[row.pk]

    def get_result(self, row: Round) -> str | None:
        aggregate = getattr(row, "aggregate", None)
        return (
            f"sha256:{aggregate.result_sha256}" if aggregate and aggregate.result_sha256 else None
        )


class TrainingOutput(serializers.Serializer[Training]):
    """A training with its rules, schedule, participants and progress."""

    id = serializers.UUIDField(source="uuid", help_text="name used in manifests")
    model = serializers.CharField(source="model.ref")
    number = serializers.IntegerField()
    title = serializers.CharField()
    state = serializers.ChoiceField(Training.State.choices)
    reason = serializers.CharField()
    refusal = serializers.JSONField(help_text="why a draft cannot be opened")
    base = serializers.IntegerField(source="base.number")
    base_data = serializers.ChoiceField(
        Training.BaseData.choices,
        help_text="what an uploaded base was trained on, as maintainers declare it",
    )
    entry = serializers.CharField()
    layout_digest = serializers.CharField(source="layout_sha256")
    graph_digest = serializers.CharField(source="graph_sha256")
    roles = serializers.JSONField(help_text="requested patterns of tensor names by role")
    tensors = serializers.SerializerMethodField(help_text="number of tensors by role")
    rules = serializers.JSONField()
    schedule = serializers.JSONField()
    hyperparameters = serializers.JSONField()
    release_every = serializers.IntegerField()
    release_best = serializers.CharField(help_text="highest or lowest score; empty for none")
    release_publishes = serializers.BooleanField()
    selection = serializers.SerializerMethodField(
        help_text="digest of the seed of all draws, plus the seed itself once the training has "
        "ended; null without draws"
    )
    privacy = serializers.SerializerMethodField(
        help_text="differential privacy of the weights it has now, composed over all rounds of "
        "the versions they derive from: a sentence, epsilon for one participant added or removed "
        "and for one replaced, delta, and the accounting terms; guarantee `none` with its cause"
    )
    participants = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()
    opened_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    round = serializers.SerializerMethodField(help_text="the current round, or the latest one")
    url = serializers.SerializerMethodField()

    def get_tensors(self, row: Training) -> dict[str, int]:
        counts: dict[str, int] = {}
        for part in row.layout:
            counts[part["role"]] = counts.get(part["role"], 0) + 1
        return counts

    def get_selection(self, row: Training) -> dict[str, str] | None:
        if not row.selection_seed:
            return None
        data = {"commitment": f"sha256:{selection.commitment(row.selection_seed)}"}
        return {**data, "seed": row.selection_seed} if row.is_over else data

    def get_privacy(self, row: Training) -> dict[str, Any]:
        return privacy.of_training(row).to_json()

    def get_participants(self, row: Training) -> int:
        return row.participants.filter(state=Participant.State.ACTIVE).count()

    def get_round(self, row: Training) -> dict[str, Any] | None:
        newest = Round.objects.filter(training=row).select_related("aggregate", "version").first()
        return dict(RoundOutput(newest).data) if newest else None

    def get_url(self, row: Training) -> str:
        return address(row)


class TrainingSummaryOutput(serializers.Serializer[Training]):
    """A training, as shown in lists."""

    number = serializers.IntegerField()
    title = serializers.CharField()
    state = serializers.ChoiceField(Training.State.choices)
    base = serializers.IntegerField(source="base.number")
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    url = serializers.SerializerMethodField()

    def get_url(self, row: Training) -> str:
        return address(row)
