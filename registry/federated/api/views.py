"""Trainings over HTTP: making and steering them, their rounds, and what came of these."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.authentication import SessionAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import problems
from registry.api import etags
from registry.api.authentication import TokenAuthentication
from registry.api.operations import (
    ModelView,
    View,
    command,
    detail,
    listing,
    operation,
    resource,
    rows,
)
from registry.api.outputs import Column, Columns, Output, answers_of
from registry.api.throttles import UserThrottle
from registry.core.permissions import can
from registry.federated import selectors
from registry.federated.api import certificates, shapes
from registry.federated.api.authentication import (
    DeviceThrottle,
    GuestThrottle,
    ParticipantAuthentication,
    seeker,
)
from registry.federated.models import Aggregate, Round, Training
from registry.federated.services import participants, rounds, trainings
from registry.versions import selectors as registry

NO_STORE = {"Cache-Control": "no-store"}
ACTIONS = {
    "open": Training.State.OPEN,
    "pause": Training.State.PAUSED,
    "finish": Training.State.FINISHED,
    "cancel": Training.State.CANCELLED,
}


class TrainingView(View):
    """Open to people of the hub and to devices, each by their own token."""

    authentication_classes = [
        ParticipantAuthentication,
        TokenAuthentication,
        SessionAuthentication,
    ]
    throttle_classes = [UserThrottle, GuestThrottle, DeviceThrottle]


class OneTrainingView(TrainingView):
    """At or below the address of a training."""

    targets = ("training",)

    @cached_property
    def training(self) -> Training:
        """The training of the address; raises NotFound."""
        place = (self.kwargs[part] for part in ("namespace", "name", "number"))
        return selectors.training(seeker(self.request), *place)


class OneRoundView(OneTrainingView):
    """At or below the address of a round."""

    targets = ("of",)
    of = resource(selectors.round_, "training", "round_number", needs_actor=False)

    @cached_property
    def may_manage(self) -> bool:
        """Whether the caller may read every figure."""
        return can(self.request.user, "training.manage", self.training.model)


class SchemaOutput(Output[Training]):
    """The layout of a training: tensors that are exchanged, and tensors that stay unchanged."""

    columns = Columns(
        Column("layout", help_text="name, dtype, shape and role of each tensor"),
        Column("layout_digest", "layout_sha256"),
        Column("graph_digest", "graph_sha256"),
    )


class Trainings(OneTrainingView):
    """The trainings of a model."""

    model = ModelView.model

    index = rows(
        "trainings_list",
        selectors.trainings,
        "List a model's trainings, newest first.",
        shapes.TrainingSummaryOutput,
        by="number",
        targets=("model",),
    )

    @operation(
        "trainings_create",
        shapes.TrainingOutput,
        targets=(),
        reads=shapes.TrainingInput,
        status=201,
        tagged=True,
        location=shapes.address,
    )
    def create(self, version: int, open: bool, **fields: Any) -> Training:  # noqa: A002, FBT001 - fields of the body
        """Create a training from a published version. A job reads its schema first."""
        actor, place = self.request.user, (self.kwargs["namespace"], self.kwargs["name"])
        base = registry.version(actor, *place, version)
        return trainings.create(actor, version=base, opens_itself=open, **fields)

    read = detail(
        "trainings_read",
        shapes.TrainingOutput,
        "Read a training with its rules, schedule and current round.",
        tagged=True,
    )
    edit = command(
        "trainings_edit",
        trainings.edit,
        "Change the fields that can still be changed.",
        shapes.TrainingOutput,
        reads=shapes.TrainingEdit,
        tagged=True,
    )
    schema_read = detail(
        "trainings_schema",
        SchemaOutput,
        "Read the layout of a training: the name, type, shape and role of each tensor.",
        tagged=True,
    )


for step, state in ACTIONS.items():
    move = command(
        f"trainings_{step}",
        partial(trainings.set_state, state=state),
        "Open, pause, finish or cancel a training.",
        shapes.TrainingOutput,
        reads=shapes.StepInput,
        body_optional=True,
        tagged=True,
    )
    setattr(Trainings, step, move)


class Invites(OneTrainingView):
    """Invitations to a training."""

    index = rows(
        "invites_list",
        selectors.invites,
        "List invitations; for maintainers. Their codes are not stored.",
        shapes.InviteOutput,
        by="id",
    )

    @operation(
        "invites_create",
        shapes.InviteMadeOutput,
        reads=shapes.InviteInput,
        body_optional=True,
        status=201,
        headers=NO_STORE,
    )
    def create(self, **limits: Any) -> Any:
        """Create an invitation code for devices."""
        row: Any
        row, row.code = participants.invite(self.request.user, training=self.training, **limits)
        return row

    revoke = command(
        "invites_revoke",
        participants.revoke_invite,
        "Revoke an invitation.",
        targets=("training", "key"),
    )


class Participants(OneTrainingView):
    """Who takes part."""

    participant = resource(selectors.participant, "training", "pseudonym")

    index = rows(
        "participants_list",
        selectors.participants,
        "List participants by pseudonym, for maintainers.",
        shapes.ParticipantOutput,
        by="id",
    )

    @operation(
        "participants_join",
        shapes.JoinedOutput,
        targets=(),
        reads=shapes.JoinInput,
        status=201,
        headers=NO_STORE,
    )
    def join(self, invite: str, **device: Any) -> dict[str, str]:
        """Join with an invitation and a public key; needs no account."""
        place = (self.kwargs[part] for part in ("namespace", "name", "number"))
        training = selectors.admitted(*place)
        if training is None or not participants.admits(training, invite):
            # Without an invitation, only a visible training is found.
            training = self.training
        certificate = certificates.fingerprint(self.request)
        row, token = participants.join(
            training=training, code=invite, certificate=certificate, **device
        )
        return {"participant": row.pseudonym, "token": token, "training": str(training.uuid)}

    edit = command(
        "participants_edit",
        participants.edit,
        "Suspend, reactivate or revoke a participant; change the certificate.",
        shapes.ParticipantOutput,
        targets=("participant",),
        reads=shapes.ParticipantEdit,
    )


class Rounds(OneRoundView):
    """The rounds of a training."""

    @listing("rounds_list", shapes.RoundOutput, by="number", targets=("training",))
    def index(self) -> QuerySet[Round]:
        """List rounds, newest first."""
        return selectors.rounds(self.training)

    @operation(
        "rounds_open",
        shapes.RoundOutput,
        targets=("training",),
        reads=shapes.RoundInput,
        body_optional=True,
        status=201,
    )
    def create(self, participants: list[str] | None) -> Round:
        """Open a round, for all participants or for the named ones. Only one round can be open."""
        return rounds.open_by_hand(self.request.user, training=self.training, selected=participants)

    @extend_schema(operation_id="rounds_read", responses=shapes.RoundOutput)
    def read(self, request: Request, **_: Any) -> Response:
        """Read a round.

        Maintainers also get its contributions and the selected participants, by
        pseudonym.
        """
        row = self.of
        data = self.data(shapes.RoundOutput, row)
        contributions = selectors.contributions(request.user, row)
        if contributions:
            data["given"] = answers_of(shapes.GivenOutput, contributions)
        if row.selected and self.may_manage:
            data["selected"] = row.selected
        return etags.respond(request, data)

    close = command(
        "rounds_close",
        rounds.close_by_hand,
        "Close a round; a worker aggregates it when its contributions are checked.",
        shapes.RoundOutput,
        status=202,
    )

    @operation("rounds_release", shapes.RoundOutput, status=202)
    def release(self) -> Round:
        """Publish the result of a round as a version, now or as soon as it is aggregated."""
        rounds.ask_release(self.request.user, of=self.of)
        return selectors.round_(self.training, self.of.number)

    @operation("rounds_score", shapes.RoundOutput, reads=shapes.ScoreInput, tagged=True)
    def give_score(self, score: float) -> Round:
        """Report the score of a round's result. Scores decide which round is published."""
        rounds.give_score(self.request.user, of=self.of, score=score)
        return selectors.round_(self.training, self.of.number)

    @operation("aggregates_read", shapes.AggregateOutput, tagged=True)
    def aggregate(self) -> Aggregate:
        """Read the aggregate of a round: rule, counts, figures and result."""
        aggregate: Aggregate | None = getattr(self.of, "aggregate", None)
        if aggregate is None:
            raise problems.NotFound(
                f"Round {self.of.number} has no aggregate: it is {self.of.state}."
            )
        return aggregate
