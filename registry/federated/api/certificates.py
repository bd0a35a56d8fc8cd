"""Client certificates: TLS ends at a proxy, which verifies them and says which one it saw.

It says so in the header Client-Cert (RFC 9440), which is believed of the proxies alone that
HUB_CERTIFICATE_PROXIES names; by default of none, and the header means nothing.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from ipaddress import ip_address

from django.conf import settings
from rest_framework.request import Request

from hub.protocol import problems
from registry.federated.models import Participant
from registry.federated.services import participants

# A byte sequence of structured fields (RFC 8941) of at most 16 KiB.
_CERTIFICATE = re.compile(r":([A-Za-z0-9+/=]{4,21848}):")
_DER_SEQUENCE = 0x30


def fingerprint(request: Request) -> str:
    """SHA-256 in hex of the certificate that a trusted proxy verified; empty without one.

    Raises InvalidRequest for a header that such a proxy wrote and that holds no certificate.
    """
    header = request.headers.get("Client-Cert", "")
    if not header or not _is_trusted(request.META.get("REMOTE_ADDR", "")):
        return ""
    match = _CERTIFICATE.fullmatch(header.strip())
    try:
        content = base64.b64decode(match[1], validate=True) if match else b""
    except binascii.Error:
        content = b""
    if not content or content[0] != _DER_SEQUENCE:
        raise problems.InvalidRequest(
            "The proxy's Client-Cert header contains no certificate. It must be the DER "
            "certificate as one byte sequence, :base64:, as defined in RFC 9440."
        )
    return hashlib.sha256(content).hexdigest()


def expect(request: Request, participant: Participant) -> None:
    """Raise CertificateWrong unless a request comes with the certificate of who makes it.

    Raises CertificateNeeded where the training demands one and it comes with none.
    """
    if not participant.certificate:
        if participant.training.typed_rules.client_certificate:
            participants.expect_certificate(participant.training, fingerprint(request))
    elif not hmac.compare_digest(fingerprint(request), participant.certificate):
        raise problems.CertificateWrong(
            "This participant joined with a client certificate that this request does not "
            "present. Connect with that certificate. If it was renewed, ask the maintainers of "
            "the training to register the new one."
        )


def _is_trusted(address: str) -> bool:
    networks = settings.HUB_CERTIFICATE_PROXIES
    if not networks:
        return False
    try:
        came_from = ip_address(address)
    except ValueError:
        return False
    came_from = getattr(came_from, "ipv4_mapped", None) or came_from
    return any(came_from in network for network in networks)
