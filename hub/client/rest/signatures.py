"""The REST operations of signatures, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hub.client.rest.calls import Group, model_path, part


@dataclass(frozen=True, kw_only=True)
class Signature:
    """A signature over all files of a version."""

    # digest of the bundle
    sha256: str
    # what names the signer: key, certificate or identity
    kind: str
    # who signed: key, or name in a certificate
    signed_by: str
    # SHA-256 of the public key's PEM
    key: str
    # public key of the signer as PEM
    public_key: str
    # names in the certificate; none for a key alone
    names: tuple[str, ...]
    # issuer of the certificate; empty for a key alone
    issuer: str
    # issuer of the identity that signed without a key; empty for others
    identity_issuer: str
    # end of the certificate; null for a key alone
    expires_at: datetime | None
    # whether the namespace of the model declares the signer
    counts: bool
    # title of the signer there; empty if it does not count
    declared_as: str
    created_at: datetime
    # user who added the signature
    created_by: str


class SignaturesGroup(Group):
    """The operations of signatures."""

    def list(self, model: str, number: int) -> tuple[Signature, ...]:
        """List the signatures of a version, with whether its namespace declares their signers."""
        return self._items(
            Signature, "GET", f"models/{model_path(model)}/versions/{part(number)}/signatures"
        )
