"""The environment, and what several groups of settings derive from."""

from pathlib import Path
from urllib.parse import urlsplit

from hub.protocol.capabilities import CAPABILITIES, offered
from hub.server.environment import env

# Where the embedded services keep their files.
HUB_HOME = Path(env.text("HUB_HOME", default="./var")).resolve()
# The public URL of the hub. Links, RDF names, cookies and allowed hosts are derived from it.
HUB_PUBLIC_URL = env.text("HUB_PUBLIC_URL", default="http://127.0.0.1:8000").rstrip("/")
_public = urlsplit(HUB_PUBLIC_URL)
if _public.scheme not in ("http", "https") or not _public.hostname:
    env.refuse(
        "HUB_PUBLIC_URL",
        f"is {HUB_PUBLIC_URL!r}, which is no http or https URL with a host.",
        "Set it to the address that people use, such as https://hub.example.org, or unset it.",
    )
# Capabilities beside the core that the hub offers, by name; docs/ports.md lists them. What is left
# out has no address, page or command. By default all.
HUB_CAPABILITIES = env.texts("HUB_CAPABILITIES", default=list(CAPABILITIES))
try:
    _offered = offered(HUB_CAPABILITIES)
except ValueError as _error:
    env.refuse("HUB_CAPABILITIES", f"cannot be used: {_error}", "Correct it, or unset it for all.")
    _offered = offered(list(CAPABILITIES))
CAPABILITY_APPS = [app for capability in _offered.values() for app in capability.apps]
TABLE_APPS = [app for capability in CAPABILITIES.values() for app in capability.tables]
# Redis for cache, throttles and the Celery broker; without it workers poll the database.
REDIS_URL = env.text("REDIS_URL", default="")
if REDIS_URL and urlsplit(REDIS_URL).scheme not in ("redis", "rediss", "unix"):
    # The value may hold a password.
    env.refuse("REDIS_URL", "is no address of a Redis.", "Write it as redis://host:6379/0.")
