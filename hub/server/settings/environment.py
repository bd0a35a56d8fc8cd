"""The environment, and what several groups of settings derive from."""

from pathlib import Path
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from hub.protocol.capabilities import CAPABILITIES, offered

env = environ.Env()

# Where the embedded services keep their files.
HUB_HOME = Path(env.str("HUB_HOME", default="./var")).resolve()
# The public URL of the hub. Links, RDF names, cookies and allowed hosts are derived from it.
HUB_PUBLIC_URL = env.str("HUB_PUBLIC_URL", default="http://127.0.0.1:8000").rstrip("/")
_public = urlsplit(HUB_PUBLIC_URL)
if _public.scheme not in ("http", "https") or not _public.hostname:
    raise ImproperlyConfigured(
        f"HUB_PUBLIC_URL is {HUB_PUBLIC_URL!r}, which is no http or https URL with a host. Set it "
        "to the address that people use, such as https://hub.example.org, or unset it."
    )
# Capabilities beside the core that the hub offers, by name; docs/ports.md lists them. What is left
# out has no address, page or command. By default all.
HUB_CAPABILITIES = env.list("HUB_CAPABILITIES", default=list(CAPABILITIES))
try:
    _offered = offered(HUB_CAPABILITIES)
except ValueError as error:
    raise ImproperlyConfigured(f"HUB_CAPABILITIES: {error}") from error
CAPABILITY_APPS = [app for capability in _offered.values() for app in capability.apps]
TABLE_APPS = [app for capability in CAPABILITIES.values() for app in capability.tables]
# Redis for cache, throttles and the Celery broker; without it workers poll the database.
REDIS_URL = env.str("REDIS_URL", default="")
