"""The environment variables of a hub: each is read once, as what it must be.

A value that cannot be used is noted, and its default stands in until all variables are read, so
that one message names everything that is wrong.
"""

from __future__ import annotations

import difflib
import math
import os
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, Final, TypeVar
from urllib.parse import unquote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from hub.protocol.client_variables import VARIABLES as CLIENT_VARIABLES

PREFIX: Final = "HUB_"
# Names that the tests of the hub read.
_TEST_PREFIX: Final = "HUB_TEST_"
# How alike a misspelt name is to the variable that it means, as difflib's ratio. `HUB_STORAGE` is
# as alike to `HUB_STORAGE_URL`.
_MISSPELT_RATIO: Final = 0.84
_SIMILAR_RATIO: Final = 0.6
_TRUE: Final = frozenset({"true", "on", "ok", "y", "yes", "1"})
_FALSE: Final = frozenset({"false", "off", "n", "no", "0"})
_PERIODS: Final = ("s", "m", "h", "d")
_ENGINES: Final = ("postgresql", "sqlite3")
# Schemes of mail servers, with the port of each.
_MAIL_PORTS: Final = {"smtp": 587, "smtps": 465, "smtp+plain": 25}
# Schemes of LDAP servers, with the scheme and the port of the library.
_LDAP_SCHEMES: Final = {
    "ldaps": ("ldaps", 636),
    "ldap": ("ldap", 389),
    "ldap+plain": ("ldap", 389),
}
N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a variable, and what to do."""

    text: str
    cure: str

    def __str__(self) -> str:
        return f"{self.text} {self.cure}"


@dataclass(frozen=True, slots=True)
class MailServer:
    """An SMTP server; ``scheme`` is smtp (STARTTLS), smtps (TLS) or smtp+plain (neither)."""

    scheme: str
    host: str
    port: int
    user: str
    password: str


@dataclass(frozen=True, slots=True)
class LdapServer:
    """An LDAP server: its URL, and whether StartTLS comes before all else."""

    url: str
    starts_tls: bool


class Environment:
    """Reads variables; ``faults`` are what is wrong.

    ``variables`` are the names that were read, ``private`` those among them whose values may be
    any text, such as a password.
    """

    def __init__(self, values: Mapping[str, str] = os.environ) -> None:
        self._values = values
        self.variables: set[str] = set()
        self.private: set[str] = set()
        self.faults: list[Fault] = []
        # False for a command that lists faults instead of being refused.
        self.is_strict = True

    def text(self, name: str, *, default: str) -> str:
        """A text; an empty one is the default."""
        self.private.add(name)
        return self._text(name) or default

    def choice(self, name: str, *, default: str, choices: Collection[str]) -> str:
        """One of the choices."""
        text = self._text(name)
        if not text or text in choices:
            return text or default
        self._refuse(name, text, f"none of {', '.join(choices)}", default)
        return default

    def integer(self, name: str, *, default: int, least: int = 0) -> int:
        """A whole number that is at least ``least``."""
        text = self._text(name)
        try:
            value = int(text or default)
        except ValueError:
            self._refuse(name, text, "no whole number", default)
            return default
        return self._at_least(name, value, default, least)

    def number(self, name: str, *, default: float, least: int = 0) -> float:
        """A finite number that is at least ``least``."""
        text = self._text(name)
        try:
            value = float(text or default)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            self._refuse(name, text, "no number", default)
            return default
        return self._at_least(name, value, default, least)

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false."""
        text = self._text(name).lower()
        if text and text not in _TRUE | _FALSE:
            self._refuse(name, text, "neither true nor false", str(default).lower())
            return default
        return text in _TRUE if text else default

    def texts(self, name: str, *, default: list[str]) -> list[str]:
        """Texts between commas; an empty value is an empty list."""
        self.variables.add(name)
        self.private.add(name)
        if name not in self._values:
            return default
        return [text for text in self._values[name].split(",") if text]

    def networks(self, name: str) -> list[IPv4Network | IPv6Network]:
        """IP networks between commas, none by default."""
        texts = self.texts(name, default=[])
        try:
            return [ip_network(text.strip()) for text in texts]
        except ValueError as error:
            self.refuse(name, f"has no network: {error}.", "Write it as 10.1.0.0/16,fd00:1::/32.")
            return []

    def rate(self, name: str, *, default: str) -> str:
        """A number of events in a period, such as ``10/min``."""
        text = self._text(name) or default
        events, _, period = text.partition("/")
        if events.isdecimal() and period.startswith(_PERIODS):
            return text
        self._refuse(name, text, "no rate, such as 10/s, 10/min, 10/hour or 10/day", default)
        return default

    def database(self, name: str) -> dict[str, Any] | None:
        """The database of a URL as Django's settings describe it, None without one."""
        text = self.text(name, default="")
        if not text:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                database: dict[str, Any] = environ.Env.db_url_config(text)
        except ValueError:
            database = {}
        if database.get("ENGINE", "").endswith(_ENGINES):
            return database
        # The value may hold a password.
        self.faults.append(
            Fault(
                f"{name} is no address of a PostgreSQL database.",
                "Write it as postgres://user:password@host:5432/database, with characters such "
                "as / and @ of the password encoded (%2F, %40), or unset it for SQLite.",
            )
        )
        return None

    def mail(self, name: str) -> MailServer | None:
        """The SMTP server of a URL, None without one."""
        text = self.text(name, default="")
        if not text:
            return None
        try:
            url = urlsplit(text)
            port = url.port or _MAIL_PORTS[url.scheme]
        except (ValueError, KeyError):
            url, port = urlsplit(""), 0
        if url.hostname and port:
            user, password = unquote(url.username or ""), unquote(url.password or "")
            return MailServer(url.scheme, url.hostname, port, user, password)
        # The value may hold a password.
        self.refuse(
            name,
            "is no address of an SMTP server.",
            "Write it as smtp://user:password@host:587, with characters such as / and @ of the "
            "password encoded (%2F, %40), or unset it to send no mail.",
        )
        return None

    def ldap(self, name: str) -> LdapServer | None:
        """The LDAP server of a URL, None without one."""
        text = self.text(name, default="")
        if not text:
            return None
        try:
            url = urlsplit(text)
            scheme, default_port = _LDAP_SCHEMES[url.scheme]
            port = url.port or default_port
        except (ValueError, KeyError):
            url, scheme, port = urlsplit(""), "", 0
        if url.hostname and url.path in ("", "/") and not (url.query or url.username):
            host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
            return LdapServer(f"{scheme}://{host}:{port}", url.scheme == "ldap")
        # The value may hold a password.
        self.refuse(
            name,
            "is no address of an LDAP server.",
            "Write it as ldaps://host or ldap://host (StartTLS), or unset it. HUB_LDAP_BASE says "
            "where people are, and HUB_LDAP_BIND_DN with which entry the hub searches.",
        )
        return None

    def values(self, *, private: bool) -> dict[str, str]:
        """The values of variables that are set, of those that may be anything or of the others."""
        names = self.private if private else self.variables - self.private
        return {name: self._values[name] for name in sorted(names) if self._values.get(name)}

    def refuse(self, name: str, text: str, cure: str) -> None:
        """Note that a variable cannot be used."""
        self.private.add(name)
        self.faults.append(Fault(f"{name} {text}", cure))

    def misspelt(self) -> list[Fault]:
        """The names beginning with ``HUB_`` that are almost those of variables."""
        return [
            Fault(f"{name} is no setting.", f"Did you mean {near}? Rename or unset it.")
            for name, near in self._unknown(_MISSPELT_RATIO)
            if near
        ]

    def unknown(self) -> list[Fault]:
        """The other names beginning with ``HUB_`` that nothing reads."""
        misspelt = {name for name, near in self._unknown(_MISSPELT_RATIO) if near}
        return [
            Fault(
                f"{name} is no setting and has no effect.",
                f"The nearest is {near}; docs/settings.md lists all."
                if near
                else "docs/settings.md lists all.",
            )
            for name, near in self._unknown(_SIMILAR_RATIO)
            if name not in misspelt
        ]

    def check(self) -> None:
        """Raise ImproperlyConfigured, with one line for each fault, once all variables are read."""
        # A process that goes on after a refusal reads the settings again.
        self.faults = list(dict.fromkeys([*self.faults, *self.misspelt()]))
        if self.faults and self.is_strict:
            raise ImproperlyConfigured("\n".join(map(str, self.faults)))

    def _unknown(self, ratio: float) -> list[tuple[str, str]]:
        """Each name that nothing reads, with the nearest variable at this ratio, or nothing."""
        # `HUB_DATABASE_URL` means `DATABASE_URL`.
        variables = {f"{PREFIX}{name.removeprefix(PREFIX)}": name for name in self.variables}
        variables |= {name: name for name in CLIENT_VARIABLES}
        rows = []
        for name in sorted(self._values):
            if not name.startswith(PREFIX) or name.startswith(_TEST_PREFIX):
                continue
            if name in self.variables or name in CLIENT_VARIABLES:
                continue
            near = difflib.get_close_matches(name, variables, n=1, cutoff=ratio)
            rows.append((name, variables[near[0]] if near else ""))
        return rows

    def _text(self, name: str) -> str:
        self.variables.add(name)
        return self._values.get(name, "").strip()

    def _refuse(self, name: str, text: str, what: str, default: object) -> None:
        self.refuse(name, f"is {text!r}, {what}.", f"Correct it, or unset it for {default}.")

    def _at_least(self, name: str, value: N, default: N, least: int) -> N:
        if value >= least:
            return value
        self._refuse(name, str(value), f"less than {least}", default)
        return default


env: Final = Environment()
