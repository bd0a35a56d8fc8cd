"""Settings, read from the environment: a service is embedded until its URL is given.

Every variable is read here and nowhere else. The comment above each is its documentation.
"""

from __future__ import annotations

import secrets
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
import structlog
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from hub.protocol.version import __version__

env = environ.Env()

# Where the embedded services keep their files.
HUB_HOME = Path(env.str("HUB_HOME", default="./var")).resolve()
# The public URL of the hub. Links, RDF names, cookies and allowed hosts are derived from it.
HUB_PUBLIC_URL = env.str("HUB_PUBLIC_URL", default="http://127.0.0.1:8000").rstrip("/")
# Show tracebacks to the browser. Never use this on a machine that others can reach.
DEBUG = env.bool("HUB_DEBUG", default=False)
# Further host names that the hub answers to, besides that of HUB_PUBLIC_URL.
_more_hosts = env.list("HUB_ALLOWED_HOSTS", default=[])
# Largest single file, in bytes.
HUB_LIMITS_FILE_BYTES = env.int("HUB_LIMITS_FILE_BYTES", default=20 * 10**9)
# Largest total size of the files of one namespace, in bytes.
HUB_LIMITS_NAMESPACE_BYTES = env.int("HUB_LIMITS_NAMESPACE_BYTES", default=200 * 10**9)
# Most bytes that one user may have in open uploads and in uploaded files that are not in a version.
HUB_LIMITS_USER_BYTES = env.int("HUB_LIMITS_USER_BYTES", default=200 * 10**9)
# Most uploads that one user may have open.
HUB_LIMITS_OPEN_UPLOADS = env.int("HUB_LIMITS_OPEN_UPLOADS", default=2_000)
# Largest object that Git LFS clients send in one request, in bytes; clients that support it send
# larger ones in parts of this size. A proxy in front must accept this size.
HUB_LIMITS_PUT_BYTES = env.int("HUB_LIMITS_PUT_BYTES", default=2**28)
# Disk space that uploads leave free, in bytes, so that the database can always be written.
HUB_LIMITS_FREE_BYTES = env.int("HUB_LIMITS_FREE_BYTES", default=2**28)
# Days within which every stored file is verified against its digest; 0 turns this off.
HUB_VERIFY_DAYS = env.int("HUB_VERIFY_DAYS", default=30)
# Most bytes that a worker verifies per hour, at least one file.
HUB_VERIFY_BYTES = env.int("HUB_VERIFY_BYTES", default=2**34)
# Most files in one version.
HUB_LIMITS_FILES = env.int("HUB_LIMITS_FILES", default=2_000)
# Memory that a sandboxed child may map, in bytes; large models get more in proportion.
HUB_LIMITS_CHILD_BYTES = env.int("HUB_LIMITS_CHILD_BYTES", default=4 * 2**30)
# Processor seconds that one stage of a check may take; large models get more in proportion.
HUB_LIMITS_STAGE_SECONDS = env.int("HUB_LIMITS_STAGE_SECONDS", default=20)
# Time limit of a job after publishing (upgrade, conformance, conversion), in seconds.
HUB_LIMITS_JOB_SECONDS = env.int("HUB_LIMITS_JOB_SECONDS", default=600)
# Total size of the files that such a job may write, in bytes.
HUB_LIMITS_WRITTEN_BYTES = env.int("HUB_LIMITS_WRITTEN_BYTES", default=20 * 2**30)
# Time after which the job of a silent worker is given to another, in seconds.
HUB_LIMITS_LEASE_SECONDS = env.float("HUB_LIMITS_LEASE_SECONDS", default=30.0)
# Concurrent progress streams (server-sent events) of one web process; each occupies a thread.
HUB_LIMITS_STREAMS = env.int("HUB_LIMITS_STREAMS", default=4)
# Requests from one signed-in user.
HUB_LIMITS_USER_RATE = env.str("HUB_LIMITS_USER_RATE", default="6000/min")
# Failed sign-ins to one account from one address.
HUB_LIMITS_SIGN_IN_RATE = env.str("HUB_LIMITS_SIGN_IN_RATE", default="10/min")
# Failed sign-ins from one address (IPv6: one /64), whatever the accounts.
HUB_LIMITS_SIGN_IN_ADDRESS_RATE = env.str("HUB_LIMITS_SIGN_IN_ADDRESS_RATE", default="50/hour")
# Failed sign-ins to one account from all browsers that have never signed in to it.
HUB_LIMITS_SIGN_IN_ACCOUNT_RATE = env.str("HUB_LIMITS_SIGN_IN_ACCOUNT_RATE", default="100/hour")
# Passwords that one web process hashes at once; 0 means half of its cores.
HUB_LIMITS_HASHES = env.int("HUB_LIMITS_HASHES", default=0)
# Requests from one address without an account.
HUB_LIMITS_ANON_RATE = env.str("HUB_LIMITS_ANON_RATE", default="1200/min")
# Slowest rate at which a client may send a body or take a response, in bytes per second over
# 30 seconds.
HUB_LIMITS_CLIENT_RATE = env.int("HUB_LIMITS_CLIENT_RATE", default=1_000)
# Request bodies that one web process receives before the application reads them, in bytes; beyond
# this, clients wait. They are stored in HUB_TEMP.
HUB_LIMITS_BODIES_BYTES = env.int("HUB_LIMITS_BODIES_BYTES", default=2**30)
# Number of proxies in front of the hub whose X-Forwarded-For is trusted when addresses are counted.
HUB_PROXIES = env.int("HUB_PROXIES", default=0)


