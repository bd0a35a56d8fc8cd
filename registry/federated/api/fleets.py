"""Fleets over HTTP: which version a device should run, and its reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from hub.protocol import digests, problems
from registry.api import etags, pagination
from registry.api.authentication import TokenAuthentication
from registry.api.inputs import Input, parse
from registry.api.outputs import Column, Columns, Output
from registry.api.parameters import PAGED, asks
from registry.api.serializers import Digest
from registry.core.permissions import require
from registry.federated import selectors
from registry.federated.models import Fleet, FleetDevice
from registry.federated.models.fleets import NAME
from registry.federated.services import fleets
from registry.people.services.tokens import digest
from registry.versions import selectors as registry

if TYPE_CHECKING:
    from rest_framework.request import Request


class FleetInput(Input):
    name = serializers.RegexField(NAME)
    halt_percent = serializers.IntegerField(
        min_value=0, max_value=100, required=False, default=0,
        help_text="share of failed devices that halts a rollout; 0 disables this",
    )  # fmt: skip


class DesiredInput(Input):
    """A version to roll out to a percentage of the devices."""

    version = serializers.IntegerField(min_value=1)
    percent = serializers.IntegerField(min_value=0, max_value=100, required=False, default=100)
    required_by = serializers.DateTimeField(required=False, allow_null=True, default=None)


class ReportInput(Input):
    """The version that a device runs, by manifest digest, and its status."""

    running = serializers.CharField(max_length=80)
    result = serializers.ChoiceField(FleetDevice.Result.choices)
    detail = serializers.CharField(max_length=500, allow_blank=True, required=False, default="")


class FleetOutput(Output[Fleet]):
    """A fleet, as shown to maintainers."""

    columns = Columns(
        "name",
        Column("stable", "stable.number"),
        Column("desired", "desired.number"),
        Column(
            "desired_state",
            "desired.state",
            field=serializers.CharField,
            default=None,
            allow_null=True,
            help_text="a version that is no longer published, for example yanked, is not sent to "
            "devices; they keep the stable version if that is published",
        ),
        "percent",
        "required_by",
        "halt_percent",
        "is_halted",
        Column("reports", help_text="number of devices by result for the desired version"),
    )

    def get_reports(self, row: Fleet) -> dict[str, int]:
        if row.desired is None:
            return {"ok": 0, "failed": 0}
        return fleets.tally(row, row.desired.manifest_sha256)


class FleetMadeOutput(FleetOutput):
    token = serializers.CharField(help_text="token for the devices; shown only once")


class DesiredOutput(serializers.Serializer[Any]):
    """The version that a device should run."""

    version = serializers.IntegerField()
    manifest_digest = Digest()
    required_by = serializers.DateTimeField(allow_null=True)
    step = serializers.IntegerField(
        help_text="the device is included in rollouts above this percentage"
    )


class FleetTokenAuthentication(TokenAuthentication):
    """Leaves the token of a fleet's devices to the view, which knows the fleet."""

    def authenticate(self, request: Request) -> Any:
        secret = request.headers.get("Authorization", "").partition(" ")[2]
        return None if secret.startswith(fleets.TOKEN_PREFIX) else super().authenticate(request)


class FleetScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The token of a fleet's devices, or of a user of the hub."""

    target_class = "registry.federated.api.fleets.FleetTokenAuthentication"
    name = "fleet"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "ff_…"}


class FleetView(APIView):
    """Open to devices by the token of their fleet, and to people."""

    authentication_classes = [FleetTokenAuthentication]


def _fleet(request: Request, namespace: str, name: str, fleet: str) -> Fleet:
    """A fleet, for its devices and for maintainers; raises NotFound, NotAllowed."""
    secret = request.headers.get("Authorization", "").partition(" ")[2].strip()
    if secret.startswith(fleets.TOKEN_PREFIX):
        rows = Fleet.objects.select_related("model__namespace", "stable", "desired")
        row = rows.filter(token_digest=digest(secret), name=fleet, model__deleted_at=None).first()
        if row is None or row.model.ref.lower() != f"{namespace}/{name}".lower():
            raise problems.NotAuthenticated("This token does not belong to this fleet.")
        return row
    return selectors.fleet(request.user, registry.model(request.user, namespace, name), fleet)


class FleetList(FleetView):
    """The fleets of a model."""

    @extend_schema(operation_id="fleets_list", responses=pagination.paged(FleetOutput))
    @asks(*PAGED)
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List fleets, for maintainers."""
        model = registry.model(request.user, namespace, name)
        rows = selectors.fleets(request.user, model)
        return pagination.highest_first(request, FleetOutput, rows, "id")

    @extend_schema(
        operation_id="fleets_create", request=FleetInput, responses={201: FleetMadeOutput}
    )
    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Create a fleet; the response contains the token for its devices."""
        model = registry.model(request.user, namespace, name)
        row, token = fleets.create(request.user, model=model, **parse(FleetInput, request.data))
        return Response(
            {**FleetOutput(row).data, "token": token},
            status=201,
            headers={"Cache-Control": "no-store"},
        )


class FleetDetail(FleetView):
    """One fleet."""

    @extend_schema(operation_id="fleets_read", responses=FleetOutput)
    def get(self, request: Request, namespace: str, name: str, fleet: str) -> Response:
        """Read the progress of a rollout."""
        row = _fleet(request, namespace, name, fleet)
        require(request.user, "training.manage", row.model)
        return etags.respond(request, dict(FleetOutput(row).data))


class FleetDesired(FleetView):
    """The version that devices should run."""

    @extend_schema(
        operation_id="fleets_desired",
        responses={200: DesiredOutput, 204: None},
    )
    @asks(OpenApiParameter("device", str, required=True))
    def get(self, request: Request, namespace: str, name: str, fleet: str) -> Response:
        """Read the version that a device should run.

        Returns 304 for its current ETag and 204 if there is none.
        """
        row = _fleet(request, namespace, name, fleet)
        device = _device(request.query_params.get("device", ""))
        version = fleets.version_for(row, device)
        if version is None:
            return Response(status=204)
        desired = {
            "version": version.number,
            "manifest_digest": version.manifest_sha256,
            "required_by": row.required_by,
            "step": fleets.place_of(row, device),
        }
        return etags.respond(request, dict(DesiredOutput(desired).data))

    @extend_schema(operation_id="fleets_desire", request=DesiredInput, responses=FleetOutput)
    def put(self, request: Request, namespace: str, name: str, fleet: str) -> Response:
        """Roll out a version to a percentage of the devices."""
        row = _fleet(request, namespace, name, fleet)
        data = parse(DesiredInput, request.data)
        version = registry.version(request.user, namespace, name, data.pop("version"))
        row = fleets.desire(request.user, fleet=row, version=version, **data)
        return Response(FleetOutput(row).data)


class FleetDeviceDetail(FleetView):
    """What one device says."""

    @extend_schema(operation_id="fleets_report", request=ReportInput, responses={204: None})
    def put(self, request: Request, namespace: str, name: str, fleet: str, device: str) -> Response:
        """Report the version that a device runs, and its status."""
        row = _fleet(request, namespace, name, fleet)
        data = parse(ReportInput, request.data)
        running = digests.parse(data.pop("running"))
        fleets.report(fleet=row, device=_device(device), running=running, **data)
        return Response(status=204)


def _device(text: str) -> str:
    if not 1 <= len(text) <= 100 or not text.isprintable():
        raise problems.InvalidRequest.at("/device", "Name the device by 1 to 100 characters.")
    return text
