"""Mirrors: models that this hub takes from another server, and where each version came from."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from registry.models.constraints import HEX64, one_of, or_empty
from registry.models.namespaces import Namespace
from registry.models.registered_models import RegisteredModel, Visibility
from registry.models.versions import Version

SHORTEST_SECONDS = 60
LONGEST_SECONDS = 30 * 86_400


class MirrorProtocol(models.TextChoices):
    HUB = "hub"
    HUGGINGFACE = "huggingface"


class MirrorScope(models.TextChoices):
    MODEL = "model"
    NAMESPACE = "namespace"
    SEARCH = "search"


class Mirror(models.Model):
    """One source of one namespace, and how its last synchronisation ended."""

    Protocol = MirrorProtocol
    Scope = MirrorScope

    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="mirrors")
    url = models.CharField(max_length=300, help_text="origin of the source, without a path")
    protocol = models.CharField(max_length=12, choices=MirrorProtocol.choices)
    scope = models.CharField(max_length=10, choices=MirrorScope.choices)
    selector = models.CharField(max_length=200, help_text="model, namespace or search text there")
    visibility = models.CharField(
        max_length=8,
        choices=Visibility.choices,
        blank=True,
        default="",
        help_text="of the models made; empty: as at the source",
    )
    pull_through = models.BooleanField(default=False)
    interval_seconds = models.PositiveIntegerField(default=3600)
    is_paused = models.BooleanField(default=False)
    sealed_token = models.TextField(blank=True, default="")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="mirrors")
    created_at = models.DateTimeField(auto_now_add=True)
    next_at = models.DateTimeField(null=True, blank=True)
    claim = models.UUIDField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    synced_at = models.DateTimeField(null=True, blank=True)
    failures = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True, default="")
    step = models.CharField(max_length=300, blank=True, default="")
    received_bytes = models.BigIntegerField(default=0, help_text="of the last synchronisation")

    class Meta:
        ordering = ["pk"]
        constraints = [
            one_of("protocol", MirrorProtocol, "mirror"),
            one_of("scope", MirrorScope, "mirror"),
            models.UniqueConstraint(
                fields=["namespace", "url", "scope", "selector"], name="mirror_source_unique"
            ),
            models.UniqueConstraint(
                fields=["namespace"], condition=Q(pull_through=True), name="mirror_pull_unique"
            ),
            models.CheckConstraint(
                condition=Q(pull_through=False) | Q(scope="namespace"),
                name="mirror_pull_has_namespace",
            ),
            models.CheckConstraint(
                condition=Q(interval_seconds__gte=SHORTEST_SECONDS)
                & Q(interval_seconds__lte=LONGEST_SECONDS),
                name="mirror_interval_bounded",
            ),
            models.CheckConstraint(
                condition=Q(visibility="") | Q(visibility__in=Visibility.values),
                name="mirror_visibility_known",
            ),
        ]
        indexes = [models.Index(fields=["is_paused", "next_at"], name="mirror_due")]

    def __str__(self) -> str:
        return self.source

    @property
    def source(self) -> str:
        """The address of what is mirrored, as people write it."""
        if self.scope == MirrorScope.SEARCH:
            return f"{self.url} search {self.selector!r}"
        return f"{self.url}/{self.selector}"

    @property
    def has_token(self) -> bool:
        """Whether requests to the source carry a token."""
        return bool(self.sealed_token)


class SourceHead(models.Model):
    """The last verified head of the transparency log of a mirror's source, and the log's key."""

    mirror = models.OneToOneField(
        Mirror, models.CASCADE, primary_key=True, related_name="source_head"
    )
    key = models.TextField()
    checkpoint = models.TextField()
    at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"head of the source of mirror {self.pk}"


class MirroredModel(models.Model):
    """A model of a mirror, by its name at the source; without ``model`` until it is there."""

    mirror = models.ForeignKey(Mirror, models.CASCADE, related_name="mirrored")
    ref = models.CharField(max_length=200)
    model = models.ForeignKey(
        RegisteredModel, models.CASCADE, null=True, blank=True, related_name="mirrored"
    )
    problem = models.TextField(blank=True, default="")
    requested_at = models.DateTimeField(null=True, blank=True)
    synced_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["ref", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["mirror", "ref"], name="mirroredmodel_unique"),
            models.UniqueConstraint(
                fields=["model"], condition=Q(model__isnull=False), name="mirroredmodel_one_source"
            ),
        ]

    def __str__(self) -> str:
        return self.ref

    def is_settled(self, absent_for: timedelta) -> bool:
        """Whether it is here, or lately was not at the source."""
        if self.problem and self.model_id is None:
            since = self.requested_at or timezone.now()
            return timezone.now() - since < absent_for
        return self.synced_at is not None or bool(self.problem)


class MirroredState(models.TextChoices):
    """What became here of a version of a source."""

    CHECKING = "checking"
    STORED = "stored"
    REFUSED = "refused"
    CONFLICT = "conflict"
    FAILED = "failed"


class MirroredVersion(models.Model):
    """Where a version came from, as its source states it; kept when the mirror is removed."""

    State = MirroredState

    model = models.ForeignKey(RegisteredModel, models.CASCADE, related_name="mirrored_versions")
    number = models.PositiveIntegerField()
    version = models.OneToOneField(
        Version, models.SET_NULL, null=True, blank=True, related_name="mirrored_from"
    )
    state = models.CharField(max_length=10, choices=MirroredState.choices)
    problem = models.TextField(blank=True, default="")
    url = models.CharField(max_length=300)
    ref = models.CharField(max_length=200)
    source_state = models.CharField(max_length=10, default="published")
    commit_id = models.CharField(max_length=40, blank=True, default="")
    manifest_sha256 = models.CharField(max_length=64, blank=True, default="")
    author = models.CharField(max_length=300, blank=True, default="")
    published_at = models.CharField(max_length=40, blank=True, default="")
    statements = models.JSONField(default=list, blank=True)
    stated_at = models.DateTimeField(null=True, blank=True)
    fetched_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["model_id", "number", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["model", "number"], name="mirroredversion_unique"),
            one_of("state", MirroredState, "mirroredversion"),
            or_empty("manifest_sha256", HEX64, "mirroredversion"),
            models.CheckConstraint(
                condition=~Q(state__in=["refused", "conflict", "failed"]) | ~Q(problem=""),
                name="mirroredversion_problem_stated",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.ref}@{self.number} of {self.url}"

    @property
    def address(self) -> str:
        """Where people read about the model at its source."""
        return f"{self.url}/{self.ref}" if self.url else ""
