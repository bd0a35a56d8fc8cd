"""Database, cache, uploaded files, and their verification."""

from pathlib import Path
from typing import Any

from hub.protocol.version import __version__
from hub.server import redis_connections
from hub.server.environment import env
from hub.server.settings.environment import HUB_HOME, REDIS_URL


def _sqlite(path: Path) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        # Opening it again costs each request more than most answers do.
        "CONN_MAX_AGE": 600,
        "OPTIONS": {
            # Immediate transactions and WAL: writers queue instead of failing when they meet.
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": (
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY;"
                "PRAGMA cache_size=-65536; PRAGMA mmap_size=268435456;"
            ),
        },
    }


# PostgreSQL 15 or newer; by default SQLite in HUB_HOME.
DATABASES: dict[str, dict[str, Any]] = {
    "default": env.database("DATABASE_URL") or _sqlite(HUB_HOME / "hub.sqlite3")
}
if DATABASES["default"]["ENGINE"].endswith("postgresql"):
    # A process that froze in a transaction loses it, so that its locks hold up no one for longer.
    _patience = "-c idle_in_transaction_session_timeout=20s"
    _options = {
        "options": _patience,
        # Seconds to connect, and milliseconds until a machine that is gone is noticed. Web
        # processes limit the time to an answer as well (`hub.server.postgres_waits`).
        "connect_timeout": 5,
        "tcp_user_timeout": 20_000,
    }
    DATABASES["default"] |= {
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": _options | DATABASES["default"].get("OPTIONS", {}),
    }

CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        # Objects are stored as their code was: another release must not read them.
        "KEY_PREFIX": f"hub-{__version__}",
        "OPTIONS": redis_connections.OPTIONS,
    }
    if REDIS_URL
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    # Counts of this process alone. With the backend's own limit of 300 entries a client that counts
    # up many of them would push out the rest.
    "process": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "process",
        "OPTIONS": {"MAX_ENTRIES": 50_000},
    },
}
CACHES["counters"] = CACHES["default"] | {"KEY_PREFIX": "hub"} if REDIS_URL else CACHES["process"]

# Where uploaded files are stored: a local folder (file:///…) or an S3 bucket (s3://bucket/prefix).
HUB_STORAGE_URL = env.text("HUB_STORAGE_URL", default=(HUB_HOME / "storage").as_uri())
# With S3: a local folder for what can be made again, such as files that workers have fetched.
HUB_STORAGE_CACHE = Path(env.text("HUB_STORAGE_CACHE", default=str(HUB_HOME / "storage-cache")))
# With S3: most bytes of fetched files that a machine keeps, unless jobs use more at once.
HUB_STORAGE_CACHE_BYTES = env.integer("HUB_STORAGE_CACHE_BYTES", default=2**35)
# With S3: redirect downloads to signed addresses of the bucket, valid for five minutes.
HUB_STORAGE_REDIRECT = env.flag("HUB_STORAGE_REDIRECT", default=False)
# With S3: clients that can send files from 8 MiB to 5 GiB to signed addresses of the bucket, where
# its gateway refuses content of another SHA-256. The hub tries that first.
HUB_STORAGE_DIRECT_UPLOADS = env.flag("HUB_STORAGE_DIRECT_UPLOADS", default=False)
# Bodies that Django itself may hold in memory; model bytes go through resumable uploads instead.
DATA_UPLOAD_MAX_MEMORY_SIZE = 2**20 * 5
# Folder for buffered request and response bodies of slow clients.
FILE_UPLOAD_TEMP_DIR = Path(env.text("HUB_TEMP", default=str(HUB_HOME / "tmp")))
try:
    FILE_UPLOAD_TEMP_DIR.mkdir(parents=True, exist_ok=True)
except OSError as _error:
    env.refuse(
        "HUB_TEMP", f"cannot be written: {_error}.", "Set it or HUB_HOME to a folder of the hub."
    )

# Days within which every stored file is verified against its digest; 0 turns this off.
HUB_VERIFY_DAYS = env.integer("HUB_VERIFY_DAYS", default=30)
# Most bytes that the hub verifies per hour, at least one file.
HUB_VERIFY_BYTES = env.integer("HUB_VERIFY_BYTES", default=2**34)
