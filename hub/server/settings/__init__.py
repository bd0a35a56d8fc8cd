"""Settings, read from the environment: a service is embedded until its URL is given.

Every variable is read in this package and nowhere else. The comment above each is its
documentation.
"""

import os
import secrets
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from csp.constants import NONE, SELF

from hub.protocol import figures, generation, packages
from hub.protocol.proofs import SUFFICIENT
from hub.protocol.version import __version__
from hub.server.environment import env
from hub.server.settings.celery import *  # noqa: F403
from hub.server.settings.environment import *  # noqa: F403
from hub.server.settings.environment import (
    CAPABILITY_APPS,
    HUB_FORMER_URLS,
    HUB_HOME,
    HUB_PUBLIC_URL,
    MIDDLEWARE_OF_CAPABILITIES,
    TABLE_APPS,
)
from hub.server.settings.identity import *  # noqa: F403
from hub.server.settings.ldap import *  # noqa: F403
from hub.server.settings.limits import *  # noqa: F403
from hub.server.settings.limits import HUB_LIMITS_ANON_RATE, HUB_LIMITS_USER_RATE
from hub.server.settings.logging import *  # noqa: F403
from hub.server.settings.publishers import *  # noqa: F403
from hub.server.settings.saml import *  # noqa: F403
from hub.server.settings.saml import FORM_TARGETS
from hub.server.settings.security_log import *  # noqa: F403
from hub.server.settings.sparql import *  # noqa: F403
from hub.server.settings.storage import *  # noqa: F403

# Show tracebacks to the browser. Never use this on a machine that others can reach.
DEBUG = env.flag("HUB_DEBUG", default=False)
# Further host names that the hub answers to, besides that of HUB_PUBLIC_URL.
_more_hosts = env.texts("HUB_ALLOWED_HOSTS", default=[])
# Number of proxies in front of the hub whose X-Forwarded-For is trusted when addresses are counted.
HUB_PROXIES = env.integer("HUB_PROXIES", default=0)
# Networks of proxies that verify TLS client certificates and pass them in Client-Cert (RFC 9440),
# such as 10.0.0.7/32. They must set or remove that header in every request.
HUB_CERTIFICATE_PROXIES = env.networks("HUB_CERTIFICATE_PROXIES")

# The least proof with which an upgraded variant stands in for its original where an opset is asked
# for: certified (each changed node certified, or no operator changed) or sampled (equal runs are
# enough). A request may name another (`strength=`). After a change run manage.py rebuild_lists.
HUB_PROOF_STRENGTH = env.choice(
    "HUB_PROOF_STRENGTH", default="certified", choices=tuple(SUFFICIENT)
)

# Who may read without signing in: all, or none; with none, health, sign-in and styles alone are
# open, and clients need a token.
HUB_GUESTS = env.choice("HUB_GUESTS", default="all", choices=("all", "none"))

# Origins that owners of namespaces may mirror, such as https://hub.example.org; administrators of
# the hub may mirror any.
HUB_MIRROR_SOURCES = env.texts("HUB_MIRROR_SOURCES", default=[])
# How long a request for the description of a model waits while a pull-through namespace fetches and
# checks it, in seconds; then it is answered with 503. Requests for files wait 8 s.
HUB_MIRROR_WAIT_SECONDS = env.number("HUB_MIRROR_WAIT_SECONDS", default=60.0)
# The trust root of a Sigstore instance (trusted_root.json): signatures that were made without a key
# are verified against it; without it they are refused. It needs the extra keyless.
_root = env.text("HUB_SIGSTORE_ROOT", default="")
HUB_SIGSTORE_ROOT = Path(_root).resolve() if _root else None
if HUB_SIGSTORE_ROOT and not HUB_SIGSTORE_ROOT.is_file():
    env.refuse(
        "HUB_SIGSTORE_ROOT",
        f"names {_root!r}, which is no file.",
        "Name the trusted_root.json of a Sigstore instance.",
    )
elif HUB_SIGSTORE_ROOT and find_spec("sigstore") is None:
    env.refuse(
        "HUB_SIGSTORE_ROOT",
        "needs sigstore, which is not installed.",
        "Install it: pip install 'onnx-hub[keyless]'.",
    )
# Internal networks whose addresses may receive webhooks, such as 10.1.0.0/16; there without TLS,
# too. All others must be public.
HUB_WEBHOOK_NETWORKS = env.networks("HUB_WEBHOOK_NETWORKS")


def _secret_key(home: Path) -> str:
    """The secret of this home folder, made once and readable by its owner alone."""
    path = home / "secret-key"
    try:
        if not path.exists():
            home.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):  # another process of the same start was quicker
                path.touch(mode=0o600, exist_ok=False)
                path.write_text(secrets.token_urlsafe(64))
        return path.read_text()
    except OSError as error:
        env.refuse(
            "HUB_HOME",
            f"cannot be used: {error}.",
            "Set it to a folder that belongs to the hub, or set HUB_SECRET_KEY.",
        )
        return ""


# Signs sessions and cookies; by default created once and stored in HUB_HOME.
SECRET_KEY = env.text("HUB_SECRET_KEY", default="") or _secret_key(HUB_HOME)
# Former values of HUB_SECRET_KEY, which still open sessions, signed addresses and stored tokens.
SECRET_KEY_FALLBACKS = env.texts("HUB_SECRET_KEY_FALLBACKS", default=[])

