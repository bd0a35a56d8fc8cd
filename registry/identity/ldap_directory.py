"""People in an LDAP directory: finding them, and trying their passwords (RFC 4511, 4513, 4515).

Each conversation has ``SECONDS``. It runs in a thread of its own, since libldap waits without end
for a TLS handshake, and for the rest of an answer of which a part has come.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import ldap
import structlog
from django.conf import settings
from ldap.filter import escape_filter_chars

from hub.protocol import problems
from registry.core.breakers import RETRY_SECONDS, Breaker

log = structlog.get_logger(__name__)

SECONDS = 5.0
# Conversations of a process at once; those that the server leaves open count until they end.
MOST_CONVERSATIONS = 16
# Certificates of the system, as Debian and Fedora have them; libldap itself may read none.
_SYSTEM_CERTIFICATES = (
    Path("/etc/ssl/certs/ca-certificates.crt"),
    Path("/etc/pki/tls/certs/ca-bundle.crt"),
)
_TLS_1_2 = 0x303
_MOST_GROUPS = 1_000
# What a server answers to the bind of a person whose password is wrong, or who may not sign in.
_REFUSALS = (
    ldap.INVALID_CREDENTIALS,
    ldap.INAPPROPRIATE_AUTH,
    ldap.UNWILLING_TO_PERFORM,
    ldap.CONSTRAINT_VIOLATION,
    ldap.INSUFFICIENT_ACCESS,
    ldap.NO_SUCH_OBJECT,
)
_PLACEHOLDER = re.compile(r"\{(name|dn)\}")
_breaker = Breaker("ldap")
_conversations = threading.BoundedSemaphore(MOST_CONVERSATIONS)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Person:
    """An entry of the directory; ``groups`` are the names (cn) of its groups."""

    key: str
    dn: str
    name: str
    email: str
    groups: tuple[str, ...]


def find(name: str) -> Person | None:
    """The person of a name that is typed, None where no entry or several have it.

    Raises Unavailable where the directory does not answer.
    """
    return _converse(lambda: _search(_filled(settings.HUB_LDAP_FILTER, name=name)))


def of_key(key: str) -> Person | None:
    """The person of a stable id; raises Unavailable where the directory does not answer."""
    attribute = settings.HUB_LDAP_ID_ATTRIBUTE
    if _is_guid(attribute):
        value = "".join(f"\\{byte:02x}" for byte in uuid.UUID(key).bytes_le)
    else:
        value = escape_filter_chars(key)
    return _converse(lambda: _search(f"({attribute}={value})"))


def accepts(person: Person, password: str) -> bool:
    """Whether the directory takes the password of a person; raises Unavailable.

    An empty one is never sent: many servers answer it with success (RFC 4513, 5.1.2).
    """
    return bool(password) and _converse(lambda: _bind(person.dn, password))


def _bind(dn: str, password: str) -> bool:
    with _connection() as connection:
        try:
            connection.simple_bind_s(dn, password)
        except _REFUSALS:
            return False
        return True


def _search(words: str) -> Person | None:
    identifier = settings.HUB_LDAP_ID_ATTRIBUTE
    names = [identifier, settings.HUB_LDAP_NAME_ATTRIBUTE, settings.HUB_LDAP_MAIL_ATTRIBUTE]
    with _connection() as connection:
        connection.simple_bind_s(settings.HUB_LDAP_BIND_DN, settings.HUB_LDAP_BIND_PASSWORD)
        try:
            rows = _rows(connection, settings.HUB_LDAP_BASE, words, names, most=2)
        except ldap.SIZELIMIT_EXCEEDED:
            rows = []
            log.warning("ldap_name_ambiguous", filter=words)
        if len(rows) != 1:
            return None
        dn, values = rows[0]
        key, name, email = (next(iter(values.get(each.lower(), [])), b"") for each in names)
        if not key:
            log.error("ldap_entry_without_id", dn=dn, attribute=identifier)
            return None
        account = _text(name)
        return Person(
            key=str(uuid.UUID(bytes_le=key)) if _is_guid(identifier) else key.decode(),
            dn=dn,
            name=account,
            email=_text(email),
            groups=_groups(connection, dn, account) if settings.HUB_LDAP_GROUPS else (),
        )


def _groups(connection: Any, dn: str, name: str) -> tuple[str, ...]:
    words = _filled(settings.HUB_LDAP_GROUP_FILTER, dn=dn, name=name)
    base = settings.HUB_LDAP_GROUP_BASE
    rows = _rows(connection, base, words, ["cn"], most=_MOST_GROUPS)
    return tuple(_text(values["cn"][0]) for _, values in rows if values.get("cn"))


def _rows(
    connection: Any, base: str, words: str, names: list[str], *, most: int
) -> list[tuple[str, dict[str, list[bytes]]]]:
    """Entries with their attributes in lower case; referrals to other servers are left out."""
    answer = connection.search_ext_s(
        base, ldap.SCOPE_SUBTREE, words, names, timeout=SECONDS, sizelimit=most
    )
    return [
        (dn, {name.lower(): values for name, values in attributes.items()})
        for dn, attributes in answer
        if dn
    ]


@contextmanager
def _connection() -> Iterator[Any]:
    """A connection with TLS and a checked certificate, unless HUB_LDAP_URL says plain."""
    server: Any = settings.HUB_LDAP_SERVER
    connection = ldap.initialize(server.url)
    for option, value in _options().items():
        connection.set_option(option, value)
    try:
        if server.starts_tls:
            connection.start_tls_s()
        yield connection
    finally:
        connection.unbind_ext_s()


def _options() -> dict[int, Any]:
    certificates = settings.HUB_LDAP_CA or next(
        (str(path) for path in _SYSTEM_CERTIFICATES if path.is_file()), ""
    )
    return {
        ldap.OPT_PROTOCOL_VERSION: 3,
        ldap.OPT_NETWORK_TIMEOUT: SECONDS,
        ldap.OPT_TIMEOUT: SECONDS,
        ldap.OPT_REFERRALS: 0,
        ldap.OPT_X_KEEPALIVE_IDLE: 10,
        ldap.OPT_X_KEEPALIVE_PROBES: 3,
        ldap.OPT_X_KEEPALIVE_INTERVAL: 10,
        ldap.OPT_X_TLS_REQUIRE_CERT: ldap.OPT_X_TLS_DEMAND,
        ldap.OPT_X_TLS_PROTOCOL_MIN: _TLS_1_2,
        **({ldap.OPT_X_TLS_CACERTFILE: certificates} if certificates else {}),
        ldap.OPT_X_TLS_NEWCTX: 0,  # the last: it takes the options above
    }


def _converse(work: Callable[[], T]) -> T:
    """What the work returns; raises Unavailable where it fails, or is not done in its time."""
    if not _breaker.allows() or not _conversations.acquire(blocking=False):
        raise _unavailable()
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except Exception as error:  # noqa: BLE001 - it is raised where the result is awaited
            future.set_exception(error)
        finally:
            _conversations.release()

    threading.Thread(target=run, daemon=True, name="ldap").start()
    try:
        result = future.result(timeout=SECONDS)
    except (ldap.LDAPError, TimeoutError) as error:
        _breaker.fail()
        # The server's words, such as that of a wrong password of HUB_LDAP_BIND_DN.
        log.warning("ldap_failed", error=type(error).__name__, detail=str(error)[:300])
        raise _unavailable() from None
    _breaker.succeed()
    return result


def _unavailable() -> problems.Unavailable:
    return problems.Unavailable(
        f"The {settings.HUB_LDAP_NAME} does not answer, so its passwords cannot be checked. Try "
        "again in a few seconds; if that does not help, tell an administrator.",
        retry_after=round(RETRY_SECONDS),
    )


def _filled(words: str, **values: str) -> str:
    """A filter with values in place of their names, none of which can end or widen it."""
    return _PLACEHOLDER.sub(lambda match: escape_filter_chars(values[match[1]]), words)


def _is_guid(attribute: str) -> bool:
    return attribute.lower() == "objectguid"


def _text(value: bytes) -> str:
    return value.decode(errors="replace")
