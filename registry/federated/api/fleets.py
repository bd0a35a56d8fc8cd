"""Fleets over HTTP: which version a device should run, and its reports."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.response import Response

from hub.protocol import digests, problems
from registry.api import etags
from registry.api.authentication import TokenAuthentication
from registry.api.inputs import Input
from registry.api.operations import ModelView, operation, rows
from registry.api.outputs import Column, Columns, Digest, Output
from registry.api.parameters import asks
from registry.core.permissions import require
from registry.federated import selectors
from registry.federated.models import Fleet, FleetDevice
from registry.federated.models.fleets import NAME
from registry.federated.services import fleets
from registry.models import Version
from registry.people.services.tokens import digest
from registry.versions import selectors as registry

if TYPE_CHECKING:
    from rest_framework.request import Request


class FleetInput(Input):
    columns = Columns(
        Column("name", field=serializers.RegexField, regex=NAME),
        Column(
            "halt_percent",
            min_value=0,
            max_value=100,
            help_text="share of failed devices that halts a rollout; 0 disables this",
        ),
        of=fleets.create,
    )


class DesiredInput(Input):
    """A version to roll out to a percentage of the devices."""

    columns = Columns(
        Column("version", kind=int, min_value=1),
        Column("percent", min_value=0, max_value=100),
        Column("required_by", kind=datetime, allow_null=True, default=None),
        of=fleets.desire,
    )


class ReportInput(Input):
    """The version that a device runs, by manifest digest, and its status."""

    columns = Columns(Column("running", max_length=80), "result", "detail", of=FleetDevice)


class FleetOutput(Output[Fleet]):
    """A fleet, as shown to maintainers."""

    columns = Columns(
        "name",
        Column("stable", "stable.number"),
        Column("desired", "desired.number"),
        Column(
            "desired_state",
            "desired.state",
            kind=str,
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


class DesiredOutput(Output[Version]):
    """The version that a device should run."""

    columns = Columns(
        Column("version", "number"),
        Column("manifest_digest", "manifest_sha256", field=Digest),
        Column("required_by", kind=datetime | None),
        Column(
            "step", kind=int, help_text="the device is included in rollouts above this percentage"
        ),
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


class Fleets(ModelView):
    """The fleets of a model, open to devices by the token of their fleet, and to people."""

    authentication_classes = [FleetTokenAuthentication]
    targets = ("fleet",)

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

    index = rows(
        "fleets_list",
        selectors.fleets,
        "List fleets, for maintainers.",
        FleetOutput,
        by="id",
        targets=("model",),
    )

    @operation(
        "fleets_create",
        FleetMadeOutput,
        targets=("model",),
        reads=FleetInput,
        status=201,
        headers={"Cache-Control": "no-store"},
    )
    def create(self, **fields: Any) -> Any:
        """Create a fleet; the response contains the token for its devices."""
        row: Any
        row, row.token = fleets.create(self.request.user, model=self.model, **fields)
        return row

    @operation("fleets_read", FleetOutput, tagged=True)
    def read(self) -> Fleet:
        """Read the progress of a rollout."""
        require(self.request.user, "training.manage", self.fleet.model)
        return self.fleet

    @asks(OpenApiParameter("device", str, required=True))
    @operation("fleets_desired", responses={200: DesiredOutput, 204: None})
    def desired(self) -> Response:
        """Read the version that a device should run.

        Returns 304 for its current ETag and 204 if there is none.
        """
        device = _device(self.request.query_params.get("device", ""))
        row: Any = fleets.version_for(self.fleet, device)
        if row is None:
            return Response(status=204)
        row.required_by, row.step = self.fleet.required_by, fleets.place_of(self.fleet, device)
        return etags.respond(self.request, self.data(DesiredOutput, row))

    @operation("fleets_desire", FleetOutput, reads=DesiredInput)
    def desire(self, version: int, **rollout: Any) -> Fleet:
        """Roll out a version to a percentage of the devices."""
        actor, place = self.request.user, (self.kwargs["namespace"], self.kwargs["name"])
        desired = registry.version(actor, *place, version)
        return fleets.desire(actor, fleet=self.fleet, version=desired, **rollout)

    @operation("fleets_report", reads=ReportInput)
    def report(self, running: str, **report: str) -> None:
        """Report the version that a device runs, and its status."""
        manifest = digests.parse(running)
        device = _device(self.kwargs["device"])
        fleets.report(fleet=self.fleet, device=device, running=manifest, **report)


def _device(text: str) -> str:
    if not 1 <= len(text) <= 100 or not text.isprintable():
        raise problems.InvalidRequest.at("/device", "Name the device by 1 to 100 characters.")
    return text
