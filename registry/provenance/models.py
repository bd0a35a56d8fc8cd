"""The tables of the log, all append-only: leaves, nodes above whole tiles, heads, attestations.

Those of signatures are in `registry.provenance.signature_models`.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from hub.protocol.transparency.attestations import PROVENANCE
from hub.protocol.transparency.merkle import HASH_BYTES
from hub.protocol.transparency.records import SALT_BYTES, RecordKind, entry_of
from registry.models import Event, RegisteredModel
from registry.models.constraints import HEX64, matches
from registry.provenance import signature_models  # noqa: F401 - where Django looks

# The consumers of events that append records, and that sign results.
CONSUMER = "provenance.log"
ATTESTING = "provenance.attestations"
KINDS = [kind.value for kind in RecordKind]
KEY_KINDS = [RecordKind.KEY.value, RecordKind.KEY_REVOKED.value]


class LogLeaf(models.Model):
    """A leaf of the tree with what opens it; ``number`` is that of a version, 0 for none."""

    position = models.BigIntegerField(primary_key=True)
    hash = models.BinaryField(max_length=HASH_BYTES)
    salt = models.BinaryField(max_length=SALT_BYTES)
    record = models.TextField()
    kind = models.CharField(max_length=20)
    model = models.ForeignKey(
        RegisteredModel, models.PROTECT, null=True, blank=True, related_name="log_leaves"
    )
    number = models.PositiveIntegerField(default=0)
    event = models.OneToOneField(
        Event, models.PROTECT, null=True, blank=True, related_name="log_leaf"
    )

    class Meta:
        ordering = ["position"]
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=KINDS), name="logleaf_kind_known")
        ]
        indexes = [
            models.Index(fields=["model", "number", "position"], name="logleaf_of_version"),
            models.Index(fields=["kind", "position"], name="logleaf_of_kind"),
        ]

    def __str__(self) -> str:
        return f"leaf {self.position}: {self.kind}"

    @property
    def entry(self) -> bytes:
        """What the leaf commits to its record by."""
        return entry_of(bytes(self.salt), self.record.encode())


class LogNode(models.Model):
    """The hash above 256 nodes of the level below it; level 0 are the leaves."""

    level = models.PositiveSmallIntegerField()
    position = models.BigIntegerField()
    hash = models.BinaryField(max_length=HASH_BYTES)

    class Meta:
        ordering = ["level", "position"]
        constraints = [models.UniqueConstraint(fields=["level", "position"], name="lognode_unique")]

    def __str__(self) -> str:
        return f"node {self.position} of level {self.level}"


class LogHead(models.Model):
    """A signed head: the note that says how many leaves the log had, and their root."""

    size = models.BigIntegerField(primary_key=True)
    note = models.TextField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-size"]

    def __str__(self) -> str:
        return f"head of {self.size} leaves"


class SigningKey(models.Model):
    """The private key of the log, sealed with the hub's secret key, and its public form."""

    verifier = models.CharField(max_length=300, primary_key=True)
    sealed = models.CharField(max_length=1000)

    def __str__(self) -> str:
        return self.verifier


class Attestation(models.Model):
    """A signed statement about a result of a version; ``leaf`` is the record that names it.

    ``name`` and ``run`` are those of the result. A removal is a statement of its own run.
    """

    leaf = models.OneToOneField(LogLeaf, models.PROTECT, primary_key=True, related_name="+")
    model = models.ForeignKey(RegisteredModel, models.PROTECT, related_name="attestations")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=800)
    run = models.CharField(max_length=80)
    predicate_type = models.CharField(max_length=400)
    digest = models.CharField(max_length=64, unique=True)
    envelope = models.TextField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["leaf"]
        constraints = [
            models.UniqueConstraint(
                fields=["model", "number", "name", "run", "predicate_type"],
                name="attestation_once_per_run",
            ),
            matches("digest", HEX64, "attestation"),
        ]
        indexes = [models.Index(fields=["model", "at"], name="attestation_newest")]

    def __str__(self) -> str:
        return f"{self.name} of run {self.run}"

    @property
    def is_build(self) -> bool:
        """Whether it says how a variant was made."""
        return self.predicate_type == PROVENANCE
