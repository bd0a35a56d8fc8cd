"""The REST operations of signers, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from hub.client.rest.calls import Group, json_of, part


@dataclass(frozen=True, kw_only=True)
class Signer:
    """A signer whose signatures count in a namespace."""

    id: int
    title: str
    # whose signatures count
    sentence: str
    # SHA-256 of the public key's PEM; empty for authorities
    key: str
    # certificate authorities as PEM; empty for a key
    authorities: str
    # name in their certificates, every name if empty; or identity
    name: str
    # issuer of the identity; empty for others
    identity_issuer: str
    created_at: datetime
    # owner who declared it
    created_by: str


class SignersGroup(Group):
    """The operations of signers."""

    def add(
        self,
        slug: str,
        *,
        title: Annotated[str, "what the key or name is, for readers"],
        public_key: Annotated[str | None, "public key as PEM"] = None,
        authorities: Annotated[str | None, "certificate authorities as PEM"] = None,
        name: Annotated[
            str | None,
            "e-mail address, URI, host name or subject in their certificates; every name if empty",
        ] = None,
        identity_issuer: Annotated[
            str | None,
            "address of the OpenID Connect provider that vouches for the name, for signatures without a key",
        ] = None,
    ) -> Signer:
        """Declare a signer whose signatures count; for owners."""
        return self._call(
            Signer,
            "POST",
            f"namespaces/{part(slug)}/signers",
            content=json_of(
                {
                    "title": title,
                    "public_key": public_key,
                    "authorities": authorities,
                    "name": name,
                    "identity_issuer": identity_issuer,
                }
            ),
        )

    def list(self, slug: str) -> tuple[Signer, ...]:
        """List the signers whose signatures count in a namespace; for members."""
        return self._items(Signer, "GET", f"namespaces/{part(slug)}/signers")

    def remove(self, slug: str, signer_id: str) -> None:
        """Remove a signer; for owners. Signatures stay and do not count any more."""
        self._do("DELETE", f"namespaces/{part(slug)}/signers/{part(signer_id)}")
