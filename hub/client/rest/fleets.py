"""The REST operations of fleets, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from hub.client.rest.calls import Group, json_of, model_path, part


@dataclass(frozen=True, kw_only=True)
class Desired:
    """The version that a device should run."""

    version: int
    manifest_digest: str
    required_by: datetime | None
    # the device is included in rollouts above this percentage
    step: int


@dataclass(frozen=True, kw_only=True)
class EnrolledDevice:
    """A device of a fleet that has a key of its own."""

    device: str
    public_key: str
    enrolled_at: datetime
    rotated_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class FleetInvite:
    """An invitation to enrol, without its code."""

    id: int
    uses: int
    used: int
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class FleetInviteMade(FleetInvite):
    """An invitation to enrol, without its code."""

    # code for the devices; shown only once
    code: str


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """A fleet, as shown to maintainers."""

    name: str
    stable: int | None = None
    desired: int | None = None
    # a version that is no longer published, for example yanked, is not sent to devices; they keep
    # the stable version if that is published
    desired_state: str | None = None
    percent: int
    required_by: datetime | None
    halt_percent: int
    is_halted: bool
    has_shared_token: bool | None = None
    # number of devices by result for the desired version
    reports: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class FleetMade(Fleet):
    """A fleet, as shown to maintainers."""

    # token for the devices; shown only once
    token: str


class FleetsGroup(Group):
    """The operations of fleets."""

    def create(
        self,
        model: str,
        *,
        name: str,
        halt_percent: Annotated[
            int | None, "share of failed devices that halts a rollout; 0 disables this"
        ] = None,
    ) -> FleetMade:
        """Create a fleet; the response contains the token for its devices."""
        return self._call(
            FleetMade,
            "POST",
            f"models/{model_path(model)}/fleets",
            content=json_of({"name": name, "halt_percent": halt_percent}),
        )

    def desire(
        self,
        model: str,
        fleet: str,
        *,
        version: int,
        percent: int | None = None,
        required_by: datetime | str | None = None,
    ) -> Fleet:
        """Roll out a version to a percentage of the devices."""
        return self._call(
            Fleet,
            "PUT",
            f"models/{model_path(model)}/fleets/{part(fleet)}/desired",
            content=json_of({"version": version, "percent": percent, "required_by": required_by}),
        )

    def desired(
        self,
        model: str,
        fleet: str,
        *,
        device: Annotated[str | None, "not needed with a device's own token"] = None,
    ) -> Desired | None:
        """Read the version that a device should run.

        Returns 304 for its current ETag and 204 if there is none.
        """
        return self._call(
            Desired,
            "GET",
            f"models/{model_path(model)}/fleets/{part(fleet)}/desired",
            query={"device": device},
        )

    def devices(
        self,
        model: str,
        fleet: str,
        *,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[EnrolledDevice]:
        """List enrolled devices, for maintainers."""
        return self._pages(
            EnrolledDevice, f"models/{model_path(model)}/fleets/{part(fleet)}/devices", limit=limit
        )

    def invite(
        self, model: str, fleet: str, *, uses: int | None = None, expires_days: int | None = None
    ) -> FleetInviteMade:
        """Create an invitation to enrol; only this response contains its code."""
        return self._call(
            FleetInviteMade,
            "POST",
            f"models/{model_path(model)}/fleets/{part(fleet)}/invites",
            content=json_of({"uses": uses, "expires_days": expires_days}),
        )

    def invites(
        self,
        model: str,
        fleet: str,
        *,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[FleetInvite]:
        """List invitations to enrol, for maintainers."""
        return self._pages(
            FleetInvite, f"models/{model_path(model)}/fleets/{part(fleet)}/invites", limit=limit
        )

    def list(
        self,
        model: str,
        *,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[Fleet]:
        """List fleets, for maintainers."""
        return self._pages(Fleet, f"models/{model_path(model)}/fleets", limit=limit)

    def read(self, model: str, fleet: str) -> Fleet:
        """Read the progress of a rollout."""
        return self._call(Fleet, "GET", f"models/{model_path(model)}/fleets/{part(fleet)}")

    def report(
        self,
        model: str,
        fleet: str,
        device: str,
        *,
        running: str,
        result: Literal["ok", "failed"],
        detail: str | None = None,
    ) -> None:
        """Report the version that a device runs, and its status."""
        self._do(
            "PUT",
            f"models/{model_path(model)}/fleets/{part(fleet)}/devices/{part(device)}",
            content=json_of({"running": running, "result": result, "detail": detail}),
        )

    def revoke_device(self, model: str, fleet: str, device: str) -> None:
        """Revoke an enrolled device permanently.

        Its name can be enrolled again with another key.
        """
        self._do(
            "DELETE", f"models/{model_path(model)}/fleets/{part(fleet)}/devices/{part(device)}"
        )

    def revoke_invite(self, model: str, fleet: str, key: str) -> None:
        """Revoke an invitation; devices that enrolled with it are not affected."""
        self._do("DELETE", f"models/{model_path(model)}/fleets/{part(fleet)}/invites/{part(key)}")

    def revoke_token(self, model: str, fleet: str) -> None:
        """Revoke the token that all devices of a fleet share; enrolled devices are not affected."""
        self._do("DELETE", f"models/{model_path(model)}/fleets/{part(fleet)}/token")
