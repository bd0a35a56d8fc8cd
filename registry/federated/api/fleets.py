"""Fleets over HTTP: which version a device should run, and its reports."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Any

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from hub.protocol import digests, problems
from registry.api import downloads, etags, guests
from registry.api.inputs import Input
from registry.api.operations import ModelView, View, command, operation, rows
from registry.api.outputs import Column, Columns, Digest, Output
from registry.api.parameters import asks
from registry.api.throttles import UserThrottle
from registry.core.permissions import require
from registry.federated import selectors
from registry.federated.api.authentication import (
    DeviceThrottle,
    FleetAuthentication,
    GuestThrottle,
)
from registry.federated.models import EnrolledDevice, Fleet, FleetDevice, FleetInvite
from registry.federated.models.fleets import NAME
from registry.federated.services import enrolments, fleets
from registry.federated.services.participants import MOST_USES
from registry.models import File, Version
from registry.people.services.tokens import digest
from registry.versions import selectors as registry
from registry.versions import version_parts

BYTES = {(200, "application/octet-stream"): OpenApiTypes.BINARY}


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
        "has_shared_token",
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


class FleetInviteInput(Input):
    """How many devices may enrol, and until when."""

    columns = Columns(
        Column("uses", min_value=1, max_value=MOST_USES),
        "expires_days",
        of=enrolments.invite,
    )


class FleetOrUser(guests.SignedIn):
    """Where guests are refused, devices with the token of a fleet pass."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        secret = request.headers.get("Authorization", "").partition(" ")[2].strip()
        return (
            super().has_permission(request, view)
            or Fleet.objects.filter(token_digest=digest(secret)).exists()
        )


class FleetInviteOutput(Output[FleetInvite]):
    """An invitation to enrol, without its code."""

    columns = Columns("id", "uses", "used", "created_at", "expires_at", "revoked_at")


class FleetInviteMadeOutput(FleetInviteOutput):
    code = serializers.CharField(help_text="code for the devices; shown only once")


class DeviceEnrolmentInput(Input):
    """The name and the key of a device, and the signature that proves it."""

    columns = Columns(
        Column("code", kind=str, max_length=100, help_text="code of the invitation"),
        Column("device", kind=str, max_length=100, help_text="name of the device in the fleet"),
        Column("public_key", kind=str, max_length=43, help_text="Ed25519, base64url"),
        Column("signature", kind=str, max_length=86, help_text="by the key, base64url"),
    )


class KeyInput(Input):
    """A new key, signed by the present one."""

    columns = Columns(
        Column("public_key", kind=str, max_length=43, help_text="Ed25519, base64url"),
        Column("signature", kind=str, max_length=86, help_text="by the present key, base64url"),
    )


class EnrolledDeviceOutput(Output[EnrolledDevice]):
    """A device of a fleet that has a key of its own."""

    columns = Columns("device", "public_key", "enrolled_at", "rotated_at", "revoked_at")


class DeviceTokenOutput(EnrolledDeviceOutput):
    token = serializers.CharField(help_text="token of the device; shown only once")


class FleetFileOutput(Output[File]):
    """A file of the version that a device should run."""

    columns = Columns(
        "path", Column("size", "blob.size"), Column("sha256", "blob_id", field=Digest), "derived"
    )


class FleetFilesOutput(Output[Version]):
    """The version that a device should run, and its files."""

    columns = Columns(
        Column("version", "number"),
        Column("manifest_digest", "manifest_sha256", field=Digest),
        Column("files", "files.all", field=FleetFileOutput, many=True),
    )


