"""Trainings, rounds and contributions as the API gives and takes them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from rest_framework import serializers

from hub.protocol.training_rules import FEDAVG, Rules
from registry.api.addresses import api_url
from registry.api.inputs import MOST_VALUES, Input, Items
from registry.api.outputs import Column, Columns, Digest, Output
from registry.federated import attacks, history, privacy, selection
from registry.federated.models import (
    Aggregate,
    Contribution,
    Invite,
    Participant,
    Round,
    Training,
)
from registry.federated.schedule import Schedule
from registry.federated.services import participants, rounds, trainings


def address(training: Training) -> str:
    """The address of a training in the API."""
    return api_url("models", training.model.ref, "trainings", str(training.number))


class TrainingEdit(Input):
    """The changeable fields of a training; rules and schedule only in a draft."""

    columns = Columns(
        "title",
        Column(
            "rules",
            kind=dict,
            help_text="how contributions are aggregated; docs/federated.md describes the fields "
            f"and figures of every rule. The default is {attacks.words(FEDAVG)} {attacks.limits()}",
        ),
        Column("schedule", kind=dict, help_text="see docs/federated.md"),
        Column("hyperparameters", kind=dict, help_text="passed to devices unchanged"),
        Column(
            "release_every",
            min_value=0,
            max_value=1_000_000,
            help_text="release after this number of rounds; 0 releases on request",
        ),
        Column(
            "release_best",
            help_text="score that selects the round to release when the training is finished; "
            "empty for none",
        ),
        "release_publishes",
        of=Training,
        required=False,
    )


class TrainingInput(TrainingEdit):
    """A new training, based on a published version."""

    columns = Columns(
        Column("version", kind=int, min_value=1),
        Column(
            "base_data",
            help_text="what an uploaded version was trained on: `untrained` for initial weights, "
            "`public` for data that belong to no participant. With `unknown`, no ε is stated "
            "regardless of the noise",
        ),
        Column("entry", default=""),
        Column(
            "roles",
            kind=dict,
            required=False,
            help_text="patterns of tensor names by role; see docs/federated.md",
        ),
        Column(
            "open",
            kind=bool,
            default=True,
            help_text="open the training as soon as its schema is known",
        ),
        of=Training,
    )

    def validate_rules(self, value: Any) -> Rules:
        return Rules.from_json(value)

    def validate_schedule(self, value: Any) -> Schedule:
        return Schedule.from_json(value)

    def validate_roles(self, value: Any) -> dict[str, list[str]]:
        return trainings.patterns_of(value)


class StepInput(Input):
    """The reason for a step of a training."""

    columns = Columns(Column("reason", max_length=1000, allow_blank=True, default=""))


class RoundInput(Input):
    """A new round, for all participants or for the named ones."""

    columns = Columns(
        Column(
            "participants",
            field=Items,
            child=serializers.CharField(),
            max_length=MOST_VALUES,
            allow_null=True,
            default=None,
        )
    )


class ScoreInput(Input):
    """The score of a round's result on held-out data."""

    columns = Columns("score", of=rounds.give_score)


class InviteInput(Input):
    columns = Columns(
        Column("uses", min_value=1),
        Column("group", max_length=64),
        Column("expires_days", min_value=1),
        of=participants.invite,
    )


class JoinInput(Input):
    """A device that joins a training."""

    columns = Columns(
        Column("invite", kind=str, max_length=200),
        Column("public_key", max_length=100, help_text="Ed25519, base64url"),
        Column("runtime", max_length=100),
        Column("capabilities", kind=dict, default=dict),
        of=participants.join,
    )


class ParticipantEdit(Input):
    """The changeable fields of a participant."""

    columns = Columns(
        "state",
        Column(
            "certificate",
            field=serializers.RegexField,
            regex=r"^(sha256:[0-9a-f]{64})?$",
            allow_blank=True,
            help_text="certificate that its requests must present; empty for any",
        ),
        of=Participant,
        required=False,
    )


class ContributionInput(Input):
    """A contribution whose bytes were uploaded before, named in its signed manifest."""

    columns = Columns(
        Column("manifest", kind=dict),
        Column("signature", max_length=100),
        Column("blob", required=False, help_text="as in the manifest, if given"),
        Column("n", kind=int, required=False, help_text="as in the manifest, if given"),
    )


class InviteOutput(Output[Invite]):
    columns = Columns("id", "group", "uses", "used", "created_at", "expires_at", "revoked_at")


class InviteMadeOutput(InviteOutput):
    code = serializers.CharField(help_text="shown only once")


class ParticipantOutput(Output[Participant]):
    columns = Columns(
        Column("participant", "pseudonym"),
        "group",
        "state",
        "runtime",
        Column(
            "certificate",
            help_text="digest of the client certificate it is bound to; empty for none",
        ),
        "joined_at",
    )

    def get_certificate(self, row: Participant) -> str:
        return f"sha256:{row.certificate}" if row.certificate else ""


