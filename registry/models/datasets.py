"""Data sets as things of their own: what they hold, whose they are, under which terms.

An entry describes data; its versions, where it has any, hold files of them that never change.
"""

from __future__ import annotations

from functools import cached_property

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from hub.protocol.cards import PERSONAL_DATA
from hub.protocol.splits import Split, read_stored
from registry.models.blobs import Blob
from registry.models.constraints import HEX64, RELATIVE_PATH, matches, one_of
from registry.models.namespaces import Namespace

# No dot, so that an address with an ending names one thing; lower case, as IRIs have it.
DATASET_SLUG = r"^[a-z0-9]([a-z0-9_-]{0,94}[a-z0-9])?$"
# An address as RFC 3986 writes it: without a user's name, and percent-encoded where need be.
WEB_ADDRESS = r"^(https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?([/?#][!#-;=?-Z_a-z~]*)?)?$"


class PersonalData(models.TextChoices):
    """Whether data are about people; a missing statement never means no."""

    UNKNOWN = "unknown"
    YES = "yes"
    ANONYMISED = "anonymised"
    NO = "no"


class Dataset(models.Model):
    """A namespace's public description of a data set; its data are elsewhere, or in versions."""

    PersonalData = PersonalData

    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="datasets")
    slug = models.CharField(max_length=96, unique=True)
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True, default="")
    iri = models.CharField(
        max_length=500, blank=True, default="", help_text="the name that the world has for it"
    )
    license = models.CharField(max_length=64, blank=True, default="")
    personal_data = models.CharField(
        max_length=10, choices=PersonalData.choices, default=PersonalData.UNKNOWN
    )
    categories = models.JSONField(default=list, blank=True, help_text="terms of DPV's PD")
    legal_basis = models.CharField(max_length=64, blank=True, default="")
    source = models.CharField(max_length=500, blank=True, default="")
    rows = models.BigIntegerField(null=True, blank=True)
    size_bytes = models.BigIntegerField(null=True, blank=True)
    collected_on = models.DateField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    reason = models.TextField(blank=True, default="")
    title_hidden = models.BooleanField(
        default=False, db_default=False, help_text="the title is why it was withdrawn"
    )

    class Meta:
        ordering = ["slug", "pk"]
        constraints = [
            matches("slug", DATASET_SLUG, "dataset"),
            matches("iri", WEB_ADDRESS, "dataset"),
            one_of("personal_data", PersonalData, "dataset"),
            models.UniqueConstraint(Lower("iri"), condition=~Q(iri=""), name="dataset_iri_unique"),
            models.CheckConstraint(condition=~Q(title=""), name="dataset_has_title"),
            models.CheckConstraint(
                condition=Q(legal_basis="") | Q(personal_data="yes"),
                name="dataset_legal_basis_of_personal_data",
            ),
            models.CheckConstraint(
                condition=Q(rows=None) | Q(rows__gte=0), name="dataset_rows_not_negative"
            ),
            models.CheckConstraint(
                condition=Q(size_bytes=None) | Q(size_bytes__gte=0),
                name="dataset_size_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(withdrawn_at=None) | ~Q(reason=""), name="dataset_withdrawn_has_reason"
            ),
            models.CheckConstraint(
                condition=Q(title_hidden=False) | Q(withdrawn_at__isnull=False),
                name="dataset_title_hidden_when_withdrawn",
            ),
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def public_title(self) -> str:
        """Its title; its name where the title is why it was withdrawn."""
        return self.slug if self.title_hidden else self.title

    @property
    def is_about_people(self) -> bool:
        return self.personal_data == PersonalData.YES

    @property
    def personal_words(self) -> str:
        """Label of the status of its personal data."""
        return PERSONAL_DATA[self.personal_data]


class DatasetVersion(models.Model):
    """Files of a data set that never change, and how the rows of each split are read.

    ``sha256`` is the digest of its manifest: paths, digests and splits as canonical JSON.
    """

    dataset = models.ForeignKey(Dataset, models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    splits = models.JSONField(help_text="as hub.protocol.splits writes them")
    previews = models.JSONField(
        null=True, help_text="the first rows of its first tables; null until they are read"
    )
    message = models.CharField(max_length=500, blank=True, default="")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="dataset_versions"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["dataset", "number"], name="datasetversion_number_unique"
            ),
            models.UniqueConstraint(
                fields=["dataset", "sha256"], name="datasetversion_content_unique"
            ),
            models.CheckConstraint(
                condition=Q(number__gte=1), name="datasetversion_number_positive"
            ),
            matches("sha256", HEX64, "datasetversion"),
        ]

    def __str__(self) -> str:
        return f"{self.dataset.slug}@{self.number}"

    @cached_property
    def typed_splits(self) -> tuple[Split, ...]:
        """Its splits, in the order of their description."""
        return read_stored(self.splits)


class DatasetFile(models.Model):
    """A path inside a version of a data set, pointing at a blob."""

    version = models.ForeignKey(DatasetVersion, models.CASCADE, related_name="files")
    path = models.CharField(max_length=512)
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="dataset_files")

    class Meta:
        ordering = ["path", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["version", "path"], name="datasetfile_path_unique"),
            models.CheckConstraint(condition=RELATIVE_PATH, name="datasetfile_path_relative"),
        ]

    def __str__(self) -> str:
        return self.path