def _networks(said: list[str]) -> list[IPv4Network | IPv6Network]:
    try:
        return [ip_network(one.strip()) for one in said]
    except ValueError as error:
        raise ImproperlyConfigured(f"HUB_CERTIFICATE_PROXIES: {error}.") from error


# Networks of proxies that verify TLS client certificates and pass them in Client-Cert (RFC 9440),
# such as 10.0.0.7/32. They must set or remove that header in every request.
HUB_CERTIFICATE_PROXIES = _networks(env.list("HUB_CERTIFICATE_PROXIES", default=[]))
# Isolation that uploads need: none, limits (memory, time, files), partial, or full (namespaces,
# mounts, landlock and seccomp as well). Use `full` if untrusted users may publish.
HUB_SANDBOX_REQUIRED = env.str("HUB_SANDBOX_REQUIRED", default="limits")
if HUB_SANDBOX_REQUIRED not in ("none", "limits", "partial", "full"):
    raise ImproperlyConfigured("HUB_SANDBOX_REQUIRED must be none, limits, partial or full.")
# The machine that a worker runs on, if containers have their own host names: jobs that need a host
# for themselves exclude all workers with the same value.
HUB_WORKER_HOST = env.str("HUB_WORKER_HOST", default="")
# The runtime of a Celery worker, if it has its own environment; see `hub worker`.
HUB_WORKER_RUNTIME = env.str("HUB_WORKER_RUNTIME", default="")
# Benchmarks of published versions: off, light (a few short processes, lowest priority) or full (the
# complete procedure). Benchmarks requested by a maintainer always run.
HUB_BENCH = env.str("HUB_BENCH", default="light")
if HUB_BENCH not in ("off", "light", "full"):
    raise ImproperlyConfigured("HUB_BENCH must be off, light or full.")
# Total time of the measured processes of one full benchmark, in seconds.
HUB_BENCH_SECONDS = env.float("HUB_BENCH_SECONDS", default=300.0)
# Power of one busy core of this machine in watts, if known. Energy is estimated from it if no meter
# can be read; 0 means no estimate.
HUB_BENCH_WATTS = env.float("HUB_BENCH_WATTS", default=0.0)
# The electricity grid of the workers, as a three-letter ISO 3166 code (FRA) or `world`; without it
# there are no carbon figures.
HUB_GRID_REGION = env.str("HUB_GRID_REGION", default="")
# Path of the official SHACL file of MLDCAT-AP; by default the hub's own transcription is used.
HUB_MLDCAT_SHAPES = env.str("HUB_MLDCAT_SHAPES", default="")
# Query URL of your own SPARQL 1.1 server; by default the hub's own store answers. Its parameters,
# such as ?union-default-graph for Oxigraph, are sent with requests that name no data set.
HUB_SPARQL_URL = env.str("HUB_SPARQL_URL", default="")
# Graph Store HTTP Protocol URL of that server; by default `store` beside HUB_SPARQL_URL.
HUB_SPARQL_STORE_URL = env.str("HUB_SPARQL_STORE_URL", default="")
# Folder of the graph store, shared by the graphs process and the web processes.
HUB_GRAPHS = Path(env.str("HUB_GRAPHS", default=str(HUB_HOME / "graphs"))).resolve()
# Query processes of one web process; 0 means one per core, and at least four.
HUB_SPARQL_PROCESSES = env.int("HUB_SPARQL_PROCESSES", default=0)
# Time limit of a guest's query, in seconds.
HUB_SPARQL_SECONDS = env.float("HUB_SPARQL_SECONDS", default=10.0)
# Time limit of a signed-in user's query, in seconds.
HUB_SPARQL_USER_SECONDS = env.float("HUB_SPARQL_USER_SECONDS", default=30.0)
# Computing time that one client's queries may use per minute, in seconds.
HUB_SPARQL_MINUTE_SECONDS = env.float("HUB_SPARQL_MINUTE_SECONDS", default=60.0)
# Memory limit of one query, in bytes.
HUB_SPARQL_BYTES = env.int("HUB_SPARQL_BYTES", default=3 * 2**29)
# Largest result of a query, in bytes.
HUB_SPARQL_RESULT_BYTES = env.int("HUB_SPARQL_RESULT_BYTES", default=50 * 10**6)
# Processes of one web process that parse long texts: cards, tables and source code.
HUB_TEXT_PROCESSES = env.int("HUB_TEXT_PROCESSES", default=2)
# CPU time limit for parsing one text, in seconds.
HUB_TEXT_SECONDS = env.int("HUB_TEXT_SECONDS", default=5)
# Memory limit for parsing one text, in bytes.
HUB_TEXT_BYTES = env.int("HUB_TEXT_BYTES", default=2**29)
# Redis for cache, throttles and the Celery broker; without it workers poll the database.
REDIS_URL = env.str("REDIS_URL", default="")


