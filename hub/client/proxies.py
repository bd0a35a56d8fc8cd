"""Proxies: which one leads to an address, by HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.

A proxy speaks HTTP or SOCKS5. Its user and password are sent to it alone and appear in no message.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from hub.protocol import problems

if TYPE_CHECKING:
    import ssl

    import urllib3

_DEFAULT_PORTS = {"http": 3128, "https": 443, "socks5": 1080, "socks5h": 1080}
_WEB_PORTS = {"http": 80, "https": 443}
_SOCKS = frozenset({"socks5", "socks5h"})
_EXCEPTION = re.compile(r"(?:\[([^]]*)\]|([^:]*))(?::(\d+))?")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy: its address without user and password, and these."""

    address: str
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @classmethod
    def parse(cls, text: str) -> Proxy:
        """Read the value of a variable; raise `InvalidRequest` for what is not a proxy's address.

        A host without a scheme is an HTTP proxy.
        """
        whole = text if "://" in text else f"http://{text}"
        try:
            parts = urlsplit(whole)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port, parts = None, None, urlsplit("")
        scheme = parts.scheme.lower()
        if scheme not in _DEFAULT_PORTS or not host:
            name = whole.rpartition("@")[2]
            raise problems.InvalidRequest(
                f"The proxy {name!r} is not valid. Set HTTP_PROXY, HTTPS_PROXY or ALL_PROXY to an "
                "address such as http://proxy.example.org:3128 or socks5h://proxy.example.org:1080."
            )
        named = f"[{host}]" if ":" in host else host
        return cls(
            f"{scheme}://{named}:{port or _DEFAULT_PORTS[scheme]}",
            unquote(parts.username or ""),
            unquote(parts.password or ""),
        )

    @property
    def is_socks(self) -> bool:
        """Whether it speaks SOCKS5; else it speaks HTTP."""
        return urlsplit(self.address).scheme in _SOCKS

    def manager(self, proxy_context: ssl.SSLContext | None, **options: Any) -> urllib3.PoolManager:
        """Return connections through this proxy; raise `LibraryMissing` for SOCKS without PySocks.

        `socks5` resolves host names on this machine, `socks5h` at the proxy. `proxy_context` is for
        TLS to the proxy itself, `options` are those of `urllib3.PoolManager`.
        """
        import urllib3  # noqa: PLC0415  (imported at first use: `import hub` stays light)

        if self.is_socks:
            try:
                from urllib3.contrib.socks import SOCKSProxyManager  # noqa: PLC0415  (optional)
            except ImportError:
                raise problems.LibraryMissing(
                    f"The SOCKS proxy {self.address} needs PySocks: pip install 'onnx-hub[socks]'."
                ) from None
            user = self.user or None
            return SOCKSProxyManager(
                self.address, username=user, password=self.password if user else None, **options
            )
        headers = None
        if self.user:
            headers = urllib3.make_headers(proxy_basic_auth=f"{self.user}:{self.password}")
        return urllib3.ProxyManager(
            self.address, proxy_headers=headers, proxy_ssl_context=proxy_context, **options
        )

    def refusal(self) -> problems.Unreachable:
        """Make the error for a proxy that asks for other credentials."""
        cause = "rejected the user and password" if self.user else "requires a user and password"
        return problems.Unreachable(
            f"The proxy {self.address} {cause}. Set them in HTTP_PROXY, HTTPS_PROXY or "
            "ALL_PROXY, as in http://user:password@host:port, with special characters "
            "percent-encoded.",
            reason=f"the proxy {cause}",
            is_transient=False,
            is_unsent=True,
        )


def proxy_of(url: str) -> Proxy | None:
    """Return the proxy for an address; raise `InvalidRequest` when its variable is not valid.

    This machine is always reached directly, and so is what NO_PROXY lists: host names, which
    include their subdomains, addresses, networks such as 10.0.0.0/8, each with a port or without,
    or `*`.
    """
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415  (slow to import)

    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    settings = getproxies()
    named = settings.get(parts.scheme) or settings.get("all")
    port = parts.port or _WEB_PORTS.get(parts.scheme, 0)
    if not named or host in _LOOPBACK or _is_direct(host, str(port), settings.get("no", "")):
        return None
    # Windows and macOS have exceptions of their own beside the variables.
    return None if proxy_bypass(host) else Proxy.parse(named)


def _is_direct(host: str, port: str, exceptions: str) -> bool:
    for entry in exceptions.lower().replace(",", " ").split():
        # An IPv6 address has a port only behind brackets.
        match = _EXCEPTION.fullmatch(entry)
        name, own_port = (match[1] or match[2], match[3]) if match else (entry, None)
        if own_port in {None, port} and (name == "*" or _is_within(host, name)):
            return True
    return False


def _is_within(host: str, name: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(name, strict=False)
    except ValueError:
        # Not two addresses of one family: then names.
        suffix = name.removeprefix("*").removeprefix(".")
        return bool(suffix) and (host == suffix or host.endswith(f".{suffix}"))