class JoinedOutput(Output[Participant]):
    columns = Columns(
        Column("participant", kind=str, help_text="pseudonym used in manifests"),
        Column("token", kind=str, help_text="shown only once"),
        Column("training", kind=str, help_text="id used in manifests"),
    )


class ContributionOutput(Output[Contribution]):
    """Your contribution to a round."""

    columns = Columns(
        Column("round", "round.number"),
        "state",
        Column("blob", "sha256", field=Digest),
        Column("bytes", "size"),
        "n",
        "encoding",
        "received_at",
        Column("problem", help_text="problem type of the rejection"),
        "tensor",
        "detail",
        "figures",
    )

    def get_problem(self, row: Contribution) -> str | None:
        return f"{settings.HUB_PUBLIC_URL}/problems/{row.problem}" if row.problem else None


class GivenOutput(ContributionOutput):
    """A contribution as maintainers see it: by pseudonym."""

    columns = Columns(
        Column("participant", "participant.pseudonym"), Column("group", "participant.group")
    )


class AggregateOutput(Output[Aggregate]):
    """The result of a round's contributions, without participants' names."""

    columns = Columns(
        "rules",
        "participants",
        Column(
            "examples",
            help_text="as counted by the devices; null with noise unless you are a maintainer",
        ),
        Column("left_out", help_text="number by reason"),
        Column("result", "result_sha256", field=Digest),
        Column("figures", help_text="maintainers read all of them"),
        Column(
            "seed_commitment",
            help_text="digest of the seed of the noise, which is never shown; null without noise",
        ),
        "engine",
        Column("privacy", help_text="differential privacy of the result, as for a training"),
        "planned_at",
        "made_at",
    )

    def get_privacy(self, row: Aggregate) -> dict[str, Any]:
        return privacy.of_round(row.round).to_json()

    def get_participants(self, row: Aggregate) -> int:
        return len(row.inputs)

    def get_examples(self, row: Aggregate) -> int | None:
        return row.examples if self.context["view"].may_manage else history.open_examples(row)

    def get_figures(self, row: Aggregate) -> dict[str, Any]:
        return row.figures if self.context["view"].may_manage else history.open_figures(row)

    def get_seed_commitment(self, row: Aggregate) -> str | None:
        return f"sha256:{selection.commitment(row.seed)}" if row.seed else None

    def get_left_out(self, row: Aggregate) -> dict[str, int]:
        return history.tally(row.left_out)


class RoundOutput(Output[Round]):
    """A round with the number of its contributions in each state."""

    columns = Columns(
        "number",
        "mode",
        "state",
        Column("base", "base_sha256", field=Digest),
        "quorum",
        "target",
        "opened_at",
        "deadline",
        "closed_at",
        "ended_at",
        Column("reason", help_text="why it failed: below-quorum or aggregation-failed"),
        Column(
            "selection", help_text="number of selected participants; null if anyone may contribute"
        ),
        Column("contributions", help_text="number by state"),
        Column("result", help_text="digest of the aggregate, if there is one"),
        Column("score", help_text="scores on held-out data, entered by maintainers"),
        Column("version", "version.number"),
    )

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


class TrainingOutput(Output[Training]):
    """A training with its rules, schedule, participants and progress."""

    columns = Columns(
        Column("id", "uuid", help_text="name used in manifests"),
        Column("model", "model.ref"),
        "number",
        "title",
        "state",
        "reason",
        Column("refusal", help_text="why a draft cannot be opened"),
        Column("base", "base.number"),
        Column(
            "base_data", help_text="what an uploaded base was trained on, as maintainers declare it"
        ),
        "entry",
        Column("layout_digest", "layout_sha256"),
        Column("graph_digest", "graph_sha256"),
        Column("roles", help_text="requested patterns of tensor names by role"),
        Column("tensors", help_text="number of tensors by role"),
        "rules",
        "schedule",
        "hyperparameters",
        "release_every",
        Column(
            "release_best",
            kind=str,
            help_text="highest or lowest score; empty for none",
        ),
        "release_publishes",
        Column(
            "selection",
            help_text="digest of the seed of all draws, plus the seed itself once the training has "
            "ended; null without draws",
        ),
        Column(
            "privacy",
            help_text="differential privacy of the weights it has now, composed over all rounds of "
            "the versions they derive from: a sentence, epsilon for one participant added or "
            "removed and for one replaced, delta, and the accounting terms; guarantee `none` with "
            "its cause",
        ),
        "participants",
        "created_at",
        "opened_at",
        "ended_at",
        Column("round", help_text="the current round, or the latest one"),
        "url",
    )

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


class TrainingSummaryOutput(Output[Training]):
    """A training, as shown in lists."""

    columns = Columns(
        "number",
        "title",
        "state",
        Column("base", "base.number"),
        "created_at",
        "ended_at",
        "url",
    )

    def get_url(self, row: Training) -> str:
        return address(row)
