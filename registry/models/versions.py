"""Versions, and the checks that stand between a draft and its publication."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models import Q

from hub.protocol import stored
from hub.protocol.cards import Card
from registry.models.constraints import one_of
from registry.models.registered_models import Gate, RegisteredModel, listed_for_everybody
from registry.models.users import User


class VersionQuerySet(models.QuerySet["Version"]):
    def visible_to(self, actor: User | AnonymousUser) -> Self:
        """Released versions of visible models, and every version to members above reader."""
        rows = self.filter(model__in=RegisteredModel.objects.visible_to(actor))
        if not actor.is_authenticated:
            return rows.filter(state__in=Version.VISIBLE)
        if actor.is_admin:
            return rows
        writing = actor.memberships.exclude(role="reader")
        own = Q(model__namespace__in=writing.values("namespace_id"))
        if actor.reach:
            own &= actor.reach.rows(namespace="model__namespace", model="model")
        return rows.filter(Q(state__in=Version.VISIBLE) | own)

    def open_to_anyone(self) -> Self:
        """Served versions of public models whose files every guest may have."""
        return self.filter(
            listed_for_everybody("model__"), state__in=Version.SERVED, model__gate=Gate.OPEN
        )


class VersionState(models.TextChoices):
    DRAFT = "draft"
    SUBMITTED = "submitted"
    PUBLISHED = "published"
    YANKED = "yanked"
    WITHDRAWN = "withdrawn"


class Version(models.Model):
    """One immutable commit of a model's files; a draft until it is submitted."""

    State = VersionState

    # What everyone who sees the model may know of; of a withdrawn version no byte is served.
    VISIBLE = (State.PUBLISHED, State.YANKED, State.WITHDRAWN)
    SERVED = (State.PUBLISHED, State.YANKED)

    model = models.ForeignKey(RegisteredModel, models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    commit_id = models.CharField(max_length=40, null=True, blank=True)  # noqa: DJ001 - absent while a draft
    tree_id = models.CharField(max_length=40, blank=True, default="")
    parent = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="children"
    )
    branch = models.CharField(max_length=100, default="main")
    message = models.CharField(max_length=500, blank=True, default="")
    label = models.CharField(max_length=64, blank=True, default="")
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    publish_requested = models.BooleanField(default=False)
    card = models.JSONField(default=dict, blank=True)
    readme = models.TextField(blank=True, default="")
    manifest_sha256 = models.CharField(max_length=64, blank=True, default="")
    notes = models.TextField(blank=True, default="")
    reason = models.TextField(blank=True, default="")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="versions"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    published_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = VersionQuerySet.as_manager()

    class Meta:
        ordering = ["-number", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["model", "number"], name="version_number_unique"),
            models.UniqueConstraint(fields=["model", "commit_id"], name="version_commit_unique"),
            models.UniqueConstraint(
                fields=["model", "label"], condition=~Q(label=""), name="version_label_unique"
            ),
            one_of("state", VersionState, "version"),
            models.CheckConstraint(
                condition=Q(state="draft")
                | (Q(manifest_sha256__regex=r"^[0-9a-f]{64}$") & Q(commit_id__isnull=False)),
                name="version_frozen_has_manifest",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["yanked", "withdrawn"]) | ~Q(reason=""),
                name="version_ended_has_reason",
            ),
            models.CheckConstraint(condition=Q(number__gte=1), name="version_number_positive"),
            models.CheckConstraint(
                condition=~Q(state__in=["published", "yanked"]) | Q(published_at__isnull=False),
                name="version_published_has_time",
            ),
        ]
        indexes = [
            models.Index(fields=["model", "state", "-number"], name="version_by_state"),
        ]

    def __str__(self) -> str:
        return self.ref

    @property
    def ref(self) -> str:
        return f"{self.model.ref}@{self.number}"

    @property
    def aliases(self) -> list[str]:
        """The aliases that name it."""
        return self._names("alias")

    @property
    def tags(self) -> list[str]:
        """The tags that name it."""
        return self._names("tag")

    @property
    def branches_at(self) -> list[str]:
        """The branches of which it is the newest version."""
        return self._names("branch")

    def _names(self, kind: str) -> list[str]:
        return [ref.name for ref in self.refs.all() if ref.kind == kind]

    @cached_property
    def typed_card(self) -> Card:
        """What the front matter of its card and the results in its files declare."""
        return Card.read(self.card)

    def ports_of(self, path: str) -> dict[str, dict[str, Any]]:
        """What its card declares of the inputs and outputs of a file, without what it leaves empty.

        Those of its part go before common ones.
        """
        card = stored.mapping(self.card)
        own = stored.mapping(stored.mapping(card.get("parts")).get(path))
        ports = {
            key: stored.mapping(card.get(key)) | stored.mapping(own.get(key))
            for key in ("inputs", "outputs")
        }
        return {key: declared for key, declared in ports.items() if declared}

    @property
    def is_draft(self) -> bool:
        return self.state == self.State.DRAFT

    @property
    def is_served(self) -> bool:
        return self.state in self.SERVED


class DraftKey(models.Model):
    """The Idempotency-Key of a request that opened a draft: its repeat gets the same version."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="draft_keys")
    key = models.UUIDField()
    version = models.ForeignKey(Version, models.CASCADE, related_name="keys")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="draftkey_unique")]
        indexes = [models.Index(fields=["created_at"], name="draftkey_by_age")]

    def __str__(self) -> str:
        return f"{self.key} of {self.owner_id}"


class CheckOutcome(models.TextChoices):
    PENDING = "pending"
    PASSED = "passed"
    FAILED = "failed"
    ERRORED = "errored"


class Check(models.Model):
    """A gate that a version must pass before it is published."""

    Outcome = CheckOutcome

    version = models.ForeignKey(Version, models.CASCADE, related_name="checks")
    kind = models.CharField(max_length=32)
    required = models.BooleanField(default=True)
    outcome = models.CharField(max_length=8, choices=Outcome.choices, default=Outcome.PENDING)
    report = models.JSONField(null=True, blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["kind", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["version", "kind"], name="check_kind_unique"),
            one_of("outcome", CheckOutcome, "check"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.version_id}: {self.outcome}"
