"""Paths inside a version, and the models that can be loaded from them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from hub.protocol import proofs
from hub.protocol.facts import Facts
from hub.protocol.runtime_builds import PORTABLE
from registry.models.blobs import Blob
from registry.models.constraints import HEX40, RELATIVE_PATH, matches, one_of
from registry.models.versions import Version


class File(models.Model):
    """A path inside a version, pointing at a blob."""

    version = models.ForeignKey(Version, models.CASCADE, related_name="files")
    path = models.CharField(max_length=512)
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="files")
    git_oid = models.CharField(max_length=40)
    lfs = models.BooleanField(default=False)
    derived = models.BooleanField(default=False)

    class Meta:
        ordering = ["path", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["version", "path"], name="file_path_unique"),
            matches("git_oid", HEX40, "file"),
            models.CheckConstraint(condition=RELATIVE_PATH, name="file_path_relative"),
        ]

    def __str__(self) -> str:
        return self.path


class VariantOrigin(models.TextChoices):
    UPLOADED = "uploaded"
    UPGRADED = "upgraded"
    CONVERTED = "converted"


_STRENGTHS = [str(strength) for strength in proofs.Strength]
# What processes of release 0.1 write during an upgrade of the hub; it is never chosen.
_FULL = "full"


def sufficient(least: str | None = None) -> frozenset[proofs.Strength]:
    """The strengths of proof that are enough; ``least`` defaults to what this hub demands."""
    return proofs.SUFFICIENT[proofs.Strength(least or settings.HUB_PROOF_STRENGTH)]


def candidates(least: str | None = None) -> Q:
    """The variants that may stand in for the original where an opset is asked for."""
    return ~Q(origin=VariantOrigin.UPGRADED) | Q(proof_strength__in=sorted(sufficient(least)))


def is_candidate(origin: str, strength: str, least: str | None = None) -> bool:
    """Whether a variant is one of ``candidates``."""
    return origin != VariantOrigin.UPGRADED or strength in sufficient(least)


class Variant(models.Model):
    """One loadable ONNX model inside a version: uploaded, or derived by a job.

    An upgraded one has another opset, and ``proof`` says how far it was shown to give the same
    numbers; a converted one has another precision, and ``derivation`` says what that cost.
    """

    Origin = VariantOrigin

    version = models.ForeignKey(Version, models.CASCADE, related_name="variants")
    name = models.CharField(max_length=64)
    origin = models.CharField(max_length=9, choices=Origin.choices, default=VariantOrigin.UPLOADED)
    entry = models.ForeignKey(File, models.CASCADE, related_name="variants")
    opset = models.PositiveIntegerField(null=True, blank=True)
    ir_version = models.PositiveIntegerField(null=True, blank=True)
    precision = models.CharField(max_length=16, blank=True, default="")
    parameters = models.BigIntegerField(null=True, blank=True)
    macs = models.BigIntegerField(
        null=True, blank=True, help_text="multiply-accumulate operations, for usual sizes"
    )
    memory_bytes = models.BigIntegerField(
        null=True, blank=True, help_text="of weights and activations, for usual sizes"
    )
    facts = models.JSONField(default=dict)
    derived_from = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="derivatives"
    )
    derivation = models.JSONField(default=dict, blank=True)
    proof_strength = models.CharField(
        max_length=14, choices=[(name, name) for name in _STRENGTHS], blank=True, default=""
    )
    proof = models.JSONField(
        null=True, blank=True, help_text="the evidence, as hub.protocol.proofs writes it"
    )
    job_uuid = models.UUIDField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["version", "name"], name="variant_name_unique"),
            one_of("origin", VariantOrigin, "variant"),
            models.CheckConstraint(
                condition=Q(derived_from=None, origin="uploaded")
                | (Q(derived_from__isnull=False, job_uuid__isnull=False) & ~Q(origin="uploaded")),
                name="variant_derived_names_source_and_job",
            ),
            models.CheckConstraint(
                condition=Q(proof_strength__in=[*_STRENGTHS, _FULL], origin="upgraded")
                | (Q(proof_strength="", proof__isnull=True) & ~Q(origin="upgraded")),
                name="variant_upgraded_has_strength",
            ),
            models.CheckConstraint(
                condition=Q(proof_strength__in=["", "earlier-method"], proof__isnull=True)
                | (~Q(proof_strength__in=["", "earlier-method"]) & Q(proof__isnull=False)),
                name="variant_strength_has_proof",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @cached_property
    def typed_facts(self) -> Facts:
        """What the worker that read the model reported of it."""
        return Facts.read(self.facts)

    @property
    def paths(self) -> set[str]:
        """The files that it is loaded from: its entry, and the weights beside it."""
        return {self.entry.path, *(file.path for file in self.typed_facts.external_files)}

    @property
    def uploaded_path(self) -> str:
        """The file that it is, or was derived from; cards declare what belongs to this file."""
        rows = {row.pk: row for row in self.version.variants.all()}
        source = self
        while source.derived_from_id in rows:
            source = rows[source.derived_from_id]
        return source.entry.path if source.entry_id else ""

    @property
    def input_options(self) -> dict[str, Any]:
        """The option of jobs that feed it: what the card declares of the inputs of its file."""
        ports = self.version.ports_of(self.uploaded_path)
        return {"inputs": ports["inputs"]} if "inputs" in ports else {}

    @property
    def statement(self) -> proofs.Proof | None:
        """The proof that it equals its original; None where none is stored in today's form."""
        return None if self.proof is None else proofs.Proof.from_json(self.proof)

    @property
    def is_chosen(self) -> bool:
        """Whether it may stand in for its original where an opset is asked for."""
        return is_candidate(self.origin, self.proof_strength)

    @property
    def least_strength(self) -> str:
        """What has to be named for it to stand in for its original; empty where nothing helps."""
        demands = [""] if self.is_chosen else [*proofs.SUFFICIENT]
        rows = (least for least in demands if is_candidate(self.origin, self.proof_strength, least))
        return next(rows, "")

    @property
    def is_portable(self) -> bool:
        """Whether no build of ONNX Runtime that is offered here has a lower opset or IR version."""
        return PORTABLE.admits(self.opset, self.ir_version)

    @property
    def preference(self) -> tuple[bool, bool, int]:
        """Order of upgraded variants; the greatest is offered first.

        One that may stand in for the original, then a portable one, then one of a higher opset.
        """
        return self.is_chosen, self.is_portable, self.opset or 0

    @property
    def proof_sentence(self) -> str:
        """Sentence about the proof of an upgraded variant; empty for others."""
        if self.origin != VariantOrigin.UPGRADED:
            return ""
        proof = self.statement
        return proofs.WORDS[proofs.Strength.EARLIER_METHOD] if proof is None else proof.sentence
