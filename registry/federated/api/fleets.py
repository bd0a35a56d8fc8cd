"""Fleets over HTTP: which version a device should run, and its reports."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from hub.protocol import digests, problems
from registry.api import etags
from registry.api.authentication import TokenAuthentication
from registry.api.inputs import Input
from registry.api.operations import ModelView, View, listing, operation
from registry.api.outputs import Column, Columns, Digest, Output
from registry.api.parameters import asks
from registry.core.permissions import require
from registry.federated import selectors
from registry.federated.models import Fleet, FleetDevice
from registry.federated.models.fleets import NAME
from registry.federated.services import fleets
from registry.people.services.tokens import digest
from registry.versions import selectors as registry

if TYPE_CHECKING:
    from django.db.models import QuerySet
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


class FleetsView(View):
    """Open to devices by the token of their fleet, and to people."""

    authentication_classes = [FleetTokenAuthentication]


class FleetView(FleetsView):
    """At or below the address of a fleet."""

    target = "fleet"

    @cached_property
    def fleet(self) -> Fleet:
        """The fleet, for its devices and for maintainers; raises NotFound, NotAllowed."""
        place, name = (self.kwargs["namespace"], self.kwargs["name"]), self.kwargs["fleet"]
        secret = self.request.headers.get("Authorization", "").partition(" ")[2].strip()
        if not secret.startswith(fleets.TOKEN_PREFIX):
            actor = self.request.user
            return selectors.fleet(actor, registry.model(actor, *place), name)
        rows = Fleet.objects.select_related("model__namespace", "stable", "desired")
        row = rows.filter(token_digest=digest(secret), name=name, model__deleted_at=None).first()
        if row is None or row.model.ref.lower() != "/".join(place).lower():
            raise problems.NotAuthenticated("This token does not belong to this fleet.")
        return row


class FleetList(FleetsView, ModelView):
    """The fleets of a model."""

    @listing("fleets_list", FleetOutput, by="id")
    def get(self) -> QuerySet[Fleet]:
        """List fleets, for maintainers."""
        return selectors.fleets(self.request.user, self.model)

    @operation(
        "fleets_create",
        FleetMadeOutput,
        reads=FleetInput,
        status=201,
        headers={"Cache-Control": "no-store"},
    )
    def post(self, **fields: Any) -> Any:
        """Create a fleet; the response contains the token for its devices."""
        row: Any
        row, row.token = fleets.create(self.request.user, model=self.model, **fields)
        return row


class FleetDetail(FleetView):
    """One fleet."""

    @operation("fleets_read", FleetOutput, tagged=True)
    def get(self) -> Fleet:
        """Read the progress of a rollout."""
        require(self.request.user, "training.manage", self.fleet.model)
        return self.fleet


class FleetDesired(FleetView):
    """The version that devices should run."""

    @extend_schema(
        operation_id="fleets_desired",
        responses={200: DesiredOutput, 204: None},
    )
    @asks(OpenApiParameter("device", str, required=True))
    def get(self, request: Request, **_: Any) -> Response:
        """Read the version that a device should run.

        Returns 304 for its current ETag and 204 if there is none.
        """
        fleet = self.fleet
        device = _device(request.query_params.get("device", ""))
        version = fleets.version_for(fleet, device)
        if version is None:
            return Response(status=204)
        desired = {
            "version": version.number,
            "manifest_digest": version.manifest_sha256,
            "required_by": fleet.required_by,
            "step": fleets.place_of(fleet, device),
        }
        return etags.respond(request, self.data(DesiredOutput, desired))

    @operation("fleets_desire", FleetOutput, reads=DesiredInput)
    def put(self, version: int, **rollout: Any) -> Fleet:
        """Roll out a version to a percentage of the devices."""
        actor, place = self.request.user, (self.kwargs["namespace"], self.kwargs["name"])
        desired = registry.version(actor, *place, version)
        return fleets.desire(actor, fleet=self.fleet, version=desired, **rollout)


class FleetDeviceDetail(FleetView):
    """What one device says."""

    @operation("fleets_report", reads=ReportInput)
    def put(self, running: str, **report: str) -> None:
        """Report the version that a device runs, and its status."""
        manifest = digests.parse(running)
        device = _device(self.kwargs["device"])
        fleets.report(fleet=self.fleet, device=device, running=manifest, **report)


def _device(text: str) -> str:
    if not 1 <= len(text) <= 100 or not text.isprintable():
        raise problems.InvalidRequest.at("/device", "Name the device by 1 to 100 characters.")
    return text
