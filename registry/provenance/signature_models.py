"""The tables of signatures, append-only, and of the signers that a namespace declares."""

from __future__ import annotations

import base64
from functools import cached_property

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from hub.protocol.publishers import Signer, SignerKind, TrustedSigner
from registry.models import Namespace, Version
from registry.models.constraints import HEX64, matches

FINGERPRINT = r"^sha256:[0-9a-f]{64}$"


class VersionSignature(models.Model):
    """A bundle that verified over the files of a version when it was added, and who signed it.

    ``key`` is the fingerprint of the public key. Without ``certificates`` (DER in base64) there are
    no ``names``. ``identity_issuer`` vouched for the name of a keyless one.
    """

    version = models.ForeignKey(Version, models.PROTECT, related_name="signatures")
    sha256 = models.CharField(max_length=64)
    bundle = models.TextField()
    key = models.CharField(max_length=71)
    public_key = models.TextField()
    certificates = models.JSONField(default=list, blank=True)
    names = models.JSONField(default=list, blank=True)
    issuer = models.TextField(blank=True, default="")
    identity_issuer = models.TextField(blank=True, default="", db_default="")
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="version_signatures"
    )

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["version", "sha256"], name="versionsignature_unique"),
            matches("sha256", HEX64, "versionsignature"),
            matches("key", FINGERPRINT, "versionsignature"),
        ]

    def __str__(self) -> str:
        return f"signature {self.pk} of version {self.version_id}"

    @cached_property
    def signer(self) -> Signer:
        """Who signed, as it was verified."""
        certificates = tuple(base64.b64decode(row) for row in self.certificates)
        return Signer(
            self.key,
            self.public_key,
            certificates,
            tuple(self.names),
            self.issuer,
            self.identity_issuer,
        )

    @property
    def kind(self) -> SignerKind:
        """What names the signer."""
        return self.signer.kind


class NamespaceSigner(models.Model):
    """A signer whose signatures count in a namespace: a key, a certified name, or an identity.

    ``sha256`` is that of all that says who is meant, so that nobody is declared twice.
    """

    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="signers")
    title = models.CharField(max_length=100)
    key = models.CharField(max_length=71, blank=True, default="")
    authorities = models.TextField(blank=True, default="")
    name = models.CharField(max_length=500, blank=True, default="")
    identity_issuer = models.CharField(max_length=500, blank=True, default="", db_default="")
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="declared_signers"
    )

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["namespace", "sha256"], name="namespacesigner_unique"),
            matches("sha256", HEX64, "namespacesigner"),
            models.CheckConstraint(
                condition=Q(key__regex=FINGERPRINT, authorities="", name="", identity_issuer="")
                | (Q(key="", identity_issuer="") & ~Q(authorities=""))
                | (Q(key="", authorities="") & ~Q(name="") & ~Q(identity_issuer="")),
                name="namespacesigner_means_somebody",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.title} of namespace {self.namespace_id}"

    @cached_property
    def trusted(self) -> TrustedSigner:
        """Whose signatures count."""
        return TrustedSigner(self.key, self.authorities, self.name, self.identity_issuer)

    @property
    def sentence(self) -> str:
        """The key or the name whose signatures count, as a text."""
        return str(self.trusted)
