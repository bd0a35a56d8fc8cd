"""Paths inside a version, and the models that can be loaded from them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from registry.models.blobs import Blob
from registry.models.constraints import HEX40, matches, one_of
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
            models.CheckConstraint(
                condition=~Q(path="")
                & ~Q(path__startswith="/")
                & ~Q(path__endswith="/")
                & ~Q(path__contains="//")
                & ~Q(path__contains="\\")
                & ~Q(path__regex=r"(^|/)\.\.?(/|$)"),
                name="file_path_relative",
            ),
        ]

    def __str__(self) -> str:
        return self.path


class VariantOrigin(models.TextChoices):
    UPLOADED = "uploaded"
    UPGRADED = "upgraded"
    CONVERTED = "converted"


class Variant(models.Model):
    """One loadable ONNX model inside a version: uploaded, or derived by a job.

    An upgraded one has another opset and gives the same numbers; a converted one has another
    precision, and ``derivation`` says what that cost.
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
    facts = models.JSONField(default=dict)
    derived_from = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="derivatives"
    )
    derivation = models.JSONField(default=dict, blank=True)
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
        ]

    def __str__(self) -> str:
        return self.name
