"""The rules of passwords, and hashing with a bound on how much of it a process does at once.

AUTH_PASSWORD_VALIDATORS names the rules; every way of setting a password asks them. A hash costs a
third of a second of a core by intention. Guests who sign in without end would otherwise take every
core and every thread; beyond the bound they are refused at once.
"""

from __future__ import annotations

import os
import re
from functools import cache
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import password_validation
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.core.exceptions import ValidationError

from hub.protocol import problems
from registry.core import second_factors
from registry.core.concurrency import Places
from registry.models import User
from registry.models.users import LONG_PASSWORD

WAIT_SECONDS = 1.0
RETRY_SECONDS = 3
# Characters of a password that stands beside a second factor (NIST SP 800-63B-4, 3.1.1.2).
SHORT_PASSWORD = 8
LONGEST_PASSWORD = 1_000
# Names of the hub and of accounts that are shorter may stand in any password.
_SHORTEST_NAME = 3
_WORDS = re.compile(r"[^\W_]+")


class LengthValidator:
    """Refuses a password that is too short for how its account is protected."""

    def validate(self, password: str, user: User | None = None) -> None:
        """Raises ValidationError."""
        has_factor = user is not None and second_factors.has_any(user)
        least = SHORT_PASSWORD if has_factor else LONG_PASSWORD
        if len(password) < least:
            raise ValidationError(
                f"The password is too short. Type at least {least} characters, such as several "
                "words.",
                code="password_too_short",
            )
        if len(password) > LONGEST_PASSWORD:
            raise ValidationError(
                f"The password is too long. Type at most {LONGEST_PASSWORD:,} characters.",
                code="password_too_long",
            )

    def get_help_text(self) -> str:
        """The rule, as forms show it."""
        return (
            f"At least {LONG_PASSWORD} characters, or {SHORT_PASSWORD} for an account with a "
            "second factor."
        )


class CommonPasswordValidator(password_validation.CommonPasswordValidator):
    """Refuses common passwords and names of the hub and the user, whatever stands around them.

    Names are taken out of the password, then digits and punctuation at both ends; what remains
    must be neither shorter than ``SHORT_PASSWORD`` nor common.
    """

    def validate(self, password: str, user: User | None = None) -> None:
        """Raises ValidationError."""
        super().validate(password, user)
        lowered = password.lower()
        rest = lowered
        for name in sorted(_names(user), key=len, reverse=True):
            rest = rest.replace(name, "")
        core = rest.strip("0123456789 !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
        if rest != lowered and len(core) < SHORT_PASSWORD:
            raise ValidationError(
                "The password is little more than a name of the hub or of your account.",
                code="password_of_names",
            )
        if core in self.passwords:
            raise ValidationError(
                "The password is a common one with characters around it.",
                code="password_too_common",
            )

    def get_help_text(self) -> str:
        """The rule, as forms show it."""
        return "No common password, and no name of the hub or of your account."


def expect(password: str, user: User) -> None:
    """Hold a new password of a user against the rules; raises InvalidRequest."""
    try:
        password_validation.validate_password(password, user)
    except ValidationError as error:
        raise problems.InvalidRequest.at("/password", " ".join(error.messages)) from None


def is_good(password: str, user: User) -> bool:
    """Whether the rules take a password of a user."""
    try:
        password_validation.validate_password(password, user)
    except ValidationError:
        return False
    return True


def _names(user: User | None) -> set[str]:
    """Names that a guesser of passwords would try, in lower case."""
    texts = ["onnx model hub", "onnxhub", "modelhub", urlsplit(settings.HUB_PUBLIC_URL).hostname]
    texts += [user.username, user.email, user.first_name, user.last_name] if user else []
    names: set[str] = set()
    for text in filter(None, texts):
        names |= {text.lower(), *_WORDS.findall(text.lower())}
    return {name for name in names if len(name) >= _SHORTEST_NAME}


class BoundedPasswordHasher(PBKDF2PasswordHasher):
    """Django's PBKDF2, which every sign-in, new password and unknown name goes through."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """Hash a password; raises Unavailable while too many others are being hashed."""
        with places().hold():
            return super().encode(password, salt, iterations)


@cache
def places() -> Places:
    """The places of this process."""
    cores = len(os.sched_getaffinity(0))
    return places_for(settings.HUB_LIMITS_HASHES or max(1, cores // 2))


def places_for(count: int) -> Places:
    """Places for a number of hashes at once, for which twice as many threads wait."""
    return Places(count, waiting=2 * count, wait_seconds=WAIT_SECONDS, refusal=_busy)


def _busy() -> problems.Unavailable:
    return problems.Unavailable(
        "Too many sign-ins at the moment. Nothing was changed. Try again in a few seconds.",
        retry_after=RETRY_SECONDS,
    )
