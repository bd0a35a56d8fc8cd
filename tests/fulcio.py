"""A Sigstore instance of the tests' own: Fulcio, its log of certificates, and Rekor.

Each process makes its own keys, and it signs as the services do: RFC 6962 for the
certificate log, signed entry timestamps and checkpoints for Rekor.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from hub.protocol import publishers
from tests import signers

ISSUER = "https://accounts.example.org"
_TIMESTAMPS = ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
_FORMER_OIDC_ISSUER = ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
_OIDC_ISSUER = ObjectIdentifier("1.3.6.1.4.1.57264.1.8")
_VALID_MINUTES = 10


class Sigstore:
    """An instance with its keys, whose trust root is a file."""

    def __init__(self, folder: Path, name: str = "sigstore") -> None:
        self.authority = ec.generate_private_key(ec.SECP256R1())
        self.certificate_log = ec.generate_private_key(ec.SECP256R1())
        self.rekor = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, "example.org"),
                x509.NameAttribute(NameOID.COMMON_NAME, name),
            ]
        )
        self.certificate = self._root()
        self.path = folder / f"{name}.json"
        self.path.write_text(json.dumps(self._trusted_root()))

    def sign(
        self,
        files: dict[str, str],
        mail: str = signers.MAIL,
        *,
        folder: Path,
        at: datetime | None = None,
        logged_at: datetime | None = None,
        has_time: bool = True,
        logged_by: Sigstore | None = None,
        issuer: str = ISSUER,
    ) -> str:
        """The text of a bundle over files (path -> SHA-256 in hex), as `model_signing` makes it.

        The certificate is valid for ten minutes from ``at`` on, and Rekor logs the signature at
        ``logged_at``; without a time, the log only includes it.
        """
        at = at or datetime.now(UTC) - timedelta(days=1)
        key = ec.generate_private_key(ec.SECP256R1())
        leaf = self._certify(key.public_key(), mail, issuer, at)
        model = json.loads(signers.bundle(signers.key(folder, "unused"), files))
        payload = base64.b64decode(model["dsseEnvelope"]["payload"])
        signature = key.sign(_encoded(payload), ec.ECDSA(hashes.SHA256()))
        rekor = logged_by or self
        entry = rekor._entry(
            payload, signature, leaf, (logged_at or at + timedelta(minutes=1)), has_time=has_time
        )
        return json.dumps(
            {
                "mediaType": publishers.MEDIA_TYPE,
                "verificationMaterial": {
                    "certificate": {"rawBytes": _text(_der(leaf))},
                    "tlogEntries": [entry],
                },
                "dsseEnvelope": {
                    "payload": _text(payload),
                    "payloadType": publishers.PAYLOAD_TYPE,
                    "signatures": [{"sig": _text(signature), "keyid": ""}],
                },
            }
        )

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Answer as Fulcio, Rekor and the provider of identities; gives the address."""
        handler = type("Services", (_Services,), {"instance": self})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()

    def certified(self, request: bytes, identity: str) -> list[str]:
        """Fulcio's answer to a request for a certificate (PEM), as PEMs."""
        key = x509.load_pem_x509_csr(request).public_key()
        claims = jwt.decode(identity, options={"verify_signature": False})
        leaf = self._certify(key, claims["email"], claims["iss"], datetime.now(UTC))
        return [_pem(leaf).decode(), _pem(self.certificate).decode()]

    def logged(self, envelope: dict[str, Any], certificate: bytes) -> dict[str, object]:
        """Rekor's answer to an entry."""
        leaf = x509.load_pem_x509_certificate(certificate)
        signature = base64.b64decode(envelope["signatures"][0]["sig"])
        payload = base64.b64decode(envelope["payload"])
        entry: Any = self._entry(payload, signature, leaf, datetime.now(UTC), has_time=True)
        proof = entry["inclusionProof"]
        return {
            "body": entry["canonicalizedBody"],
            "integratedTime": int(entry["integratedTime"]),
            "logID": _key_id(self.rekor.public_key()).hex(),
            "logIndex": 0,
            "verification": {
                "signedEntryTimestamp": entry["inclusionPromise"]["signedEntryTimestamp"],
                "inclusionProof": {
                    "logIndex": 0,
                    "rootHash": base64.b64decode(proof["rootHash"]).hex(),
                    "treeSize": 1,
                    "hashes": [],
                    "checkpoint": proof["checkpoint"]["envelope"],
                },
            },
        }

    def client_trust(self, address: str = "http://127.0.0.1:9") -> dict[str, object]:
        """The ClientTrustConfig of this instance, whose services are at an address."""

        def service(**fields: object) -> list[dict[str, object]]:
            valid = {"start": "2020-01-01T00:00:00Z"}
            common = {"url": address, "majorApiVersion": 1, "validFor": valid, "operator": "tests"}
            return [common | fields]

        services = {
            "mediaType": "application/vnd.dev.sigstore.signingconfig.v0.2+json",
            "caUrls": service(),
            "oidcUrls": service(),
            "rekorTlogUrls": service(),
            "rekorTlogConfig": {"selector": "ANY"},
            "tsaConfig": {"selector": "ANY"},
        }
        return {
            "mediaType": "application/vnd.dev.sigstore.clienttrustconfig.v0.1+json",
            "trustedRoot": self._trusted_root(),
            "signingConfig": services,
        }

    def _root(self) -> x509.Certificate:
        usage = signers.usage(key_cert_sign=True, crl_sign=True)
        now = datetime.now(UTC)
        own = x509.SubjectKeyIdentifier.from_public_key(self.authority.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(self.name)
            .issuer_name(self.name)
            .public_key(self.authority.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=365))
            .not_valid_after(now + timedelta(days=365))
            .add_extension(own, False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=1), True)
            .add_extension(usage, True)
            .sign(self.authority, hashes.SHA256())
        )

    def _certify(
        self, key: ec.EllipticCurvePublicKey, mail: str, issuer: str, at: datetime
    ) -> x509.Certificate:
        """A certificate of Fulcio with the timestamp of the certificate log."""
        from_authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(
            self.authority.public_key()
        )
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([]))
            .issuer_name(self.name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(at)
            .not_valid_after(at + timedelta(minutes=_VALID_MINUTES))
            .add_extension(signers.usage(digital_signature=True), True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), False)
            .add_extension(from_authority, False)
            .add_extension(x509.SubjectAlternativeName([x509.RFC822Name(mail)]), True)
            .add_extension(x509.UnrecognizedExtension(_FORMER_OIDC_ISSUER, issuer.encode()), False)
            .add_extension(
                x509.UnrecognizedExtension(_OIDC_ISSUER, _tagged(0x0C, issuer.encode())), False
            )
        )
        draft = builder.sign(self.authority, hashes.SHA256())
        timestamp = self._certificate_timestamp(draft, at)
        extension = x509.UnrecognizedExtension(_TIMESTAMPS, _tagged(0x04, timestamp))
        return builder.add_extension(extension, False).sign(self.authority, hashes.SHA256())

    def _certificate_timestamp(self, draft: x509.Certificate, at: datetime) -> bytes:
        """The list of one timestamp of a certificate (RFC 6962, section 3.2 and 3.3)."""
        milliseconds = int(at.timestamp()) * 1000
        content = draft.tbs_certificate_bytes
        signed = (
            struct.pack(">BBQH", 0, 0, milliseconds, 1)
            + _key_id(self.authority.public_key())
            + len(content).to_bytes(3, "big") + content + b"\0\0"
        )  # fmt: skip
        signature = self.certificate_log.sign(signed, ec.ECDSA(hashes.SHA256()))
        timestamp = (
            b"\0" + _key_id(self.certificate_log.public_key())
            + struct.pack(">QH", milliseconds, 0) + b"\x04\x03" + _sized(signature)
        )  # fmt: skip
        return _sized(_sized(timestamp))

    def _entry(
        self,
        payload: bytes,
        signature: bytes,
        leaf: x509.Certificate,
        at: datetime,
        *,
        has_time: bool,
    ) -> dict[str, object]:
        """The entry of the signature in Rekor, whose log has no other."""
        body = _canonical({
            "apiVersion": "0.0.1",
            "kind": "dsse",
            "spec": {
                "envelopeHash": {"algorithm": "sha256", "value": "0" * 64},
                "payloadHash": {
                    "algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest(),
                },
                "signatures": [{
                    "signature": _text(signature),
                    "verifier": _text(leaf.public_bytes(serialization.Encoding.PEM)),
                }],
            },
        })  # fmt: skip
        root = hashlib.sha256(b"\0" + body).digest()
        log_id = _key_id(self.rekor.public_key())
        seconds = int(at.timestamp())
        promise = _canonical({
            "body": _text(body), "integratedTime": seconds, "logID": log_id.hex(), "logIndex": 0,
        })  # fmt: skip
        head = f"rekor.example.org - 1\n1\n{_text(root)}\n"
        by = _text(log_id[:4] + self._sign(head.encode()))
        entry: dict[str, object] = {
            "logIndex": "0",
            "logId": {"keyId": _text(log_id)},
            "kindVersion": {"kind": "dsse", "version": "0.0.1"},
            "inclusionProof": {
                "logIndex": "0",
                "rootHash": _text(root),
                "treeSize": "1",
                "hashes": [],
                "checkpoint": {"envelope": f"{head}\n— rekor.example.org {by}\n"},
            },
            "canonicalizedBody": _text(body),
        }
        if has_time:
            entry["integratedTime"] = str(seconds)
            entry["inclusionPromise"] = {"signedEntryTimestamp": _text(self._sign(promise))}
        return entry

    def _sign(self, content: bytes) -> bytes:
        return self.rekor.sign(content, ec.ECDSA(hashes.SHA256()))

    def _trusted_root(self) -> dict[str, object]:
        start = {"start": "2020-01-01T00:00:00Z"}

        def log(url: str, key: ec.EllipticCurvePrivateKey) -> dict[str, object]:
            return {
                "baseUrl": url,
                "hashAlgorithm": "SHA2_256",
                "publicKey": {
                    "rawBytes": _text(_spki(key.public_key())),
                    "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                    "validFor": start,
                },
                "logId": {"keyId": _text(_key_id(key.public_key()))},
            }

        return {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log("https://rekor.example.org", self.rekor)],
            "certificateAuthorities": [
                {
                    "subject": {"organization": "example.org", "commonName": "sigstore"},
                    "uri": "https://fulcio.example.org",
                    "certChain": {"certificates": [{"rawBytes": _text(_der(self.certificate))}]},
                    "validFor": start,
                }
            ],
            "ctlogs": [log("https://ctfe.example.org", self.certificate_log)],
            "timestampAuthorities": [],
        }


