"""A device of a fleet: it enrols once, then pulls the version that it should run, and reports.

d = hub.fleet_device("zoo/digits", "cameras", device="camera-7")
d.enrol("the code of an invitation")
if model := d.pull("model"):
    d.report("ok")
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from hub.client import download
from hub.client.cache import Cache, RemoteFile
from hub.client.config import Config
from hub.client.training import identity
from hub.client.training.identity import Identity
from hub.client.transport import Transport
from hub.protocol import federated, fleets, problems, refs


class FleetDevice:
    """One device of one fleet of a hub. Not to be shared between threads.

    Its key and its token are kept in the user's configuration folder, readable by the user alone.
    The private key never leaves the device.
    """

    def __init__(
        self,
        config: Config,
        model: str,
        fleet: str,
        *,
        device: str,
        cache: Cache,
        sleep: Callable[[float], None],
    ) -> None:
        self.model, self.fleet, self.device = refs.parse(model).name, fleet, device
        self._config, self._cache, self._sleep = config, cache, sleep
        self._ref = f"{self.model}/fleets/{fleet}"
        self._address = f"/api/v1/models/{self.model}/fleets/{quote(fleet, safe='')}"
        self._place = identity.path_of(config.url, self._ref, device)
        self._identity = identity.read(self._place)
        self._transport = self._connected()
        self._manifest = ""

    @property
    def is_enrolled(self) -> bool:
        """Whether this device has a token; it may have been revoked since."""
        return self._identity is not None and self._identity.has_joined

    def enrol(self, code: str) -> None:
        """Enrol with the code of an invitation, once; later calls do nothing.

        Raises `InviteInvalid`, and `KeyKnown` when the fleet has a device of this name.
        """
        if self.is_enrolled:
            return
        key = federated.new_key()
        content = fleets.enrolment(self.model, self.fleet, self.device, code)
        answer = self._transport.request(
            "POST",
            f"{self._address}/enrolments",
            content={
                "code": code,
                "device": self.device,
                "public_key": federated.public_key(key),
                "signature": federated.sign(content, key),
            },
        ).json()
        self._keep(key, answer["token"])

    def pull(self, folder: str | os.PathLike[str]) -> Path | None:
        """Write the version that this device should run to a folder, verified; None for none.

        Files that are there already are replaced. Returns the folder.
        """
        try:
            version = self._enrolled().get(f"{self._address}/files")
        except problems.NotFound:
            return None
        target = Path(folder)
        for item in version["files"]:
            path = quote(refs.check_path(item["path"]))
            address = f"{self._address}/files/{path}?version={version['version']}"
            file = RemoteFile.from_json(item | {"url": address})
            blob = download.fetch(self._transport, self._cache, file)
            place = target / file.path
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(blob, place)
        self._manifest = version["manifest_digest"]
        return target

    def report(self, result: str, detail: str = "") -> None:
        """Report how the version that was pulled runs: `ok` or `failed`."""
        if not self._manifest:
            raise problems.InvalidRequest("There is no version to report on. Call pull() first.")
        self._enrolled().request(
            "PUT",
            f"{self._address}/devices/{quote(self.device, safe='')}",
            content={"running": self._manifest, "result": result, "detail": detail},
        )

    def rotate(self) -> None:
        """Replace the key and the token of this device; the former ones end at once."""
        transport = self._enrolled()
        assert self._identity is not None  # noqa: S101 - it is enrolled
        key = federated.new_key()
        public = federated.public_key(key)
        content = fleets.rotation(self.model, self.fleet, self.device, public)
        answer = transport.request(
            "PUT",
            f"{self._address}/key",
            content={
                "public_key": public,
                "signature": federated.sign(content, self._identity.key),
            },
            once=True,
        ).json()
        self._keep(key, answer["token"])

    def _keep(self, key: bytes, token: str) -> None:
        self._identity = Identity(key, self.device, token, self._ref)
        identity.keep(self._place, self._identity)
        self._transport = self._connected()

    def _connected(self) -> Transport:
        config = self._config
        if self._identity and self._identity.has_joined:
            config = replace(config, token=self._identity.token)
        return Transport(config, sleep=self._sleep)

    def _enrolled(self) -> Transport:
        if not self.is_enrolled:
            raise problems.NotAuthenticated(
                f"This device is not enrolled in {self._ref}: call enrol() with an invitation."
            )
        return self._transport
