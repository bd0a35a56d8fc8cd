"""Identity tokens of workflows (OpenID Connect): verified, and read once into a typed claim.

Source: RFC 7519 (JWT), RFC 7517 (JWKS), OpenID Connect Discovery 1.0 section 4; the claims are
those of "OpenID Connect reference" of GitHub Actions and "OpenID Connect in GitLab CI/CD". Only
issuers that a setting names are asked for keys, at their own origin, and no redirect is followed:
so no token leads the hub anywhere else.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import jwt
import urllib3
from django.conf import settings

from hub.pace import paced
from hub.protocol import problems
from registry.publishers.models import Provider

LONGEST_TOKEN = 16_000
LONGEST_CLAIM = 500
# Of the answers of an issuer: how many bytes, how long each may take, and how many keys are read.
MOST_BYTES = 256 << 10
ANSWER_SECONDS = 5.0
MOST_KEYS = 50
# How long keys are used, and how soon they are read again for a key that is not among them.
KEYS_SECONDS, RETRY_SECONDS = 600.0, 30.0
LEEWAY_SECONDS = 30
ALGORITHMS = ("RS256", "ES256")


@dataclass(frozen=True, slots=True)
class Identity:
    """Which workflow of which repository a verified token is of; ``digest`` is that of its id."""

    provider: str
    issuer: str
    repository: str
    workflow: str
    environment: str
    owner_id: str
    run: str
    digest: str
    expires_at: datetime


@dataclass(slots=True)
class _Keys:
    by_id: dict[str, Any]
    read_at: float


_keys: dict[str, _Keys] = {}
_lock = threading.Lock()


def verify(token: str) -> Identity:
    """The workflow that a token is of, which says so to this hub and to no other.

    Raises NotAuthenticated, naming what is wrong, and Unavailable for an issuer without an answer.
    """
    if len(token) > LONGEST_TOKEN:
        raise _refused(f"it has more than {LONGEST_TOKEN} characters")
    try:
        head = jwt.get_unverified_header(token)
        issuer = jwt.decode(token, options={"verify_signature": False}).get("iss")
    except jwt.PyJWTError as error:
        raise _refused("it is no JSON Web Token") from error
    provider = settings.HUB_PUBLISHER_ISSUERS.get(issuer) if isinstance(issuer, str) else None
    if provider is None or not isinstance(issuer, str):
        raise _refused("its issuer is not one of HUB_PUBLISHER_ISSUERS")
    key = _key(issuer, str(head.get("kid", "")))
    try:
        claims = jwt.decode(
            token,
            key,
            algorithms=ALGORITHMS,
            audience=settings.HUB_PUBLIC_URL,
            issuer=issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "iat", "aud", "iss", "jti"]},
        )
    except jwt.InvalidAudienceError as error:
        raise _refused(f"its audience is not {settings.HUB_PUBLIC_URL}") from error
    except jwt.ExpiredSignatureError as error:
        raise _refused("it has expired") from error
    except jwt.PyJWTError as error:
        raise _refused(f"it does not verify ({error})") from error
    return _READERS[Provider(provider)](issuer, claims)


def _refused(why: str) -> problems.NotAuthenticated:
    return problems.NotAuthenticated(
        f"The identity token is not valid: {why}. Request a new one in the workflow, with the "
        f"audience {settings.HUB_PUBLIC_URL}."
    )


def _key(issuer: str, kid: str) -> Any:
    """The key of this id; read again where it is unknown, but not more often than RETRY_SECONDS."""
    with _lock:
        now = time.monotonic()
        keys = _keys.get(issuer)
        age = now - keys.read_at if keys else KEYS_SECONDS
        if keys is None or age >= KEYS_SECONDS or (kid not in keys.by_id and age >= RETRY_SECONDS):
            # An issuer without an answer is not asked again at once.
            _keys[issuer] = _Keys({}, now)
            keys = _keys[issuer] = _Keys(_read_keys(issuer), now)
    if kid not in keys.by_id:
        raise _refused("its issuer gave no such key within the last half minute")
    return keys.by_id[kid]


def _read_keys(issuer: str) -> dict[str, Any]:
    address = _get(f"{issuer}/.well-known/openid-configuration").get("jwks_uri")
    parts, own = urlsplit(str(address)), urlsplit(issuer)
    if (parts.scheme, parts.netloc) != (own.scheme, own.netloc):
        raise problems.Unavailable(f"{issuer} names keys at another origin. They are not read.")
    entries = _get(str(address)).get("keys")
    keys = {}
    for entry in (entries if isinstance(entries, list) else [])[:MOST_KEYS]:
        try:
            key = jwt.PyJWK(entry)
        except (jwt.PyJWTError, TypeError, ValueError, AttributeError):  # of a kind not used here
            continue
        if key.key_id and key.algorithm_name in ALGORITHMS:
            keys[str(key.key_id)] = key
    return keys


def _get(url: str) -> dict[str, Any]:
    """A JSON object of an issuer; raises Unavailable."""
    pool = paced(urllib3.PoolManager())
    try:
        response = pool.request(
            "GET",
            url,
            headers={"Accept": "application/json", "Accept-Encoding": "identity"},
            timeout=urllib3.Timeout(connect=ANSWER_SECONDS, read=ANSWER_SECONDS),
            redirect=False,
            retries=False,
            preload_content=False,
        )
        content = response.read(MOST_BYTES + 1)
        answer = json.loads(content) if response.status == 200 else None
    except (urllib3.exceptions.HTTPError, OSError, ValueError, RecursionError) as error:
        raise problems.Unavailable(f"{url} gave no answer ({type(error).__name__}).") from error
    finally:
        pool.clear()
    if not isinstance(answer, dict) or len(content) > MOST_BYTES:
        raise problems.Unavailable(f"{url} does not answer as an OpenID provider.")
    return answer


def _text(claims: dict[str, Any], name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str) or len(value) > LONGEST_CLAIM or not value.isprintable():
        raise _refused(f"it has no claim {name}")
    return value


def _environment(claims: dict[str, Any]) -> str:
    return _text(claims, "environment") if claims.get("environment") else ""


def _github(issuer: str, claims: dict[str, Any]) -> Identity:
    """``job_workflow_ref`` is `owner/name/.github/workflows/file.yml@ref`."""
    repository = _text(claims, "repository")
    prefix = f"{repository}/.github/workflows/"
    file, _, _ = _text(claims, "job_workflow_ref").partition("@")
    if not file.lower().startswith(prefix.lower()):
        raise _refused("its workflow is that of another repository")
    return _identity(
        Provider.GITHUB,
        issuer,
        claims,
        repository,
        file[len(prefix) :],
        _text(claims, "repository_owner_id"),
    )


def _gitlab(issuer: str, claims: dict[str, Any]) -> Identity:
    """``ci_config_ref_uri`` is `host/group/project//file.yml@ref`."""
    repository = _text(claims, "project_path")
    prefix = f"{urlsplit(issuer).netloc}/{repository}//"
    file, _, _ = _text(claims, "ci_config_ref_uri").partition("@")
    if not file.lower().startswith(prefix.lower()):
        raise _refused("its pipeline is that of another project")
    return _identity(
        Provider.GITLAB,
        issuer,
        claims,
        repository,
        file[len(prefix) :],
        _text(claims, "namespace_id"),
    )


def _identity(
    provider: Provider,
    issuer: str,
    claims: dict[str, Any],
    repository: str,
    workflow: str,
    owner_id: str,
) -> Identity:
    run = claims.get("run_id") or claims.get("pipeline_id") or ""
    return Identity(
        provider=provider.value,
        issuer=issuer,
        repository=repository,
        workflow=workflow,
        environment=_environment(claims),
        owner_id=owner_id[:40],
        run=str(run)[:40],
        digest=hashlib.sha256(f"{issuer}\n{_text(claims, 'jti')}".encode()).hexdigest(),
        expires_at=datetime.fromtimestamp(claims["exp"], UTC),
    )


_READERS = {Provider.GITHUB: _github, Provider.GITLAB: _gitlab}
