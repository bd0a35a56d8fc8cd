"""The environment variables of the client, which a machine with a hub may have as well."""

from __future__ import annotations

from typing import Final

VARIABLES: Final = frozenset(
    {
        "HUB_URL",
        "HUB_TOKEN",
        "HUB_CACHE",
        "HUB_OFFLINE",
        "HUB_RETRY_SECONDS",
        "HUB_VERIFY",
        "HUB_CA_BUNDLE",
        "HUB_CLIENT_CERTIFICATE",
        "HUB_CLIENT_KEY",
        "HUB_KEY_PASSWORD",
        "HUB_REQUIRE_SIGNATURE",
        "HUB_SIGNATURE_AUTHORITIES",
        "HUB_SIGSTORE_CONFIG",
        "HUB_SIGSTORE_ROOT",
    }
)
