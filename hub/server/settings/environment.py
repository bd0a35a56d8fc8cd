"""The environment, and what several groups of settings derive from."""

from pathlib import Path
from urllib.parse import urlsplit

from hub.protocol.capabilities import CAPABILITIES, offered
from hub.server.environment import env

# Where the embedded services keep their files.
HUB_HOME = Path(env.text("HUB_HOME", default="./var")).resolve()
# The public URL of the hub. Links, RDF names, cookies and allowed hosts are derived from it.
HUB_PUBLIC_URL = env.text("HUB_PUBLIC_URL", default="http://127.0.0.1:8000").rstrip("/")
# Public URLs that the hub had before: pages there redirect, and names in cards that begin so mean
# this hub.
HUB_FORMER_URLS = [url.rstrip("/") for url in env.texts("HUB_FORMER_URLS", default=[])]
_urls = [("HUB_PUBLIC_URL", HUB_PUBLIC_URL), *(("HUB_FORMER_URLS", url) for url in HUB_FORMER_URLS)]
for _variable, _url in _urls:
    if urlsplit(_url).scheme not in ("http", "https") or not urlsplit(_url).hostname:
        env.refuse(
            _variable,
            f"is {_url!r}, which is no http or https URL with a host.",
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
CAPABILITY_APPS = [
    app for capability in _offered.values() for app in (*capability.apps, *capability.libraries)
]
MIDDLEWARE_OF_CAPABILITIES = [name for each in _offered.values() for name in each.middleware]
TABLE_APPS = [app for capability in CAPABILITIES.values() for app in capability.tables]
# Redis for cache, throttles and the Celery broker; without it workers poll the database.
REDIS_URL = env.text("REDIS_URL", default="")
if REDIS_URL and urlsplit(REDIS_URL).scheme not in ("redis", "rediss", "unix"):
    # The value may hold a password.
    env.refuse("REDIS_URL", "is no address of a Redis.", "Write it as redis://host:6379/0.")