class Fleets(ModelView):
    """The fleets of a model, open to devices by their tokens, and to people."""

    authentication_classes = [FleetAuthentication]
    throttle_classes = [UserThrottle, GuestThrottle, DeviceThrottle]
    permission_classes = [FleetOrUser]
    targets = ("fleet",)

    @property
    def enrolled(self) -> EnrolledDevice | None:
        """The enrolled device that asks, if one does."""
        device = self.request.auth
        return device if isinstance(device, EnrolledDevice) else None

    @cached_property
    def fleet(self) -> Fleet:
        """The fleet, for its devices and for maintainers; raises NotFound, NotAllowed."""
        place, name = (self.kwargs["namespace"], self.kwargs["name"]), self.kwargs["fleet"]
        secret = self.request.headers.get("Authorization", "").partition(" ")[2].strip()
        if self.enrolled is not None:
            row = self.enrolled.fleet
        elif secret.startswith(fleets.TOKEN_PREFIX):
            row = fleets.of_shared_token(secret, name)
        else:
            actor = self.request.user
            return selectors.fleet(actor, registry.model(actor, *place), name)
        if row.name != name or row.model.ref.lower() != "/".join(place).lower():
            raise problems.NotAuthenticated("This token does not belong to this fleet.")
        return row

    def device(self, name: str) -> str:
        """The device that is asked about or reports; raises NotAllowed for another one's name.

        An enrolled device speaks for itself, and it alone.
        """
        if self.enrolled is not None and name in ("", self.enrolled.device):
            return self.enrolled.device
        _expect_name(name)
        if self.enrolled is not None or enrolments.is_enrolled(self.fleet, name):
            raise problems.NotAllowed(
                f"Only the device {name} itself, with its own token, can do this."
            )
        return name

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

    @asks(OpenApiParameter("device", str, description="not needed with a device's own token"))
    @operation("fleets_desired", responses={200: DesiredOutput, 204: None})
    def desired(self) -> Response:
        """Read the version that a device should run.

        Returns 304 for its current ETag and 204 if there is none.
        """
        device = self.device(self.request.query_params.get("device", ""))
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
        device = self.device(self.kwargs["device"])
        fleets.report(fleet=self.fleet, device=device, running=manifest, **report)

    revoke_token = command(
        "fleets_revoke_token",
        fleets.revoke_shared_token,
        "Revoke the token that all devices of a fleet share; enrolled devices are not affected.",
    )
    invites = rows(
        "fleets_invites",
        selectors.fleet_invites,
        "List invitations to enrol, for maintainers.",
        FleetInviteOutput,
        by="id",
    )

    @operation(
        "fleets_invite",
        FleetInviteMadeOutput,
        reads=FleetInviteInput,
        status=201,
        headers={"Cache-Control": "no-store"},
    )
    def invite(self, **fields: Any) -> Any:
        """Create an invitation to enrol; only this response contains its code."""
        row: Any
        row, row.code = enrolments.invite(self.request.user, fleet=self.fleet, **fields)
        return row

    revoke_invite = command(
        "fleets_revoke_invite",
        enrolments.revoke_invite,
        "Revoke an invitation; devices that enrolled with it are not affected.",
        targets=("fleet", "key"),
    )
    devices = rows(
        "fleets_devices",
        selectors.enrolled_devices,
        "List enrolled devices, for maintainers.",
        EnrolledDeviceOutput,
        by="id",
    )

    @operation("fleets_revoke_device")
    def revoke_device(self) -> None:
        """Revoke an enrolled device permanently.

        Its name can be enrolled again with another key.
        """
        device = self.kwargs["device"]
        enrolments.revoke(self.request.user, fleet=self.fleet, device=device)

    @operation("fleets_files", FleetFilesOutput)
    def files(self) -> Version:
        """List the files of the version that the device should run; for enrolled devices."""
        return _with_files(self._version())

    @asks(OpenApiParameter("version", int, description="number of the version that it expects"))
    @operation("fleets_read_file", responses=BYTES)
    def read_file(self) -> HttpResponseBase:
        """Download a file of the version that the device should run; for enrolled devices.

        409 where the device should run another version than it expects. Supports ranges.
        """
        version, path = self._version(), self.kwargs["path"]
        if self.request.query_params.get("version", str(version.number)) != str(version.number):
            raise problems.StateConflict(
                f"The device should run version {version.number} now. List its files again."
            )
        file = problems.expect(
            version.files.select_related("blob").filter(path=path).first(),
            problems.NotFound(f"Version {version.number} has no file {path}."),
        )
        if file.blob.erased_at is not None:
            raise problems.NotFound("The hub no longer stores this file.")
        plain = self.request._request  # noqa: SLF001 - DRF's own
        answer = downloads.send(plain, file.blob, path, immutable=False)
        downloads.count(plain, answer, version.pk, path, protected=None)
        if self.fleet.model.is_protected:
            assert self.enrolled is not None  # noqa: S101 - it has a version
            data = {"path": path, "fleet": self.fleet.name, "device": self.enrolled.device}
            of = ("version", version.pk)
            downloads.report(plain, answer, of, self.fleet.model_id, data)
        return answer

    def _version(self) -> Version:
        """The version that the enrolled device should run; raises NotAuthenticated, NotFound."""
        fleet, device = self.fleet, self.enrolled
        if device is None:
            raise problems.NotAuthenticated(
                "This requires the token of an enrolled device: send it as `Authorization: Bearer "
                "fd_…`."
            )
        return problems.expect(
            fleets.version_for(fleet, device.device),
            problems.NotFound(f"No version of {fleet.model.ref} is assigned to this device."),
        )

    @operation(
        "fleets_rotate", DeviceTokenOutput, reads=KeyInput, headers={"Cache-Control": "no-store"}
    )
    def rotate(self, **fields: str) -> Any:
        """Replace the key and the token of the device that asks; the former token ends at once."""
        fleet, row = self.fleet, self.enrolled
        if row is None:
            raise problems.NotAuthenticated(f"Only an enrolled device of {fleet} can do this.")
        answer: Any = row
        answer.token = enrolments.rotate(device=row, **fields)
        row.refresh_from_db(fields=["public_key", "rotated_at"])
        return answer


class Enrolments(View):
    """Where devices enrol: who has the code of an invitation needs nothing else."""

    authentication_classes: list[Any] = []
    serves_guests = True  # the code of the invitation is the credential

    @operation(
        "fleets_enrol",
        DeviceTokenOutput,
        reads=DeviceEnrolmentInput,
        status=201,
        headers={"Cache-Control": "no-store"},
    )
    def enrol(self, **fields: str) -> Any:
        """Enrol a device with an invitation; only this response contains its token."""
        _expect_name(fields["device"])
        place = {part: self.kwargs[part] for part in ("namespace", "name", "fleet")}
        row: Any
        row, row.token = enrolments.enrol(**place, **fields)
        return row


def _expect_name(text: str) -> None:
    if not 1 <= len(text) <= 100 or not text.isprintable():
        raise problems.InvalidRequest.at("/device", "Name the device by 1 to 100 characters.")


def _with_files(version: Version) -> Version:
    """The version with its files read along."""
    version_parts.attach(version)
    return version
