"""Trainings over HTTP: making and steering them, their rounds, and what came of these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.authentication import SessionAuthentication
from rest_framework.response import Response
from rest_framework.views import APIView

from hub.protocol import problems
from registry.api import etags, pagination
from registry.api.authentication import TokenAuthentication
from registry.api.inputs import parse
from registry.api.parameters import PAGED, asks
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
from registry.federated.models import Round, Training
from registry.federated.services import participants, rounds, trainings
from registry.versions import selectors as registry

if TYPE_CHECKING:
    from rest_framework.request import Request

ACTIONS = {
    "open": Training.State.OPEN,
    "pause": Training.State.PAUSED,
    "finish": Training.State.FINISHED,
    "cancel": Training.State.CANCELLED,
}


class TrainingView(APIView):
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


def training_data(training: Training) -> dict[str, Any]:
    """A training as the API gives it."""
    return dict(shapes.TrainingOutput(training).data)


class TrainingList(TrainingView):
    """The trainings of a model."""

    @extend_schema(
        operation_id="trainings_list", responses=pagination.paged(shapes.TrainingSummaryOutput)
    )
    @asks(*PAGED)
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List a model's trainings, newest first."""
        model = registry.model(request.user, namespace, name)
        rows = selectors.trainings(request.user, model)
        return pagination.highest_first(request, shapes.TrainingSummaryOutput, rows, "number")

    @extend_schema(
        operation_id="trainings_create",
        request=shapes.TrainingInput,
        responses={201: shapes.TrainingOutput},
    )
    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Create a training from a published version. A job reads its schema first."""
        data = parse(shapes.TrainingInput, request.data)
        version = registry.version(request.user, namespace, name, data.pop("version"))
        opens_itself = data.pop("open")
        training = trainings.create(
            request.user, version=version, opens_itself=opens_itself, **data
        )
        response = etags.respond(request, training_data(training), status=201)
        response["Location"] = shapes.address(training)
        return response


class TrainingDetail(OneTrainingView):
    """One training."""

    @extend_schema(operation_id="trainings_read", responses=shapes.TrainingOutput)
    def get(self, request: Request, **_: Any) -> Response:
        """Read a training with its rules, schedule and current round."""
        return etags.respond(request, training_data(self.training))

    @extend_schema(
        operation_id="trainings_edit",
        request=shapes.TrainingEdit,
        responses=shapes.TrainingOutput,
    )
    def patch(self, request: Request, **_: Any) -> Response:
        """Change the fields that can still be changed."""
        data = parse(shapes.TrainingEdit, request.data)
        training = trainings.edit(request.user, training=self.training, **data)
        return etags.respond(request, training_data(training))


class TrainingAction(OneTrainingView):
    """Open, pause, finish or cancel a training."""

    action = ""

    def post(self, request: Request, **_: Any) -> Response:
        """Move a training to another state."""
        training = trainings.set_state(
            request.user,
            training=self.training,
            state=ACTIONS[self.action],
            **parse(shapes.StepInput, request.data or {}),
        )
        return etags.respond(request, training_data(training))


def action_view(action: str) -> type[TrainingAction]:
    """The view of one move, with an operation of its own in the OpenAPI document."""
    view = type(f"Training{action.title()}", (TrainingAction,), {"action": action})
    describe = extend_schema_view(
        post=extend_schema(
            operation_id=f"trainings_{action}",
            request=shapes.StepInput,
            responses=shapes.TrainingOutput,
        )
    )
    return describe(view)


class SchemaOutput(serializers.Serializer[Any]):
    """The layout of a training: tensors that are exchanged, and tensors that stay unchanged."""

    layout = serializers.JSONField(help_text="name, dtype, shape and role of each tensor")
    layout_digest = serializers.CharField()
    graph_digest = serializers.CharField()


class SchemaDetail(OneTrainingView):
    """The schema of a training."""

    @extend_schema(operation_id="trainings_schema", responses=SchemaOutput)
    def get(self, request: Request, **_: Any) -> Response:
        """Read the layout of a training: the name, type, shape and role of each tensor."""
        data = {
            "layout": self.training.layout,
            "layout_digest": self.training.layout_sha256,
            "graph_digest": self.training.graph_sha256,
        }
        return etags.respond(request, data)


class InviteList(OneTrainingView):
    """Invitations to a training."""

    @extend_schema(operation_id="invites_list", responses=pagination.paged(shapes.InviteOutput))
    @asks(*PAGED)
    def get(self, request: Request, **_: Any) -> Response:
        """List invitations; for maintainers. Their codes are not stored."""
        rows = selectors.invites(request.user, self.training)
        return pagination.highest_first(request, shapes.InviteOutput, rows, "id")

    @extend_schema(
        operation_id="invites_create",
        request=shapes.InviteInput,
        responses={201: shapes.InviteMadeOutput},
    )
    def post(self, request: Request, **_: Any) -> Response:
        """Create an invitation code for devices."""
        row, code = participants.invite(
            request.user, training=self.training, **parse(shapes.InviteInput, request.data or {})
        )
        return Response(
            {**shapes.InviteOutput(row).data, "code": code},
            status=201,
            headers={"Cache-Control": "no-store"},
        )


class InviteDetail(OneTrainingView):
    """One invitation."""

    @extend_schema(operation_id="invites_revoke", responses={204: None})
    def delete(self, request: Request, key: int, **_: Any) -> Response:
        """Revoke an invitation."""
        participants.revoke_invite(request.user, training=self.training, key=key)
        return Response(status=204)


class ParticipantList(TrainingView):
    """Who takes part."""

    @extend_schema(
        operation_id="participants_list", responses=pagination.paged(shapes.ParticipantOutput)
    )
    @asks(*PAGED)
    def get(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """List participants by pseudonym, for maintainers."""
        training = selectors.training(seeker(request), namespace, name, number)
        rows = selectors.participants(request.user, training)
        return pagination.highest_first(request, shapes.ParticipantOutput, rows, "id")

    @extend_schema(
        operation_id="participants_join",
        request=shapes.JoinInput,
        responses={201: shapes.JoinedOutput},
    )
    def post(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Join with an invitation and a public key; needs no account."""
        data = parse(shapes.JoinInput, request.data)
        code = data.pop("invite")
        training = selectors.admitted(namespace, name, number)
        if training is None or not participants.admits(training, code):
            # Without an invitation, only a visible training is found.
            training = selectors.training(seeker(request), namespace, name, number)
        device = participants.Device(**data, certificate=certificates.fingerprint(request))
        row, token = participants.join(training=training, code=code, device=device)
        answer = {"participant": row.pseudonym, "token": token, "training": str(training.uuid)}
        return Response(answer, status=201, headers={"Cache-Control": "no-store"})