def _secret_key(home: Path) -> str:
    """The secret of this home folder, made once and readable by its owner alone."""
    path = home / "secret-key"
    if not path.exists():
        home.mkdir(parents=True, exist_ok=True)
        try:
            path.touch(mode=0o600, exist_ok=False)
            path.write_text(secrets.token_urlsafe(64))
        except FileExistsError:
            pass  # another process of the same start was quicker
    return path.read_text()


def _sqlite(path: Path) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        # Opening it anew costs each request more than most answers do.
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


# Signs sessions and cookies; by default created once and stored in HUB_HOME.
SECRET_KEY = env.str("HUB_SECRET_KEY", default="") or _secret_key(HUB_HOME)

# PostgreSQL 15 or newer; by default SQLite in HUB_HOME.
DATABASES: dict[str, dict[str, Any]] = {
    "default": env.db_url("DATABASE_URL")
    if env.str("DATABASE_URL", default="")
    else _sqlite(HUB_HOME / "hub.sqlite3")
}
if DATABASES["default"]["ENGINE"].endswith("postgresql"):
    # A process that froze in a transaction loses it, so that its locks hold up nobody for longer.
    _patience = "-c idle_in_transaction_session_timeout=20s"
    DATABASES["default"] |= {
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"options": _patience} | DATABASES["default"].get("OPTIONS", {}),
    }

CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        # Objects are stored as their code was: another release must not read them.
        "KEY_PREFIX": f"hub-{__version__}",
    }
    if REDIS_URL
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    # Counts of this process alone. With the backend's own limit of 300 entries somebody who counts
    # up many of them would push out the rest.
    "process": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "process",
        "OPTIONS": {"MAX_ENTRIES": 50_000},
    },
}
CACHES["counters"] = CACHES["default"] | {"KEY_PREFIX": "hub"} if REDIS_URL else CACHES["process"]

_public = urlsplit(HUB_PUBLIC_URL)
ALLOWED_HOSTS = [_public.hostname or "127.0.0.1", "127.0.0.1", "localhost", "[::1]", *_more_hosts]
CSRF_TRUSTED_ORIGINS = [HUB_PUBLIC_URL]
_https = _public.scheme == "https"
SESSION_ENGINE = "hub.server.sessions"
MESSAGE_STORAGE = "hub.server.sessions.MessageStorage"
SESSION_COOKIE_SECURE = _https
CSRF_COOKIE_SECURE = _https
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _https else None
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "csp",
    "rest_framework",
    "drf_spectacular",
    "registry",
    "registry.federated",
    "runners",
    "metadata",
    "frontend",
]
MIDDLEWARE = [
    "hub.server.middleware.RequestIdMiddleware",
    "hub.server.reads.ReadOnlyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "hub.server.middleware.CompressionMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "hub.server.middleware.ProblemMiddleware",
]
ROOT_URLCONF = "hub.server.urls"
WSGI_APPLICATION = "hub.server.wsgi.application"
APPEND_SLASH = False
CSRF_FAILURE_VIEW = "hub.server.middleware.csrf_failed"
AUTH_USER_MODEL = "registry.User"
AUTHENTICATION_BACKENDS = ["registry.api.sign_in.CountingBackend"]
PASSWORD_HASHERS = ["registry.people.passwords.BoundedPasswordHasher"]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "home"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "hub.server.middleware.hub_context",
            ],
        },
    }
]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = HUB_HOME / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
WHITENOISE_KEEP_ONLY_HASHED_FILES = True

