"""The signatures of a version with whether they count, and the signers of a namespace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from hub.protocol import problems
from hub.protocol.publishers import SignerKind
from registry.core.permissions import Actor
from registry.models import Namespace, RegisteredModel, Version
from registry.provenance.signature_models import NamespaceSigner, VersionSignature


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature of a version; ``declared_as`` is the title of its signer in the namespace."""

    row: VersionSignature
    declared_as: str

    @property
    def counts(self) -> bool:
        """Whether the namespace of the model declares the signer."""
        return bool(self.declared_as)

    @property
    def sha256(self) -> str:
        """That of the bundle."""
        return self.row.sha256

    @property
    def kind(self) -> SignerKind:
        """What names the signer."""
        return self.row.kind

    @property
    def key(self) -> str:
        """The fingerprint of the public key."""
        return self.row.key

    @property
    def public_key(self) -> str:
        """The public key as PEM."""
        return self.row.public_key

    @property
    def names(self) -> list[str]:
        """The names in the certificate of the signer."""
        return list(self.row.names)

    @property
    def issuer(self) -> str:
        """Who issued that certificate; empty for a key alone."""
        return self.row.issuer

    @property
    def identity_issuer(self) -> str:
        """Who vouched for the identity of a keyless signature; empty for others."""
        return self.row.identity_issuer

    @property
    def expires_at(self) -> datetime | None:
        """When that certificate expires."""
        return self.row.signer.expires_at

    @property
    def signed_by(self) -> str:
        """The key or the first name of the signer, as a text."""
        return str(self.row.signer)

    @property
    def created_at(self) -> datetime:
        """When the signature was added."""
        return self.row.created_at

    @property
    def created_by(self) -> str:
        """Who added it."""
        return self.row.created_by.username


def signatures(_: Actor, version: Version) -> list[Signature]:
    """The signatures of a version that the actor sees, oldest first."""
    return of_version(version)


def of_version(version: Version) -> list[Signature]:
    """The signatures of a version, oldest first."""
    rows = VersionSignature.objects.filter(version=version).select_related("created_by")
    rows = rows.defer("bundle")
    if not rows:
        return []
    signers = NamespaceSigner.objects.filter(namespace=version.model.namespace_id)
    declared = list(signers)
    return [Signature(row, _declared_as(row, declared)) for row in rows]


def of_model(actor: Actor, model: RegisteredModel) -> QuerySet[VersionSignature]:
    """The signatures of the versions of a model that the actor sees, oldest first."""
    versions = model.versions.visible_to(actor)
    rows = VersionSignature.objects.filter(version__in=versions).select_related("version")
    return rows.defer("bundle").order_by("pk")


def bundle(_: Actor, version: Version, sha256: str) -> str:
    """The text of a bundle; raises NotFound."""
    rows = VersionSignature.objects.filter(version=version, sha256=sha256)
    return problems.expect(
        rows.values_list("bundle", flat=True).first(),
        problems.NotFound(f"{version.ref} has no signature sha256:{sha256}."),
    )


def signers(_: Actor, namespace: Namespace) -> QuerySet[NamespaceSigner]:
    """The signers of a namespace that the actor is a member of, oldest first."""
    rows = NamespaceSigner.objects.filter(namespace=namespace)
    return rows.select_related("created_by").order_by("pk")


def signer(namespace: Namespace, key: int) -> NamespaceSigner:
    """A signer of a namespace; raises NotFound."""
    return problems.expect(
        NamespaceSigner.objects.filter(namespace=namespace, pk=key).first(),
        problems.NotFound(f"{namespace.slug} has no signer {key}."),
    )


def _declared_as(row: VersionSignature, declared: Iterable[NamespaceSigner]) -> str:
    """The title of the signer that a signature is of, when it was added; empty for none."""
    for each in declared:
        if not each.trusted.refusal(row.signer, row.created_at):
            return each.title
    return ""