_public = urlsplit(HUB_PUBLIC_URL)
ALLOWED_HOSTS = [_public.hostname or "127.0.0.1", "127.0.0.1", "localhost", "[::1]", *_more_hosts]
ALLOWED_HOSTS += [urlsplit(url).hostname or "" for url in HUB_FORMER_URLS]
CSRF_TRUSTED_ORIGINS = [HUB_PUBLIC_URL]
# The path before all addresses is the process's, as gunicorn reads it, and never a request's: pages
# and counts that are kept for everybody hold addresses.
FORCE_SCRIPT_NAME = os.environ.get("SCRIPT_NAME", "")
_https = _public.scheme == "https"
SESSION_ENGINE = "hub.server.sessions"
MESSAGE_STORAGE = "hub.server.sessions.MessageStorage"
SESSION_COOKIE_SECURE = _https
CSRF_COOKIE_SECURE = _https
# Browsers take a cookie of this prefix from this host alone, over HTTPS (RFC 6265bis, 4.1.3.2).
SESSION_COOKIE_NAME = "__Host-sessionid" if _https else "sessionid"
CSRF_COOKIE_NAME = "__Host-csrftoken" if _https else "csrftoken"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _https else None
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
# A check of the hub's own names HUB_PUBLIC_URL (4_0.E001). The proxy redirects HTTP (W008), and
# what a domain promises for its other hosts is not the hub's to say (W005, W021).
SILENCED_SYSTEM_CHECKS = ["4_0.E001", "security.W005", "security.W008", "security.W021"]
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"

INSTALLED_APPS = [
    "registry",  # first, since its createsuperuser extends Django's
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "csp",
    "rest_framework",
    "drf_spectacular",
    *TABLE_APPS,
    "runners",
    "runners.benchmarks",
    "runners.evaluations",
    "metadata",
    "frontend",
    "frontend.pages.benchmarks",
    "frontend.pages.linked_data",
    "hub.server",
    *CAPABILITY_APPS,
]
MIDDLEWARE = [
    "hub.server.middleware.RequestIdMiddleware",
    "hub.server.middleware.FormerAddressMiddleware",
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
    "hub.server.guests.GuestMiddleware",
    "hub.server.middleware.RequiredActionMiddleware",
    *MIDDLEWARE_OF_CAPABILITIES,
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
    {"NAME": name}
    for name in (
        "registry.people.passwords.LengthValidator",
        "registry.people.passwords.CommonPasswordValidator",
        "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
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
# Swagger UI as drf-spectacular-sidecar packages it, without the rest of that package.
_sidecar = find_spec("drf_spectacular_sidecar")
STATICFILES_DIRS = (
    [
        (
            "swagger-ui",
            Path(_sidecar.origin).parent / "static/drf_spectacular_sidecar/swagger-ui-dist",
        )
    ]
    if _sidecar and _sidecar.origin
    else []
)
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
WHITENOISE_KEEP_ONLY_HASHED_FILES = True

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
        "form-action": [SELF, *FORM_TARGETS],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "registry.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["registry.api.guests.SignedIn"],
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
    "SERVE_PERMISSIONS": ["registry.api.guests.SignedIn"],
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "PATH_CONVERTER_OVERRIDES": {
        "number": {"type": "integer", "minimum": 0, "maximum": 999_999_999},
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "registry.api.schema.mend_values",
        "registry.api.schema.add_problem_answers",
    ],
    "ENUM_NAME_OVERRIDES": {
        "MentionKind": "registry.models.mentions.MentionKind",
        "RefKind": "registry.models.refs.RefKind",
        "NamespaceKind": "registry.models.namespaces.NamespaceKind",
        "MirroredState": "registry.models.mirrors.MirroredState",
        "MirrorScope": "registry.models.mirrors.MirrorScope",
        "MirrorProtocol": "registry.models.mirrors.MirrorProtocol",
        "DiscussionStatus": "registry.models.discussions.DiscussionStatus",
        "EvidenceKind": "registry.models.discussions.EvidenceKind",
        "VersionState": "registry.models.versions.VersionState",
        "WebhookState": "registry.webhooks.models.WebhookState",
        "WebhookDeliveryState": "registry.webhooks.models.DeliveryState",
        "JobState": "runners.models.JobState",
        "CheckOutcome": "registry.models.versions.CheckOutcome",
        "ConformanceOutcome": "runners.models.results.Outcome",
        "ConformanceVerdict": "runners.models.results.ConformanceVerdict",
        "SuiteOutcome": "runners.models.results.SuiteOutcome",
        "AttemptOutcome": "runners.models.jobs.AttemptOutcome",
        "RoleEnum": "registry.models.namespaces.Role",
        "SeverityEnum": ["error", "warning"],
        "ComponentRole": [role.value for role in packages.Role],
        "PackageSeverity": [severity.value for severity in packages.Severity],
        "CheckEnum": "runners.models.results.ConformanceCheck",
        "GenerationComparison": [kind.value for kind in generation.CheckKind],
        "GenerationOutcome": [outcome.value for outcome in generation.Outcome],
        "FigureStatus": [status.value for status in figures.Status],
        "PackageCode": [code.value for code in packages.Code],
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

env.check()
