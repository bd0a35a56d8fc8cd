"""Trainings over HTTP: making and steering them, their rounds, and what came of these."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework.authentication import SessionAuthentication

from hub.protocol import problems
from registry.api import etags
from registry.api.authentication import TokenAuthentication
from registry.api.operations import View, listing, operation
from registry.api.outputs import Column, Columns, Output, answers_of
from registry.api.throttles import UserThrottle
from registry.core.permissions import can
from registry.federated import selectors
from registry.federated.api import certificates, shapes
from registry.federated.api.authentication import (
    GuestThrottle,
    ParticipantAuthentication,
    ParticipantThrottle,
    seeker,
)
from registry.federated.models import Aggregate, Invite, Participant, Round, Training
from registry.federated.services import participants, rounds, trainings
from registry.versions import selectors as registry

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from rest_framework.request import Request
    from rest_framework.response import Response

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
    throttle_classes = [UserThrottle, GuestThrottle, ParticipantThrottle]


class OneTrainingView(TrainingView):
    """Whatever lies at or below the address of a training, which is looked up first."""

    training: Training

    def initial(self, request: Request, *args: Any, **address: Any) -> None:
        super().initial(request, *args, **address)
        self.training = self.find(request, **address)

    def find(
        self, request: Request, *, namespace: str, name: str, number: int, **_: Any
    ) -> Training:
        """The training of the address; raises NotFound."""
        return selectors.training(seeker(request), namespace, name, number)


class OneRoundView(OneTrainingView):
    """Whatever lies at or below the address of a round."""

    round: Round

    def initial(self, request: Request, *args: Any, **address: Any) -> None:
        super().initial(request, *args, **address)
        self.round = selectors.round_(self.training, address["round_number"])


class TrainingList(TrainingView):
    """The trainings of a model."""

    @listing("trainings_list", shapes.TrainingSummaryOutput, by="number")
    def get(self) -> QuerySet[Training]:
        """List a model's trainings, newest first."""
        actor = self.request.user
        model = registry.model(actor, self.kwargs["namespace"], self.kwargs["name"])
        return selectors.trainings(actor, model)

    @operation(
        "trainings_create",
        shapes.TrainingOutput,
        reads=shapes.TrainingInput,
        status=201,
        tagged=True,
        location=shapes.address,
    )
    def post(self, version: int, open: bool, **fields: Any) -> Training:  # noqa: A002, FBT001 - fields of the body
        """Create a training from a published version. A job reads its schema first."""
        actor, place = self.request.user, (self.kwargs["namespace"], self.kwargs["name"])
        base = registry.version(actor, *place, version)
        return trainings.create(actor, version=base, opens_itself=open, **fields)


class TrainingDetail(OneTrainingView):
    """One training."""

    @operation("trainings_read", shapes.TrainingOutput, tagged=True)
    def get(self) -> Training:
        """Read a training with its rules, schedule and current round."""
        return self.training

    @operation("trainings_edit", shapes.TrainingOutput, reads=shapes.TrainingEdit, tagged=True)
    def patch(self, **changes: Any) -> Training:
        """Change the fields that can still be changed."""
        return trainings.edit(self.request.user, training=self.training, **changes)


def action_view(action: str) -> type[OneTrainingView]:
    """The view of one move, with an operation of its own in the OpenAPI document."""

    @operation(
        f"trainings_{action}",
        shapes.TrainingOutput,
        reads=shapes.StepInput,
        body_optional=True,
        tagged=True,
    )
    def post(self: OneTrainingView, reason: str) -> Training:
        """Open, pause, finish or cancel a training."""
        return trainings.set_state(
            self.request.user, training=self.training, state=ACTIONS[action], reason=reason
        )

    return type(f"Training{action.title()}", (OneTrainingView,), {"post": post})


class SchemaOutput(Output[Training]):
    """The layout of a training: tensors that are exchanged, and tensors that stay unchanged."""

    columns = Columns(
        Column("layout", help_text="name, dtype, shape and role of each tensor"),
        Column("layout_digest", "layout_sha256"),
        Column("graph_digest", "graph_sha256"),
    )


class SchemaDetail(OneTrainingView):
    """The schema of a training."""

    @operation("trainings_schema", SchemaOutput, tagged=True)
    def get(self) -> Training:
        """Read the layout of a training: the name, type, shape and role of each tensor."""
        return self.training


class InviteList(OneTrainingView):
    """Invitations to a training."""

    @listing("invites_list", shapes.InviteOutput, by="id")
    def get(self) -> QuerySet[Invite]:
        """List invitations; for maintainers. Their codes are not stored."""
        return selectors.invites(self.request.user, self.training)

    @operation(
        "invites_create",
        shapes.InviteMadeOutput,
        reads=shapes.InviteInput,
        body_optional=True,
        status=201,
        headers=NO_STORE,
    )
    def post(self, **limits: Any) -> Any:
        """Create an invitation code for devices."""
        row: Any
        row, row.code = participants.invite(self.request.user, training=self.training, **limits)
        return row


