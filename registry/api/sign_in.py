"""Sign-in by password, with limits on failed tries that cannot lock an account's owner out.

Failures are counted for each account and address, for each address over all accounts, and for each
account over all addresses. The last one is what an attacker could use against the owner, so a
browser that has signed in to the account before carries a device cookie and is counted by that
alone (OWASP, "Slow Down Online Guessing Attacks with Device Cookies").

Each sign-in and each refusal is an entry of the security log. A name without an account is left
out, since people type passwords into the wrong field.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from hub.protocol import problems
from registry.api import throttles, user_agents
from registry.api.throttles import address_of
from registry.core import directories, rates, security_log
from registry.core.directories import Entry
from registry.core.security_log import Kind
from registry.models import User

_DEVICE_SECONDS = 365 * 86_400
_SALT = "registry.sign-in.device"


@dataclass
class Attempt:
    """One check of a password."""

    succeeded: bool = False
    # Whose password it would be, where a directory says so.
    account: User | None = None


class CountingBackend(ModelBackend):
    """Django's own backend, then directories; refuses a password once too many were wrong."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> User | None:
        """The user of a name and a password; raises Throttled, whether the name exists or not.

        Without a request, as in a command of the operator, nothing is counted.
        """
        if request is None or username is None or password is None:
            return super().authenticate(request, username, password, **kwargs)
        missing = None
        with attempt(request, username) as tried:
            user = super().authenticate(request, username, password, **kwargs)
            if user is None:
                try:
                    user = self._by_directory(request, username, password, tried)
                except problems.Unavailable as problem:
                    # A wrong password of the hub's own counts all the same.
                    if not _has_own_password(username):
                        raise
                    missing = problem
            tried.succeeded = user is not None
        if missing is not None:
            raise missing
        return user

    def _by_directory(
        self, request: HttpRequest, username: str, password: str, tried: Attempt
    ) -> User | None:
        entry = directory_entry(request, username, password, tried)
        if entry is None or (entry.account and not self.user_can_authenticate(entry.account)):
            return None
        user = entry.sign_in()
        user.is_from_directory = True
        return user


@contextmanager
def attempt(request: HttpRequest, username: str) -> Iterator[Attempt]:
    """Count and log a wrong secret of an account, as a password or a code; raises Throttled."""
    with _attempt(_limits(request, username), address=address_of(request)) as tried:
        yield tried
    if not tried.succeeded:
        of = tried.account or User.objects.filter(username=username).first()
        security_log.report(Kind.SIGN_IN_FAILED, actor=of)


def directory_entry(
    request: HttpRequest, username: str, password: str, tried: Attempt
) -> Entry | None:
    """The person of a directory whose name and password these are; raises Throttled, Unavailable.

    A directory finds one person by many spellings, so what is tried is counted by person as well.
    """
    entry = directories.find(username) if password else None
    if entry is None:
        return None
    tried.account = entry.account
    with _attempt(_entry_limits(request, entry), address=address_of(request)) as inner:
        inner.succeeded = entry.accepts(password)
    return entry if inner.succeeded else None


def connect_directory(request: HttpRequest, user: User, *, username: str, password: str) -> None:
    """Connect an account with the person of a directory whose name and password these are.

    Raises InvalidRequest for a wrong one, StateConflict, Throttled and Unavailable.
    """
    with attempt(request, username) as checked:
        entry = directory_entry(request, username, password, checked)
        checked.succeeded = entry is not None
    if entry is None:
        raise problems.InvalidRequest.at("/password", "Incorrect user name or password.")
    entry.connect(user)


def confirm(request: HttpRequest, user: User, password: str) -> bool:
    """Whether ``password`` is that of the user who is signed in; raises Throttled.

    Counted by session, so that no one else can use up these tries.
    """
    who = f"session:{digest(str(request.session.session_key))}"
    with _attempt(_own_limits(who), address=address_of(request)) as tried:
        tried.succeeded = user.check_password(password)
        if not tried.succeeded and directories.knows(user) and not user.has_usable_password():
            entry = directories.entry_of(user)
            tried.succeeded = entry is not None and entry.accepts(password)
        if not tried.succeeded:
            security_log.report(Kind.PASSWORD_REFUSED, actor=user)
        return tried.succeeded


