"""Sending the security log as syslog: RFC 5424 messages over UDP, TCP (RFC 6587) or a Unix socket.

The thread that writes what reads leave behind sends it, so no request waits for a syslog server.
Entries wait here while the server does not answer; what a table keeps does not depend on it.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Sequence
from datetime import UTC
from urllib.parse import SplitResult, urlsplit

import structlog
from django.conf import settings
from django.core.cache import caches
from django.db import transaction

from registry.core import usage
from registry.core.security_log import WARNINGS, Entry

log = structlog.get_logger(__name__)

SECONDS = 2.0
# RFC 5424, section 6.2.1: facility 13 is the log audit; severity 4 is a warning, 6 informational.
_FACILITY, _WARNING, _INFORMATIONAL = 13, 4, 6
_PORTS = {"udp": 514, "tcp": 601}


def queue(entries: Sequence[Entry]) -> None:
    """Have entries sent soon after the commit of the transaction that they are part of."""
    if settings.HUB_SECURITY_LOG_SYSLOG:
        transaction.on_commit(lambda: _note(entries))


def send(entries: Sequence[Entry]) -> None:
    """Send entries; they are noted again if the server does not take them."""
    address = urlsplit(settings.HUB_SECURITY_LOG_SYSLOG)
    try:
        _send(address, [message(entry) for entry in entries])
    except OSError as error:
        if caches["process"].add("syslog-unreachable", 1, 60):
            log.warning("syslog_unreachable", error=type(error).__name__)
        _note(entries)


def message(entry: Entry) -> bytes:
    """An entry as a message of RFC 5424, whose text is JSON in ASCII."""
    severity = _WARNING if entry.kind in WARNINGS else _INFORMATIONAL
    at = entry.at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    host = socket.gethostname().encode("ascii", "replace").decode().replace(" ", "-") or "-"
    head = f"<{_FACILITY * 8 + severity}>1 {at} {host[:255]} hub {os.getpid()} {entry.kind[:32]} - "
    return (head + json.dumps(entry.plain())).encode("ascii")


def _note(entries: Sequence[Entry]) -> None:
    for entry in entries:
        usage.notes.add_entry(send, entry)


def _send(address: SplitResult, messages: list[bytes]) -> None:
    if address.scheme == "tcp":
        place = (address.hostname or "", address.port or _PORTS["tcp"])
        with socket.create_connection(place, SECONDS) as stream:
            stream.sendall(b"".join(b"%d %s" % (len(text), text) for text in messages))
        return
    family, where = _datagrams(address)
    with socket.socket(family, socket.SOCK_DGRAM) as datagrams:
        datagrams.settimeout(SECONDS)
        datagrams.connect(where)
        for text in messages:
            datagrams.send(text)


def _datagrams(address: SplitResult) -> tuple[int, tuple[str, int] | str]:
    if address.scheme == "unix":
        return socket.AF_UNIX, address.path
    port = address.port or _PORTS["udp"]
    first = socket.getaddrinfo(address.hostname, port, type=socket.SOCK_DGRAM)[0]
    return first[0], (str(first[4][0]), int(first[4][1]))
