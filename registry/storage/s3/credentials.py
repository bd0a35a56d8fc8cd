"""Keys of a bucket from a file of credentials that may change while the hub runs."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import structlog
from botocore.credentials import (
    CredentialProvider,
    Credentials,
    ReadOnlyCredentials,
    SharedCredentialProvider,
)
from botocore.exceptions import BotoCoreError
from botocore.session import Session

log = structlog.get_logger(__name__)


def session() -> Session:
    """A session with keys from where AWS SDKs look for them; those of a file follow its changes."""
    created = Session()
    path = Path(created.get_config_variable("credentials_file")).expanduser()
    provider = _FileProvider(path, created.get_config_variable("profile"))
    created.get_component("credential_provider").insert_before(_FileProvider.NEXT, provider)
    return created


class _FileProvider(CredentialProvider):  # type: ignore[misc]
    METHOD = "changing-credentials-file"
    NEXT = SharedCredentialProvider.METHOD

    def __init__(self, path: Path, profile: str | None) -> None:
        super().__init__()
        self._path = path
        self._provider = SharedCredentialProvider(str(path), profile)

    def load(self) -> Credentials | None:
        """The keys of the profile, None without a file or a profile."""
        version = _version(self._path)
        first = self._provider.load()
        return _FileCredentials(self._path, self._provider, version, first) if first else None


class _FileCredentials(Credentials):  # type: ignore[misc]
    """Keys that each signature takes from the newest state of a file.

    While the file cannot be read, as in the middle of a change, the former keys stay.
    """

    def __init__(
        self, path: Path, provider: SharedCredentialProvider, version: Any, first: Credentials
    ) -> None:
        super().__init__(first.access_key, first.secret_key, first.token, first.method)
        self._path, self._provider = path, provider
        self._lock = threading.Lock()
        self._version = version

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        with self._lock:
            version = _version(self._path)
            if version != self._version:
                self._reload(version)
            return super().get_frozen_credentials()

    def _reload(self, version: Any) -> None:
        try:
            newest = self._provider.load()
        except BotoCoreError:
            newest = None
        if newest is None:
            return
        self._version = version
        self.access_key, self.secret_key = newest.access_key, newest.secret_key
        self.token = newest.token
        log.info("bucket_keys_changed")


def _version(path: Path) -> tuple[int, int] | None:
    """What changes with the file, links to it included; None while it is away."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ino
