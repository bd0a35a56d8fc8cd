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


def found(request: Request, namespace: str, name: str, number: int) -> Training:
    """The training of an address; raises NotFound."""
    return selectors.training(seeker(request), namespace, name, number)


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
        rows, cursor = pagination.by_number(
            request,
            selectors.trainings(request.user, model),
            "number",
            pagination.limit_of(request),
        )
        return pagination.respond(request, shapes.TrainingSummaryOutput, rows, cursor)

    @extend_schema(
        operation_id="trainings_create",
        request=shapes.TrainingInput,
        responses={201: shapes.TrainingOutput},
    )
    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Begin a training from a published version; its schema is read first."""
        given = parse(shapes.TrainingInput, request.data)
        version = registry.version(request.user, namespace, name, given.pop("version"))
        opens_itself = given.pop("open")
        training = trainings.create(
            request.user, version=version, opens_itself=opens_itself, **given
        )
        response = etags.respond(request, training_data(training), status=201)
        response["Location"] = shapes.address(training)
        return response


class TrainingDetail(TrainingView):
    """One training."""

    @extend_schema(operation_id="trainings_read", responses=shapes.TrainingOutput)
    def get(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Read rules, schedule and the current round."""
        return etags.respond(request, training_data(found(request, namespace, name, number)))

    @extend_schema(
        operation_id="trainings_edit",
        request=shapes.TrainingEdit,
        responses=shapes.TrainingOutput,
    )
    def patch(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Change the fields that can still be changed."""
        training = found(request, namespace, name, number)
        given = parse(shapes.TrainingEdit, request.data)
        training = trainings.edit(request.user, training=training, **given)
        return etags.respond(request, training_data(training))


class TrainingAction(TrainingView):
    """Opens, pauses, finishes or cancels a training."""

    action = ""

    def post(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Move a training to another state."""
        training = trainings.set_state(
            request.user,
            training=found(request, namespace, name, number),
            state=ACTIONS[self.action],
            **parse(shapes.StepInput, request.data or {}),
        )
        return etags.respond(request, training_data(training))


def action_view(action: str) -> type[TrainingAction]:
    """The view of one move, with an operation of its own in the OpenAPI document."""
    made = type(f"Training{action.title()}", (TrainingAction,), {"action": action})
    describe = extend_schema_view(
        post=extend_schema(
            operation_id=f"trainings_{action}",
            request=shapes.StepInput,
            responses=shapes.TrainingOutput,
        )
    )
    return describe(made)


class SchemaOutput(serializers.Serializer[Any]):
    """The layout of a training: what travels, and what stays as it is."""

    layout = serializers.JSONField(help_text="name, dtype, shape and role of each tensor")
    layout_digest = serializers.CharField()
    graph_digest = serializers.CharField()


class SchemaDetail(TrainingView):
    """The schema of a training."""

    @extend_schema(operation_id="trainings_schema", responses=SchemaOutput)
    def get(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Read the layout: each tensor's name, type, shape and role."""
        training = found(request, namespace, name, number)
        told = {
            "layout": training.layout,
            "layout_digest": training.layout_sha256,
            "graph_digest": training.graph_sha256,
        }
        return etags.respond(request, told)


class InviteList(TrainingView):
    """Invitations to a training."""

    @extend_schema(operation_id="invites_list", responses=pagination.paged(shapes.InviteOutput))
    @asks(*PAGED)
    def get(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """List invitations; for maintainers. Their codes are not stored."""
        training = found(request, namespace, name, number)
        rows, cursor = pagination.by_number(
            request, selectors.invites(request.user, training), "id", pagination.limit_of(request)
        )
        return pagination.respond(request, shapes.InviteOutput, rows, cursor)

    @extend_schema(
        operation_id="invites_create",
        request=shapes.InviteInput,
        responses={201: shapes.InviteMadeOutput},
    )
    def post(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Create an invitation code for devices."""
        training = found(request, namespace, name, number)
        made, code = participants.invite(
            request.user, training=training, **parse(shapes.InviteInput, request.data or {})
        )
        response = Response({**shapes.InviteOutput(made).data, "code": code}, status=201)
        response["Cache-Control"] = "no-store"
        return response


class InviteDetail(TrainingView):
    """One invitation."""

    @extend_schema(operation_id="invites_revoke", responses={204: None})
    def delete(
        self, request: Request, namespace: str, name: str, number: int, key: int
    ) -> Response:
        """Revoke an invitation."""
        training = found(request, namespace, name, number)
        participants.revoke_invite(request.user, training=training, key=key)
        return Response(status=204)


class ParticipantList(TrainingView):
    """Who takes part."""

    @extend_schema(
        operation_id="participants_list", responses=pagination.paged(shapes.ParticipantOutput)
    )
    @asks(*PAGED)
    def get(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """List participants by pseudonym, for maintainers."""
        training = found(request, namespace, name, number)
        rows, cursor = pagination.by_number(
            request,
            selectors.participants(request.user, training),
            "id",
            pagination.limit_of(request),
        )
        return pagination.respond(request, shapes.ParticipantOutput, rows, cursor)

    @extend_schema(
        operation_id="participants_join",
        request=shapes.JoinInput,
        responses={201: shapes.JoinedOutput},
    )
    def post(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Join with an invitation and a public key; needs no account."""
        given = parse(shapes.JoinInput, request.data)
        code = given.pop("invite")
        training = selectors.admitted(namespace, name, number)
        if training is None or not participants.admits(training, code):
            training = found(request, namespace, name, number)  # a stranger sees no more than that
        device = participants.Device(**given, certificate=certificates.shown(request))
        made, token = participants.join(training=training, code=code, device=device)
        told = {"participant": made.pseudonym, "token": token, "training": str(training.uuid)}
        response = Response(told, status=201)
        response["Cache-Control"] = "no-store"
        return response


class ParticipantDetail(TrainingView):
    """One participant."""

    @extend_schema(
        operation_id="participants_edit",
        request=shapes.ParticipantEdit,
        responses=shapes.ParticipantOutput,
    )
    def patch(
        self, request: Request, namespace: str, name: str, number: int, pseudonym: str
    ) -> Response:
        """Suspend, reactivate or revoke a participant; change the certificate."""
        training = found(request, namespace, name, number)
        row = participants.edit(
            request.user,
            participant=selectors.participant(request.user, training, pseudonym),
            **parse(shapes.ParticipantEdit, request.data),
        )
        return Response(shapes.ParticipantOutput(row).data)


class RoundList(TrainingView):
    """The rounds of a training."""

    @extend_schema(operation_id="rounds_list", responses=pagination.paged(shapes.RoundOutput))
    @asks(*PAGED)
    def get(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """List rounds, newest first."""
        training = found(request, namespace, name, number)
        rows, cursor = pagination.by_number(
            request, selectors.rounds(training), "number", pagination.limit_of(request)
        )
        return pagination.respond(request, shapes.RoundOutput, rows, cursor)

    @extend_schema(
        operation_id="rounds_open", request=shapes.RoundInput, responses={201: shapes.RoundOutput}
    )
    def post(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Open a round where none goes on; for some participants, if they are named."""
        training = found(request, namespace, name, number)
        given = parse(shapes.RoundInput, request.data or {})
        made = rounds.open_by_hand(request.user, training=training, selected=given["participants"])
        return Response(shapes.RoundOutput(made).data, status=201)


class RoundDetail(TrainingView):
    """One round."""

    @extend_schema(operation_id="rounds_read", responses=shapes.RoundOutput)
    def get(
        self, request: Request, namespace: str, name: str, number: int, round_number: int
    ) -> Response:
        """Read a round's figures; maintainers get contributions and those asked by pseudonym."""
        training = found(request, namespace, name, number)
        row = selectors.round_(training, round_number)
        told = dict(shapes.RoundOutput(row).data)
        given = selectors.contributions(request.user, row)
        if given:
            told["given"] = [dict(shapes.GivenOutput(row).data) for row in given]
        if row.selected and can(request.user, "training.manage", training.model):
            told["selected"] = row.selected
        return etags.respond(request, told)


class RoundClose(TrainingView):
    """Ends a round before its deadline."""

    @extend_schema(operation_id="rounds_close", request=None, responses={202: shapes.RoundOutput})
    def post(
        self, request: Request, namespace: str, name: str, number: int, round_number: int
    ) -> Response:
        """Close a round; a worker aggregates it when its contributions are checked."""
        row = _round(request, namespace, name, number, round_number)
        closed = rounds.close_by_hand(request.user, of=row)
        return Response(shapes.RoundOutput(closed).data, status=202)


class RoundRelease(TrainingView):
    """Makes a version of a round's result."""

    @extend_schema(operation_id="rounds_release", request=None, responses={202: shapes.RoundOutput})
    def post(
        self, request: Request, namespace: str, name: str, number: int, round_number: int
    ) -> Response:
        """Have the result of a round become a version, now or when it is made."""
        row = _round(request, namespace, name, number, round_number)
        rounds.ask_release(request.user, of=row)
        fresh = _round(request, namespace, name, number, round_number)
        return Response(shapes.RoundOutput(fresh).data, status=202)


class RoundScore(TrainingView):
    """What a round's result reaches on held-out data."""

    @extend_schema(
        operation_id="rounds_score", request=shapes.ScoreInput, responses=shapes.RoundOutput
    )
    def put(
        self, request: Request, namespace: str, name: str, number: int, round_number: int
    ) -> Response:
        """Say what the result of a round scores; by it the best round may become a version."""
        row = _round(request, namespace, name, number, round_number)
        rounds.give_score(request.user, of=row, **parse(shapes.ScoreInput, request.data))
        fresh = _round(request, namespace, name, number, round_number)
        return etags.respond(request, dict(shapes.RoundOutput(fresh).data))


class AggregateDetail(TrainingView):
    """What a round's contributions became."""

    @extend_schema(operation_id="aggregates_read", responses=shapes.AggregateOutput)
    def get(
        self, request: Request, namespace: str, name: str, number: int, round_number: int
    ) -> Response:
        """Read the rule, counts, figures and result of a round."""
        row = _round(request, namespace, name, number, round_number)
        made = getattr(row, "aggregate", None)
        if made is None:
            raise problems.NotFound(f"Round {row.number} has no aggregate: it is {row.state}.")
        may_manage = can(request.user, "training.manage", row.training.model)
        told = shapes.AggregateOutput(made, context={"may_manage": may_manage})
        return etags.respond(request, dict(told.data))


def _round(request: Request, namespace: str, name: str, number: int, round_number: int) -> Round:
    training = found(request, namespace, name, number)
    return selectors.round_(training, round_number)
