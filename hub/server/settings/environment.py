"""The environment, and what several groups of settings derive from."""

from pathlib import Path

import environ

env = environ.Env()

# Where the embedded services keep their files.
HUB_HOME = Path(env.str("HUB_HOME", default="./var")).resolve()
# The public URL of the hub. Links, RDF names, cookies and allowed hosts are derived from it.
HUB_PUBLIC_URL = env.str("HUB_PUBLIC_URL", default="http://127.0.0.1:8000").rstrip("/")
# Redis for cache, throttles and the Celery broker; without it workers poll the database.
REDIS_URL = env.str("REDIS_URL", default="")