# Where uploaded files are stored: a local folder (file:///…).
HUB_STORAGE_URL = env.str("HUB_STORAGE_URL", default=(HUB_HOME / "storage").as_uri())
# Bodies that Django itself may hold in memory; model bytes go through resumable uploads instead.
DATA_UPLOAD_MAX_MEMORY_SIZE = 2**20 * 5
# Folder for buffered request and response bodies of slow clients.
FILE_UPLOAD_TEMP_DIR = Path(env.str("HUB_TEMP", default=str(HUB_HOME / "tmp")))
FILE_UPLOAD_TEMP_DIR.mkdir(parents=True, exist_ok=True)

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "frame-src": [SELF],
        "manifest-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "registry.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["registry.api.inputs.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_THROTTLE_CLASSES": [
        "registry.api.throttles.UserThrottle",
        "registry.api.throttles.AnonThrottle",
    ],
    "DEFAULT_THROTTLE_RATES": {
        "user": HUB_LIMITS_USER_RATE,
        "anon": HUB_LIMITS_ANON_RATE,
    },
    "NUM_PROXIES": HUB_PROXIES,
    "EXCEPTION_HANDLER": "registry.api.problems.handle",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "ONNX Model Hub",
    "DESCRIPTION": "Versioned, verified ONNX models. Errors are RFC 9457 problem details.",
    "VERSION": __version__,
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "registry.api.schema.add_problem_answers",
    ],
    "ENUM_NAME_OVERRIDES": {
        "MentionKind": "registry.models.mentions.MentionKind",
        "NamespaceKind": "registry.models.namespaces.NamespaceKind",
        "VersionState": "registry.models.versions.VersionState",
        "JobState": "runners.models.JobState",
        "CheckOutcome": "registry.models.versions.CheckOutcome",
        "ConformanceOutcome": "runners.models.results.Outcome",
        "ConformanceVerdict": "runners.models.results.ConformanceVerdict",
        "SuiteOutcome": "runners.models.results.SuiteOutcome",
        "AttemptOutcome": "runners.models.jobs.AttemptOutcome",
        "VariantOrigin": "registry.models.files.VariantOrigin",
        "AccessStatus": "registry.models.access.AccessStatus",
        "MeasurementOrigin": "runners.models.measurements.MeasurementOrigin",
        "MeasurementStatus": "runners.models.measurements.MeasurementStatus",
        "MeasurementTrust": "runners.models.measurements.Trust",
        "TrainingState": "registry.federated.models.trainings.TrainingState",
        "RoundState": "registry.federated.models.rounds.RoundState",
        "ParticipantState": "registry.federated.models.participants.ParticipantState",
        "ContributionState": "registry.federated.models.contributions.ContributionState",
    },
}

CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_DISABLE_PREFETCH = True
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# How a Celery pool starts its processes: fork, or spawn for GPUs; see `hub worker`.
CELERY_WORKER_POOL_START_METHOD = env.str("HUB_WORKER_START", default="fork")
# A second fence: a worker ends its jobs by itself well before.
CELERY_TASK_TIME_LIMIT = max(3600, 4 * HUB_LIMITS_JOB_SECONDS) + 60
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 2 * CELERY_TASK_TIME_LIMIT,
    "socket_timeout": 10,
    "socket_keepalive": True,
    "health_check_interval": 10,
    "priority_steps": [0, 3, 6, 9],
    "queue_order_strategy": "priority",
    "global_keyprefix": "hub:celery:",
}
CELERY_TASK_DEFAULT_QUEUE = "cpu"
CELERY_WORKER_HIJACK_ROOT_LOGGER = False

# Log format: `json` for JSON lines, `console` for readable lines.
HUB_LOG_FORMAT = env.str("HUB_LOG_FORMAT", default="console")
_processors: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]
structlog.configure(
    processors=[
        *_processors,
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "structured": {
            "()": structlog.stdlib.ProcessorFormatter,
            "processor": structlog.processors.JSONRenderer()
            if HUB_LOG_FORMAT == "json"
            else structlog.dev.ConsoleRenderer(colors=False),
            "foreign_pre_chain": _processors,
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        # Refusals are the caller's news: they are in the answers, not in the operator's log.
        "django.request": {"level": "ERROR"},
    }
    | {name: {"level": "INFO"} for name in ("hub", "registry", "runners", "metadata", "frontend")},
}
