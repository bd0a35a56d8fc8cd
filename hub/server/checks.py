"""Settings that `manage.py check` refuses by name; some only with `--deploy`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004
from django.db import connection

from hub.server import backends, start
from hub.server.environment import env
from registry.storage import files
from runners.engine.benchmark import power

LOCAL = {"127.0.0.1", "localhost", "::1"}


@register(Tags.security, deploy=True)
def check_production(**_: Any) -> list[CheckMessage]:
    """Each unsafe setting, with its variable and what to set it to."""
    public = urlsplit(settings.HUB_PUBLIC_URL)
    is_own_folder = (settings.HUB_HOME / "storage").as_uri() == settings.HUB_STORAGE_URL
    faults: list[tuple[bool, type[Error | Warning], str, str, str]] = [
        (
            settings.DEBUG,
            Error,
            "HUB_DEBUG is on: anyone can see tracebacks and settings.",
            "Unset HUB_DEBUG.",
            "hub.E001",
        ),
        (
            public.scheme != "https" and public.hostname not in LOCAL,
            Error,
            (
                f"HUB_PUBLIC_URL {settings.HUB_PUBLIC_URL} does not use https: passwords can be "
                "intercepted."
            ),
            "Put a TLS proxy in front and set HUB_PUBLIC_URL to its https URL.",
            "hub.E002",
        ),
        (
            settings.HUB_SANDBOX_REQUIRED not in ("partial", "full"),
            Error,
            (
                f"HUB_SANDBOX_REQUIRED={settings.HUB_SANDBOX_REQUIRED} is too weak for untrusted "
                "uploads."
            ),
            (
                "Set HUB_SANDBOX_REQUIRED=full, or partial in containers, and check the layers "
                "that /health reports."
            ),
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
            "A limit of 0 blocks all uploads.",
            "Set every HUB_LIMITS_…_BYTES and HUB_LIMITS_OPEN_UPLOADS above 0.",
            "hub.E004",
        ),
        (
            settings.HUB_GRID_REGION.upper() not in ("", *power.regions()),
            Error,
            (
                f"HUB_GRID_REGION={settings.HUB_GRID_REGION} is not a known grid region: every "
                "benchmark will fail."
            ),
            f"Use one of {', '.join(power.regions())}, or unset it.",
            "hub.E005",
        ),
        (
            connection.vendor == "sqlite",
            Warning,
            "The database is SQLite, which limits the hub to one machine and one web process.",
            "Set DATABASE_URL to a PostgreSQL server.",
            "hub.W001",
        ),
        (
            not settings.REDIS_URL,
            Warning,
            "Without Redis each web process counts request rates on its own and workers poll.",
            "Set REDIS_URL.",
            "hub.W002",
        ),
        (
            settings.HUB_SANDBOX_REQUIRED == "partial",
            Warning,
            (
                "HUB_SANDBOX_REQUIRED=partial, as containers allow: a child can find out which "
                "paths exist."
            ),
            (
                "If untrusted users may publish, run workers outside of containers with "
                "HUB_SANDBOX_REQUIRED=full."
            ),
            "hub.W003",
        ),
        (
            connection.vendor == "postgresql" and (settings.HUB_HOME / "secret-key").exists(),
            Warning,
            "The key that signs sessions is in HUB_HOME: other machines of this hub have another.",
            "If the hub has several machines, set the same HUB_SECRET_KEY on all of them.",
            "hub.W004",
        ),
        (
            connection.vendor == "postgresql" and is_own_folder,
            Warning,
            "Files are stored in HUB_HOME: other machines of this hub do not have them.",
            "If the hub has several machines, set HUB_STORAGE_URL to a bucket or a shared folder.",
            "hub.W005",
        ),
    ]
    return [
        kind(text, hint=hint, id=name) for is_wrong, kind, text, hint, name in faults if is_wrong
    ]


@register(start.CHECKS)
def check_environment(**_: Any) -> list[CheckMessage]:
    """Variables that cannot be used, and names that nothing reads."""
    return [Error(fault.text, hint=fault.cure, id="hub.E009") for fault in env.faults] + [
        Warning(fault.text, hint=fault.cure, id="hub.W009") for fault in env.unknown()
    ]


@register(Tags.database)
def check_database(*, databases: Collection[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Whether the database answers; for `migrate` and `check --database default` alone."""
    return backends.unanswered({backends.Backend.DATABASE}) if databases else []


@register(start.CHECKS)
def check_proxies(**_: Any) -> list[CheckMessage]:
    """Whether what the settings say of proxies agrees."""
    public = urlsplit(settings.HUB_PUBLIC_URL)
    faults = [
        (
            public.scheme == "https" and settings.HUB_PROXIES == 0,
            (
                f"HUB_PUBLIC_URL {settings.HUB_PUBLIC_URL} needs a TLS proxy, but HUB_PROXIES is "
                "0: X-Forwarded-For is ignored, so all clients count as one address in limits."
            ),
            "Set HUB_PROXIES to the number of proxies in front of the hub, such as 1.",
            "hub.W006",
        ),
        (
            public.scheme == "http" and public.hostname in LOCAL and settings.HUB_PROXIES > 0,
            (
                f"HUB_PROXIES is {settings.HUB_PROXIES}, but HUB_PUBLIC_URL "
                f"{settings.HUB_PUBLIC_URL} has no proxy in front: clients choose the address "
                "that counts by X-Forwarded-For."
            ),
            "Unset HUB_PROXIES, or set HUB_PUBLIC_URL to the address of the proxy.",
            "hub.W007",
        ),
        (
            bool(settings.HUB_CERTIFICATE_PROXIES) and public.scheme != "https",
            (
                "HUB_CERTIFICATE_PROXIES names proxies that end TLS, but HUB_PUBLIC_URL "
                f"{settings.HUB_PUBLIC_URL} does not use https."
            ),
            "Set HUB_PUBLIC_URL to the https URL of the proxy, or unset HUB_CERTIFICATE_PROXIES.",
            "hub.W008",
        ),
    ]
    return [Warning(text, hint=hint, id=name) for is_wrong, text, hint, name in faults if is_wrong]


@register(files.CHECKS)
def check_storage(**_: Any) -> list[CheckMessage]:
    """Whether the hub offers the kind of storage that the settings name."""
    if urlsplit(settings.HUB_STORAGE_URL).scheme in [each.scheme for each in files.backends]:
        return []
    text = f"HUB_STORAGE_URL={settings.HUB_STORAGE_URL} is no kind of storage of this hub."
    hint = f"Use {files.forms()}, or offer the kind that you mean with HUB_CAPABILITIES."
    return [Error(text, hint=hint, id="hub.E007")]