class ParticipantDetail(OneTrainingView):
    """One participant."""

    @extend_schema(
        operation_id="participants_edit",
        request=shapes.ParticipantEdit,
        responses=shapes.ParticipantOutput,
    )
    def patch(self, request: Request, pseudonym: str, **_: Any) -> Response:
        """Suspend, reactivate or revoke a participant; change the certificate."""
        row = participants.edit(
            request.user,
            participant=selectors.participant(request.user, self.training, pseudonym),
            **parse(shapes.ParticipantEdit, request.data),
        )
        return Response(shapes.ParticipantOutput(row).data)


class RoundList(OneTrainingView):
    """The rounds of a training."""

    @extend_schema(operation_id="rounds_list", responses=pagination.paged(shapes.RoundOutput))
    @asks(*PAGED)
    def get(self, request: Request, **_: Any) -> Response:
        """List rounds, newest first."""
        rows = selectors.rounds(self.training)
        return pagination.highest_first(request, shapes.RoundOutput, rows, "number")

    @extend_schema(
        operation_id="rounds_open", request=shapes.RoundInput, responses={201: shapes.RoundOutput}
    )
    def post(self, request: Request, **_: Any) -> Response:
        """Open a round, for all participants or for the named ones. Only one round can be open."""
        data = parse(shapes.RoundInput, request.data or {})
        row = rounds.open_by_hand(
            request.user, training=self.training, selected=data["participants"]
        )
        return Response(shapes.RoundOutput(row).data, status=201)


class RoundDetail(OneRoundView):
    """One round."""

    @extend_schema(operation_id="rounds_read", responses=shapes.RoundOutput)
    def get(self, request: Request, **_: Any) -> Response:
        """Read a round.

        Maintainers also get its contributions and the selected participants, by
        pseudonym.
        """
        row = self.round
        data = dict(shapes.RoundOutput(row).data)
        contributions = selectors.contributions(request.user, row)
        if contributions:
            data["given"] = [dict(shapes.GivenOutput(row).data) for row in contributions]
        if row.selected and can(request.user, "training.manage", self.training.model):
            data["selected"] = row.selected
        return etags.respond(request, data)


class RoundClose(OneRoundView):
    """Ends a round before its deadline."""

    @extend_schema(operation_id="rounds_close", request=None, responses={202: shapes.RoundOutput})
    def post(self, request: Request, **_: Any) -> Response:
        """Close a round; a worker aggregates it when its contributions are checked."""
        closed = rounds.close_by_hand(request.user, of=self.round)
        return Response(shapes.RoundOutput(closed).data, status=202)


class RoundRelease(OneRoundView):
    """Makes a version of a round's result."""

    @extend_schema(operation_id="rounds_release", request=None, responses={202: shapes.RoundOutput})
    def post(self, request: Request, **_: Any) -> Response:
        """Publish the result of a round as a version, now or as soon as it is aggregated."""
        rounds.ask_release(request.user, of=self.round)
        fresh = selectors.round_(self.training, self.round.number)
        return Response(shapes.RoundOutput(fresh).data, status=202)


class RoundScore(OneRoundView):
    """What a round's result reaches on held-out data."""

    @extend_schema(
        operation_id="rounds_score", request=shapes.ScoreInput, responses=shapes.RoundOutput
    )
    def put(self, request: Request, **_: Any) -> Response:
        """Report the score of a round's result. Scores decide which round is published."""
        rounds.give_score(request.user, of=self.round, **parse(shapes.ScoreInput, request.data))
        fresh = selectors.round_(self.training, self.round.number)
        return etags.respond(request, dict(shapes.RoundOutput(fresh).data))


class AggregateDetail(OneRoundView):
    """What a round's contributions became."""

    @extend_schema(operation_id="aggregates_read", responses=shapes.AggregateOutput)
    def get(self, request: Request, **_: Any) -> Response:
        """Read the aggregate of a round: rule, counts, figures and result."""
        aggregate = getattr(self.round, "aggregate", None)
        if aggregate is None:
            raise problems.NotFound(
                f"Round {self.round.number} has no aggregate: it is {self.round.state}."
            )
        may_manage = can(request.user, "training.manage", self.round.training.model)
        output = shapes.AggregateOutput(aggregate, context={"may_manage": may_manage})
        return etags.respond(request, dict(output.data))
