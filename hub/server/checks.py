"""What `manage.py check --deploy` refuses by name before the hub meets the internet."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004
from django.db import connection

from runners.engine.benchmark import power

LOCAL = {"127.0.0.1", "localhost", "::1"}


@register(Tags.security, deploy=True)
def check_production(**_: Any) -> list[CheckMessage]:
    """Each unsafe setting, with its variable and what to set it to."""
    public = urlsplit(settings.HUB_PUBLIC_URL)
    faults: list[tuple[bool, type[Error | Warning], str, str, str]] = [
        (
            settings.DEBUG,
            Error,
            "HUB_DEBUG is on: tracebacks and settings are shown to everybody.",
            "Unset HUB_DEBUG.",
            "hub.E001",
        ),
        (
            public.scheme != "https" and public.hostname not in LOCAL,
            Error,
            f"HUB_PUBLIC_URL {settings.HUB_PUBLIC_URL} is not https: passwords could be read.",
            "Put a TLS proxy in front and give its https address.",
            "hub.E002",
        ),
        (
            settings.HUB_SANDBOX_REQUIRED != "full",
            Error,
            f"HUB_SANDBOX_REQUIRED={settings.HUB_SANDBOX_REQUIRED} does too little for strangers.",
            "Set HUB_SANDBOX_REQUIRED=full, and see which layers /health reports.",
            "hub.E003",
        ),
        (
            min(
                settings.HUB_LIMITS_FILE_BYTES,
                settings.HUB_LIMITS_NAMESPACE_BYTES,
                settings.HUB_LIMITS_USER_BYTES,
                settings.HUB_LIMITS_OPEN_UPLOADS,
            )
            <= 0,
            Error,
            "Nothing can be uploaded.",
            "Set every HUB_LIMITS_…_BYTES and HUB_LIMITS_OPEN_UPLOADS above 0.",
            "hub.E004",
        ),
        (
            settings.HUB_GRID_REGION.upper() not in ("", *power.regions()),
            Error,
            f"HUB_GRID_REGION={settings.HUB_GRID_REGION} is in no table: every benchmark fails.",
            f"Give one of {', '.join(power.regions())}, or leave it out.",
            "hub.E005",
        ),
        (
            connection.vendor == "sqlite",
            Warning,
            "The database is SQLite: one machine, one web process.",
            "Give DATABASE_URL of a PostgreSQL server.",
            "hub.W001",
        ),
        (
            not settings.REDIS_URL,
            Warning,
            "Without Redis each web process counts request rates for itself, and workers poll.",
            "Give REDIS_URL.",
            "hub.W002",
        ),
    ]
    return [
        kind(text, hint=hint, id=name) for is_wrong, kind, text, hint, name in faults if is_wrong
    ]