def complete(request: HttpRequest, response: HttpResponse, user: User) -> None:
    """Log that a user has signed in, and set the device cookie of the account in the browser.

    The log has the ``new_device`` of a browser that has never signed in to the account.
    """
    device = _device(request, user.username)
    agent = user_agents.describe(request.headers.get("User-Agent", ""))
    data = {} if device else {"new_device": agent}
    security_log.report(Kind.SIGN_IN, actor=user, data=data)
    name, salt = _cookie(user.username)
    response.set_signed_cookie(
        name,
        device or secrets.token_hex(16),
        salt=salt,
        max_age=_DEVICE_SECONDS,
        path=reverse("login"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _limits(request: HttpRequest, username: str) -> list[rates.Limit]:
    if device := _device(request, username):
        return _own_limits(f"device:{device}")
    account, address = digest(username), digest(address_of(request))
    return [
        rates.Limit(
            f"sign-in:both:{account}:{address}", rates.Rate.parse(settings.HUB_LIMITS_SIGN_IN_RATE)
        ),
        rates.Limit(
            f"sign-in:address:{address}",
            rates.Rate.parse(settings.HUB_LIMITS_SIGN_IN_ADDRESS_RATE),
        ),
        rates.Limit(
            f"sign-in:account:{account}",
            rates.Rate.parse(settings.HUB_LIMITS_SIGN_IN_ACCOUNT_RATE),
        ),
    ]


def _entry_limits(request: HttpRequest, entry: Entry) -> list[rates.Limit]:
    """The limits of a person in a directory; the address is counted already."""
    if entry.account and (device := _device(request, entry.account.username)):
        return _own_limits(f"directory:{device}")
    person, address = digest(entry.key), digest(address_of(request))
    return [
        rates.Limit(
            f"sign-in:directory:{person}:{address}",
            rates.Rate.parse(settings.HUB_LIMITS_SIGN_IN_RATE),
        ),
        rates.Limit(
            f"sign-in:directory:{person}",
            rates.Rate.parse(settings.HUB_LIMITS_SIGN_IN_ACCOUNT_RATE),
        ),
    ]


def _has_own_password(username: str) -> bool:
    user = User.objects.filter(username=username).first()
    return user is not None and user.has_usable_password()


def _own_limits(who: str) -> list[rates.Limit]:
    return [
        rates.Limit(f"sign-in:{who}", rates.Rate.parse(settings.HUB_LIMITS_SIGN_IN_RATE)),
        rates.Limit(
            f"sign-in:long:{who}", rates.Rate.parse(settings.HUB_LIMITS_SIGN_IN_ACCOUNT_RATE)
        ),
    ]


@contextmanager
def _attempt(limits: Sequence[rates.Limit], *, address: str) -> Iterator[Attempt]:
    """Count a failure before the password is looked at, and take it back unless it was one."""
    try:
        counters = rates.reserve(limits)
    except rates.RateExceededError as error:
        throttles.report_refusal(Kind.SIGN_IN_REFUSED, address, seconds=error.seconds)
        minutes = -(-error.seconds // 60)
        raise problems.Throttled(
            f"Too many failed sign-ins. Try again in {minutes} "
            f"{'minute' if minutes == 1 else 'minutes'}.",
            retry_after=error.seconds,
        ) from None
    tried = Attempt()
    try:
        yield tried
    except Exception:  # the password was not looked at
        rates.release(counters)
        raise
    if tried.succeeded:
        rates.release(counters)


def _device(request: HttpRequest, username: str) -> str | None:
    name, salt = _cookie(username)
    value = request.get_signed_cookie(name, default=None, salt=salt, max_age=_DEVICE_SECONDS)
    return None if value is None else str(value)


def _cookie(username: str) -> tuple[str, str]:
    """The name and the salt of an account's device cookie: one browser may hold several."""
    account = digest(username)
    return f"device-{account[:16]}", f"{_SALT}.{account}"


def digest(text: str) -> str:
    """A key of fixed length, which reveals nothing of the name to readers of the cache."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]