class InviteDetail(OneTrainingView):
    """One invitation."""

    @operation("invites_revoke")
    def delete(self) -> None:
        """Revoke an invitation."""
        participants.revoke_invite(
            self.request.user, training=self.training, key=self.kwargs["key"]
        )


class ParticipantList(TrainingView):
    """Who takes part."""

    def find(self) -> Training:
        """The training of the address, if the user may see it; raises NotFound."""
        place = (self.kwargs[part] for part in ("namespace", "name", "number"))
        return selectors.training(seeker(self.request), *place)

    @listing("participants_list", shapes.ParticipantOutput, by="id")
    def get(self) -> QuerySet[Participant]:
        """List participants by pseudonym, for maintainers."""
        return selectors.participants(self.request.user, self.find())

    @operation(
        "participants_join",
        shapes.JoinedOutput,
        reads=shapes.JoinInput,
        status=201,
        headers=NO_STORE,
    )
    def post(self, invite: str, **device: Any) -> dict[str, str]:
        """Join with an invitation and a public key; needs no account."""
        place = (self.kwargs[part] for part in ("namespace", "name", "number"))
        training = selectors.admitted(*place)
        if training is None or not participants.admits(training, invite):
            # Without an invitation, only a visible training is found.
            training = self.find()
        certificate = certificates.fingerprint(self.request)
        row, token = participants.join(
            training=training, code=invite, certificate=certificate, **device
        )
        return {"participant": row.pseudonym, "token": token, "training": str(training.uuid)}


class ParticipantDetail(OneTrainingView):
    """One participant."""

    @operation("participants_edit", shapes.ParticipantOutput, reads=shapes.ParticipantEdit)
    def patch(self, **changes: str) -> Participant:
        """Suspend, reactivate or revoke a participant; change the certificate."""
        actor = self.request.user
        row = selectors.participant(actor, self.training, self.kwargs["pseudonym"])
        return participants.edit(actor, participant=row, **changes)


class RoundList(OneTrainingView):
    """The rounds of a training."""

    @listing("rounds_list", shapes.RoundOutput, by="number")
    def get(self) -> QuerySet[Round]:
        """List rounds, newest first."""
        return selectors.rounds(self.training)

    @operation(
        "rounds_open", shapes.RoundOutput, reads=shapes.RoundInput, body_optional=True, status=201
    )
    def post(self, participants: list[str] | None) -> Round:
        """Open a round, for all participants or for the named ones. Only one round can be open."""
        return rounds.open_by_hand(self.request.user, training=self.training, selected=participants)


class RoundDetail(OneRoundView):
    """One round."""

    @extend_schema(operation_id="rounds_read", responses=shapes.RoundOutput)
    def get(self, request: Request, **_: Any) -> Response:
        """Read a round.

        Maintainers also get its contributions and the selected participants, by
        pseudonym.
        """
        row = self.round
        data = self.data(shapes.RoundOutput, row)
        contributions = selectors.contributions(request.user, row)
        if contributions:
            data["given"] = answers_of(shapes.GivenOutput, contributions)
        if row.selected and can(request.user, "training.manage", self.training.model):
            data["selected"] = row.selected
        return etags.respond(request, data)


class RoundClose(OneRoundView):
    """Ends a round before its deadline."""

    @operation("rounds_close", shapes.RoundOutput, status=202)
    def post(self) -> Round:
        """Close a round; a worker aggregates it when its contributions are checked."""
        return rounds.close_by_hand(self.request.user, of=self.round)


class RoundRelease(OneRoundView):
    """Makes a version of a round's result."""

    @operation("rounds_release", shapes.RoundOutput, status=202)
    def post(self) -> Round:
        """Publish the result of a round as a version, now or as soon as it is aggregated."""
        rounds.ask_release(self.request.user, of=self.round)
        return selectors.round_(self.training, self.round.number)


class RoundScore(OneRoundView):
    """What a round's result reaches on held-out data."""

    @operation("rounds_score", shapes.RoundOutput, reads=shapes.ScoreInput, tagged=True)
    def put(self, score: float) -> Round:
        """Report the score of a round's result. Scores decide which round is published."""
        rounds.give_score(self.request.user, of=self.round, score=score)
        return selectors.round_(self.training, self.round.number)


class AggregateDetail(OneRoundView):
    """What a round's contributions became."""

    @cached_property
    def may_manage(self) -> bool:
        """Whether the caller may read every figure."""
        return can(self.request.user, "training.manage", self.training.model)

    @operation("aggregates_read", shapes.AggregateOutput, tagged=True)
    def get(self) -> Aggregate:
        """Read the aggregate of a round: rule, counts, figures and result."""
        aggregate: Aggregate | None = getattr(self.round, "aggregate", None)
        if aggregate is None:
            raise problems.NotFound(
                f"Round {self.round.number} has no aggregate: it is {self.round.state}."
            )
        return aggregate
