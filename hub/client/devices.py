"""What a device does in a training or a fleet."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hub.client.cache import Cache
from hub.client.config import Config
from hub.client.transport import Transport

if TYPE_CHECKING:
    from hub.client.fleet_device import FleetDevice
    from hub.client.training.training import Training


class Devices:
    """The part of `hub.client.hub.Hub` for devices."""

    config: Config
    transport: Transport
    cache: Cache

    def training(
        self,
        ref: str,
        *,
        key: bytes | str | os.PathLike[str] | None = None,
        device: str = "default",
        certificate: str | os.PathLike[str] | None = None,
        certificate_key: str | os.PathLike[str] | None = None,
    ) -> Training:
        """Return a device's side of a training, such as `zoo/digits/trainings/7`.

        `key` is a private key of 32 bytes or the path of one; without it one is made at `join`.
        Several devices of one machine have a `device` name each. `certificate` is a PEM file with
        the device's TLS client certificate, `certificate_key` one with its key where that is not
        in the same file; without them it is what this hub was made with.
        """
        from hub.client.training.training import Training  # noqa: PLC0415  (each verb imports what it needs)

        self.config.require_network(ref, "hub.training")
        return Training(
            self.config,
            ref,
            cache=self.cache,
            sleep=self.transport.sleep,
            key=key,
            device=device,
            certificate=certificate,
            certificate_key=certificate_key,
        )

    def fleet_device(self, model: str, fleet: str, *, device: str) -> FleetDevice:
        """Return a device's side of a fleet: it enrols once, then pulls its version and reports.

        `device` is the name of this device in the fleet.
        """
        from hub.client.fleet_device import FleetDevice  # noqa: PLC0415  (each verb imports what it needs)

        self.config.require_network(model, "hub.fleet_device")
        return FleetDevice(
            self.config,
            model,
            fleet,
            device=device,
            cache=self.cache,
            sleep=self.transport.sleep,
        )
