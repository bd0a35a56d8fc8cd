"""Connections that only lead to public addresses, for URLs that strangers write.

A name is resolved once for each connection, every address of it is judged, and the socket is opened
to an address that was judged: a name server that answers differently the next time leads nowhere.
Proxies of the environment are not used, since they would resolve the name themselves.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

from hub.pace import paced

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
# RFC 6052, section 2.1: the last 32 bits are an IPv4 address.
_NAT64 = ip_network("64:ff9b::/96")


class NotPublicError(Exception):
    """A connection would lead to an address that is not public."""


def is_public(address: Address) -> bool:
    """Whether an address is of the internet, and so is the IPv4 address that it may stand for."""
    return all(part.is_global and not part.is_multicast for part in (address, *_embedded(address)))


def _embedded(address: Address) -> list[IPv4Address]:
    """The IPv4 addresses in an IPv6 address: mapped, of 6to4, of Teredo, or of NAT64."""
    if isinstance(address, IPv4Address):
        return []
    parts = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        parts.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [part for part in parts if part is not None]


def _judged(host: str, port: int, *, allowed: Sequence[Network], public: bool) -> str:
    """The first address of a host; raises NotPublicError if one is neither public nor allowed."""
    answers = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    addresses = [ip_address(str(info[4][0]).partition("%")[0]) for info in answers]
    for address in addresses:
        plain = getattr(address, "ipv4_mapped", None) or address
        if not any(plain in network for network in allowed) and not (public and is_public(address)):
            kind = "not a public address" if public else "not in HUB_WEBHOOK_NETWORKS"
            raise NotPublicError(f"{address} is {kind}")
    return str(addresses[0])


def _pool(
    kind: type[urllib3.HTTPConnectionPool],
    connection: type[HTTPConnection],
    judge: Callable[[str, int], str],
) -> type[urllib3.HTTPConnectionPool]:
    def new_connection(self: Any) -> socket.socket:
        name = self._dns_host
        try:
            # What is connected to; TLS and the header Host go on using the name.
            self._dns_host = judge(name, self.port)
            opened: socket.socket = connection._new_conn(self)  # noqa: SLF001 - urllib3's own hook
            return opened
        finally:
            self._dns_host = name

    guarded = type(f"Public{connection.__name__}", (connection,), {"_new_conn": new_connection})
    return type(f"Public{kind.__name__}", (kind,), {"ConnectionCls": guarded})


def manager(
    *, allowed: Sequence[Network] = (), plain_public: bool = True, **options: Any
) -> urllib3.PoolManager:
    """Connections to public addresses and ``allowed`` networks, on which every answer ends.

    Without ``plain_public`` those without TLS lead to ``allowed`` networks alone. What leads
    elsewhere raises NotPublicError before a connection is made.
    """

    def judge(public: bool) -> Callable[[str, int], str]:  # noqa: FBT001 - of one use
        return lambda host, port: _judged(host, port, allowed=allowed, public=public)

    pools = urllib3.PoolManager(**options)
    pools.pool_classes_by_scheme = {
        "http": _pool(urllib3.HTTPConnectionPool, HTTPConnection, judge(plain_public)),
        "https": _pool(urllib3.HTTPSConnectionPool, HTTPSConnection, judge(public=True)),
    }
    return paced(pools)
