"""Signatures of versions, and the signers that a namespace declares."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from hub.protocol import publishers
from registry.api.inputs import OPTIONAL_TEXT, Input
from registry.api.operations import (
    ModelView,
    Stored,
    VersionView,
    View,
    command,
    operation,
    resource,
    rows,
)
from registry.api.outputs import Column, Columns, Digest, Output
from registry.people import selectors as people_selectors
from registry.provenance.signature_models import NamespaceSigner, VersionSignature
from registry.provenance.signatures import selectors, services
from registry.provenance.signatures.selectors import Signature

_MOST_PEM = 32 << 10
_BUNDLE = {(200, publishers.MEDIA_TYPE): OpenApiTypes.OBJECT}
_PEM: dict[str, Any] = OPTIONAL_TEXT | {"max_length": _MOST_PEM, "trim_whitespace": False}


class SignatureOutput(Output[Signature]):
    """A signature over all files of a version."""

    columns = Columns(
        Column("sha256", field=Digest, help_text="digest of the bundle"),
        Column("kind", help_text="what names the signer: key, certificate or identity"),
        Column("signed_by", help_text="who signed: key, or name in a certificate"),
        Column("key", help_text="SHA-256 of the public key's PEM"),
        Column("public_key", help_text="public key of the signer as PEM"),
        Column("names", help_text="names in the certificate; none for a key alone"),
        Column("issuer", help_text="issuer of the certificate; empty for a key alone"),
        Column(
            "identity_issuer",
            help_text="issuer of the identity that signed without a key; empty for others",
        ),
        Column("expires_at", help_text="end of the certificate; null for a key alone"),
        Column("counts", help_text="whether the namespace of the model declares the signer"),
        Column("declared_as", help_text="title of the signer there; empty if it does not count"),
        "created_at",
        Column("created_by", help_text="user who added the signature"),
    )


class ModelSignatureOutput(Output[VersionSignature]):
    """A signature of a version in the list of its model."""

    columns = Columns(
        Column("number", "version.number", help_text="number of the version"),
        Column("sha256", field=Digest, help_text="digest of the bundle"),
        Column("public_key", help_text="public key of the signer as PEM"),
    )


class SignatureInput(Input):
    """A signature to add."""

    columns = Columns(
        Column(
            "bundle",
            kind=str,
            max_length=publishers.MOST_BYTES,
            trim_whitespace=False,
            help_text="text of a Sigstore bundle, as `model_signing sign` writes it",
        ),
        Column(
            "public_key",
            **_PEM,
            help_text="public key as PEM, for a bundle that was signed by a key",
        ),
    )


class SignerOutput(Output[NamespaceSigner]):
    """A signer whose signatures count in a namespace."""

    columns = Columns(
        Column("id", "pk", kind=int),
        "title",
        Column("sentence", help_text="whose signatures count"),
        Column("key", help_text="SHA-256 of the public key's PEM; empty for authorities"),
        Column("authorities", help_text="certificate authorities as PEM; empty for a key"),
        Column("name", help_text="name in their certificates, every name if empty; or identity"),
        Column("identity_issuer", help_text="issuer of the identity; empty for others"),
        "created_at",
        Column("created_by", "created_by.username", help_text="owner who declared it"),
    )


class SignerInput(Input):
    """A signer to declare: a key, a name that certificate authorities vouch for, or an identity."""

    columns = Columns(
        Column("title", max_length=100, kind=str, help_text="what the key or name is, for readers"),
        Column("public_key", **_PEM, help_text="public key as PEM"),
        Column("authorities", **_PEM, help_text="certificate authorities as PEM"),
        Column(
            "name",
            **OPTIONAL_TEXT,
            max_length=500,
            help_text="e-mail address, URI, host name or subject in their certificates; every "
            "name if empty",
        ),
        Column(
            "identity_issuer",
            **OPTIONAL_TEXT,
            max_length=500,
            help_text="address of the OpenID Connect provider that vouches for the name, for "
            "signatures without a key",
        ),
    )


class ModelSignatures(ModelView):
    """The signatures of all versions of a model."""

    index = rows(
        "signatures_of_model",
        selectors.of_model,
        "List the signatures of all versions of a model, which mirrors copy.",
        ModelSignatureOutput,
    )


class Signatures(VersionView):
    """The signatures of a version."""

    index = rows(
        "signatures_list",
        selectors.signatures,
        "List the signatures of a version, with whether its namespace declares their signers.",
        SignatureOutput,
    )

    @operation("signatures_add", SignatureOutput, reads=SignatureInput)
    def create(self, **fields: Any) -> Stored:
        """Add a signature over all files of a published version; for writers."""
        row, is_new = services.add(self.request.user, version=self.version, **fields)
        return Stored(self._signature(row), is_new=is_new)

    @extend_schema(operation_id="signatures_bundle", responses=_BUNDLE)
    def bundle(self, request: Request, sha256: str, **_: Any) -> HttpResponse:
        """Read the Sigstore bundle of a signature."""
        text = selectors.bundle(request.user, self.version, sha256)
        response = HttpResponse(text, content_type=publishers.MEDIA_TYPE)
        response["Cache-Control"] = "no-store"
        return response

    def _signature(self, row: VersionSignature) -> Signature:
        rows = selectors.signatures(self.request.user, self.version)
        return next(each for each in rows if each.sha256 == row.sha256)


class Signers(View):
    """The signers of a namespace, for its members."""

    targets = ("namespace",)
    namespace = resource(people_selectors.own_namespace, "slug")
    signer = resource(selectors.signer, "namespace", "signer_id", needs_actor=False)

    index = rows(
        "signers_list",
        selectors.signers,
        "List the signers whose signatures count in a namespace; for members.",
        SignerOutput,
    )

    @operation("signers_add", SignerOutput, reads=SignerInput)
    def create(self, **fields: Any) -> Stored:
        """Declare a signer whose signatures count; for owners."""
        row, is_new = services.declare(self.request.user, namespace=self.namespace, **fields)
        return Stored(row, is_new=is_new)

    remove = command(
        "signers_remove",
        services.remove,
        "Remove a signer; for owners. Signatures stay and do not count any more.",
        targets=("namespace", "signer"),
    )
