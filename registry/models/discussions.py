"""Discussions of models, and the comments in them.

A discussion may be about one version, one published result of that version, and one node of its
graph. Who does not see the version does not see the discussion.
"""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models import Q
from django.utils import timezone

from registry.models.constraints import at_most, one_of
from registry.models.registered_models import RegisteredModel
from registry.models.users import User
from registry.models.versions import Version

LONGEST_TITLE = 200
LONGEST_NODE = 255
LONGEST_COMMENT = 20_000
LONGEST_REASON = 300
MOST_COMMENTS = 1_000


class DiscussionQuerySet(models.QuerySet["Discussion"]):
    def visible_to(self, actor: User | AnonymousUser) -> Self:
        """Discussions of models that ``actor`` sees; those of a version only if they see it."""
        return self.filter(
            Q(version=None) | Q(version__in=Version.objects.visible_to(actor)),
            model__in=RegisteredModel.objects.visible_to(actor),
        )


class DiscussionStatus(models.TextChoices):
    OPEN = "open"
    CLOSED = "closed"


class EvidenceKind(models.TextChoices):
    """Results that a discussion can be about."""

    BENCHMARK = "benchmark"
    CONFORMANCE = "conformance"
    EVALUATION = "evaluation"


class DiscussionCount(models.Model):
    """The number of the last discussion of a model, so that none is given twice."""

    model = models.OneToOneField(
        RegisteredModel, models.CASCADE, primary_key=True, related_name="discussion_count"
    )
    last_number = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.last_number} discussions of model {self.model_id}"


class Discussion(models.Model):
    """A question or remark about a model, with comments; its first comment opens it."""

    Status = DiscussionStatus
    Evidence = EvidenceKind

    model = models.ForeignKey(RegisteredModel, models.CASCADE, related_name="discussions")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=LONGEST_TITLE)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="discussions")
    created_at = models.DateTimeField(default=timezone.now)
    edited_at = models.DateTimeField(
        null=True, blank=True, help_text="the last change of its title"
    )
    updated_at = models.DateTimeField(
        default=timezone.now, help_text="the last comment or change of status"
    )
    comment_count = models.PositiveSmallIntegerField(default=0)
    status = models.CharField(
        max_length=6, choices=DiscussionStatus.choices, default=DiscussionStatus.OPEN
    )
    closed_at = models.DateTimeField(null=True, blank=True)
    closed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+"
    )
    version = models.ForeignKey(
        Version, models.CASCADE, null=True, blank=True, related_name="discussions"
    )
    evidence_kind = models.CharField(
        max_length=11, choices=EvidenceKind.choices, blank=True, default=""
    )
    evidence_id = models.PositiveBigIntegerField(null=True, blank=True)
    node = models.CharField(
        max_length=LONGEST_NODE, blank=True, default="", help_text="name of a node of its graph"
    )

    objects = DiscussionQuerySet.as_manager()

    class Meta:
        ordering = ["-number", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["model", "number"], name="discussion_number_unique"),
            models.CheckConstraint(condition=Q(number__gte=1), name="discussion_number_positive"),
            models.CheckConstraint(
                condition=~Q(title="") & ~Q(title__contains="\n"), name="discussion_has_title"
            ),
            at_most("title", LONGEST_TITLE, "discussion"),
            at_most("node", LONGEST_NODE, "discussion"),
            one_of("status", DiscussionStatus, "discussion"),
            models.CheckConstraint(
                condition=Q(status="open", closed_at=None, closed_by=None)
                | Q(status="closed", closed_at__isnull=False, closed_by__isnull=False),
                name="discussion_closed_has_time",
            ),
            models.CheckConstraint(
                condition=Q(evidence_kind="", evidence_id=None)
                | Q(
                    evidence_kind__in=EvidenceKind.values,
                    evidence_id__isnull=False,
                    version__isnull=False,
                ),
                name="discussion_evidence_of_version",
            ),
            models.CheckConstraint(
                condition=Q(node="") | Q(version__isnull=False), name="discussion_node_of_version"
            ),
            models.CheckConstraint(
                condition=Q(comment_count__lte=MOST_COMMENTS), name="discussion_comment_count"
            ),
        ]
        indexes = [
            models.Index(fields=["model", "status", "-number"], name="discussion_by_status"),
            models.Index(
                fields=["evidence_kind", "evidence_id"],
                condition=~Q(evidence_kind=""),
                name="discussion_by_evidence",
            ),
            models.Index(
                fields=["author", "model"],
                condition=Q(status="open"),
                name="discussion_open_by_author",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.model.ref}#{self.number}"

    @property
    def is_open(self) -> bool:
        return self.status == DiscussionStatus.OPEN


class Comment(models.Model):
    """A comment, written in Markdown. The body of a hidden one is for moderators alone."""

    discussion = models.ForeignKey(Discussion, models.CASCADE, related_name="comments")
    number = models.PositiveSmallIntegerField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="comments")
    body = models.TextField(help_text="Markdown")
    created_at = models.DateTimeField(default=timezone.now)
    edited_at = models.DateTimeField(null=True, blank=True)
    hidden_at = models.DateTimeField(null=True, blank=True)
    hidden_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+"
    )
    hidden_reason = models.CharField(max_length=LONGEST_REASON, blank=True, default="")

    class Meta:
        ordering = ["number", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["discussion", "number"], name="comment_number_unique"),
            models.CheckConstraint(
                condition=Q(number__gte=1, number__lte=MOST_COMMENTS), name="comment_number_range"
            ),
            models.CheckConstraint(condition=~Q(body=""), name="comment_has_body"),
            at_most("body", LONGEST_COMMENT, "comment"),
            at_most("hidden_reason", LONGEST_REASON, "comment"),
            models.CheckConstraint(
                condition=Q(hidden_at=None, hidden_by=None, hidden_reason="")
                | Q(hidden_at__isnull=False, hidden_by__isnull=False),
                name="comment_hidden_by_someone",
            ),
        ]

    def __str__(self) -> str:
        return f"comment {self.number} of discussion {self.discussion_id}"