class _Services(BaseHTTPRequestHandler):
    """The HTTP of Fulcio 2, Rekor 1 and OpenID Connect, as far as a signer asks."""

    instance: Sigstore

    def do_GET(self) -> None:
        self._answer(
            {"authorization_endpoint": "http://127.0.0.1:9", "token_endpoint": "http://127.0.0.1:9"}
        )

    def do_POST(self) -> None:
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/api/v2/signingCert":
            request = base64.b64decode(content["certificateSigningRequest"])
            identity = self.headers["Authorization"].removeprefix("Bearer ")
            chain = {"certificates": self.instance.certified(request, identity)}
            self._answer({"signedCertificateEmbeddedSct": {"chain": chain}})
            return
        proposed = content["spec"]["proposedContent"]
        certificate = base64.b64decode(proposed["verifiers"][0])
        self._answer({"0": self.instance.logged(json.loads(proposed["envelope"]), certificate)})

    def _answer(self, content: dict[str, object]) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


def identity_token(mail: str = signers.MAIL, issuer: str = ISSUER) -> str:
    """An identity token, as a provider gives it."""
    now = datetime.now(UTC)
    claims = {
        "iss": issuer, "sub": mail, "email": mail, "email_verified": True, "aud": "sigstore",
        "iat": now - timedelta(minutes=1), "nbf": now - timedelta(minutes=1),
        "exp": now + timedelta(minutes=5),
    }  # fmt: skip
    return jwt.encode(claims, "a secret of the provider, not verified here", "HS256")


def _encoded(payload: bytes) -> bytes:
    kind = publishers.PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def _canonical(content: dict[str, object]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _sized(content: bytes) -> bytes:
    return len(content).to_bytes(2, "big") + content


def _tagged(tag: int, content: bytes) -> bytes:
    """A value in DER of fewer than 256 bytes."""
    size = len(content)
    return bytes([tag, size] if size < 128 else [tag, 0x81, size]) + content


def _spki(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def _key_id(key: ec.EllipticCurvePublicKey) -> bytes:
    return hashlib.sha256(_spki(key)).digest()


def _pem(of: x509.Certificate) -> bytes:
    return of.public_bytes(serialization.Encoding.PEM)


def _der(of: x509.Certificate) -> bytes:
    return of.public_bytes(serialization.Encoding.DER)
