"""Named lines of versions, and the names that may never be given again."""

from __future__ import annotations

from typing import Any, Self

from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from registry.models.constraints import matches, one_of
from registry.models.namespaces import SLUG, Namespace
from registry.models.users import User

# Characters of the reason of a deletion.
LONGEST_REASON = 300


def listed_for_everybody(prefix: str = "") -> Q:
    """The condition that every guest may see a model: public, published once, not deleted."""
    return Q(
        **{
            f"{prefix}visibility": Visibility.PUBLIC,
            f"{prefix}first_published_at__isnull": False,
            f"{prefix}deleted_at": None,
        }
    )


def has_files(prefix: str = "") -> Q:
    """The condition that the files of a model are kept: it is not deleted, or can be restored."""
    return Q(**{f"{prefix}deleted_at": None}) | Q(**{f"{prefix}restorable_until__isnull": False})


def shared_with(actor: User) -> models.QuerySet[Any, Any]:
    """The keys of the models that ``actor`` sees while they are private, without being a member.

    A token carries no access to models beyond its limits that its user was granted.
    """
    rows = actor.access_requests.filter(status="accepted", covers_private=True)
    if actor.reach:
        rows = rows.filter(actor.reach.rows(namespace="model__namespace", model="model"))
    return rows.order_by().values_list("model", flat=True)


class RegisteredModelQuerySet(models.QuerySet["RegisteredModel"]):
    def visible_to(self, actor: User | AnonymousUser) -> Self:
        """Models that ``actor`` may know of: public ones with something to read, and their own.

        Beside them those that a maintainer shared with ``actor``.
        """
        rows = self.filter(deleted_at=None)
        public = listed_for_everybody() | Q(visibility=Visibility.PUBLIC, opened_at__isnull=False)
        if not actor.is_authenticated:
            return rows.filter(public)
        if actor.is_admin:
            return rows
        own = Q(namespace__in=Namespace.objects.filter(memberships__user=actor))
        if actor.reach:
            own &= actor.reach.rows(model="pk")
        return rows.filter(public | own | Q(pk__in=shared_with(actor)))

    def known_to(self, actor: User | AnonymousUser) -> Self:
        """Models that ``actor`` may know of, and deleted ones that left a tombstone."""
        return self.filter(has_tombstone=True) | self.visible_to(actor)

    def readable_by(self, actor: User | AnonymousUser) -> Self:
        """Of these, the models whose files ``actor`` may have: open ones, and who let them in.

        Members of a namespace need no permission. A token carries no leave for models beyond its
        limits that its user was given.
        """
        is_open = Q(gate=Gate.OPEN)
        if not actor.is_authenticated:
            return self.filter(is_open)
        if actor.is_admin:
            return self
        let_in = self.model.objects.filter(
            access_requests__user=actor, access_requests__status="accepted"
        )
        own = Q(namespace__in=Namespace.objects.filter(memberships__user=actor))
        own |= Q(pk__in=let_in.values("pk"))
        if actor.reach:
            own &= actor.reach.rows(model="pk")
        return self.filter(is_open | own)


class Visibility(models.TextChoices):
    PUBLIC = "public"
    PRIVATE = "private"


class Gate(models.TextChoices):
    """Who may have a model's files: everyone, everyone on request, or users with granted access."""

    OPEN = "open"
    AUTO = "auto"
    MANUAL = "manual"


class RegisteredModel(models.Model):
    """A named line of versions, such as ``zoo/resnet50``."""

    Visibility = Visibility
    Gate = Gate

    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="models")
    name = models.CharField(max_length=96)
    visibility = models.CharField(
        max_length=8, choices=Visibility.choices, default=Visibility.PUBLIC
    )
    gate = models.CharField(max_length=8, choices=Gate.choices, default=Gate.OPEN)
    summary = models.CharField(max_length=300, blank=True, default="")
    license = models.CharField(max_length=64, blank=True, default="")
    task = models.CharField(max_length=64, blank=True, default="")
    keywords = models.JSONField(default=list, blank=True)
    next_number = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    first_published_at = models.DateTimeField(null=True, blank=True)
    opened_at = models.DateTimeField(
        null=True, blank=True, help_text="when the first commit without an ONNX model was made"
    )
    deleted_at = models.DateTimeField(null=True, blank=True)
    deletion_reason = models.CharField(
        max_length=LONGEST_REASON, blank=True, default="", db_default=""
    )
    restorable_until = models.DateTimeField(
        null=True, blank=True, help_text="deleted by a token, and owners may restore it so long"
    )
    has_tombstone = models.BooleanField(
        default=False,
        db_default=False,
        help_text="deleted, and guests may read what the address had, who deleted it and why",
    )

    objects = RegisteredModelQuerySet.as_manager()

    class Meta:
        ordering = ["-updated_at", "-pk"]
        indexes = [
            models.Index(
                fields=["restorable_until"],
                condition=Q(restorable_until__isnull=False),
                name="registeredmodel_restorable",
            ),
            models.Index(
                fields=["opened_at"],
                condition=Q(opened_at__isnull=False, first_published_at=None),
                name="registeredmodel_unpublished",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                "namespace",
                Lower("name"),
                condition=Q(deleted_at=None),
                name="registeredmodel_name_unique",
            ),
            one_of("visibility", Visibility, "registeredmodel"),
            one_of("gate", Gate, "registeredmodel"),
            matches("name", SLUG, "registeredmodel"),
            models.CheckConstraint(
                condition=Q(has_tombstone=False)
                | Q(
                    deleted_at__isnull=False,
                    first_published_at__isnull=False,
                    visibility=Visibility.PUBLIC,
                ),
                name="registeredmodel_tombstone_of_public",
            ),
            models.CheckConstraint(
                condition=Q(restorable_until=None) | Q(deleted_at__isnull=False),
                name="registeredmodel_restorable_is_deleted",
            ),
            models.CheckConstraint(
                condition=Q(next_number__gte=1), name="registeredmodel_next_number_positive"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.namespace.slug}/{self.name}"

    @property
    def is_public(self) -> bool:
        """Whether every guest may see it: public, published once, not deleted."""
        return (
            self.visibility == Visibility.PUBLIC
            and self.first_published_at is not None
            and self.deleted_at is None
        )

    @property
    def downloads(self) -> int:
        """How often files of it were downloaded, all versions together, as last written."""
        count = getattr(self, "download_count", None)
        return count.downloads if count else 0

    @property
    def is_gated(self) -> bool:
        """Whether access to the files is restricted; page, card and metadata are for everyone."""
        return self.gate != Gate.OPEN

    @property
    def is_protected(self) -> bool:
        """Whether only some may have the files."""
        return not self.is_public or self.is_gated

    @property
    def ref(self) -> str:
        return f"{self.namespace.slug}/{self.name}"


class RetiredName(models.Model):
    """A name that is no model's any more: it leads to the model that had it, or to none.

    One that leads somewhere gives way to a new model of that name; one of a deleted model does not.
    """

    name = models.CharField(max_length=200, unique=True, help_text="namespace/name in lower case")
    spelt = models.CharField(
        max_length=200, blank=True, default="", help_text="the same as addresses had it"
    )
    moved_to = models.ForeignKey(
        RegisteredModel, models.CASCADE, null=True, blank=True, related_name="former_names"
    )
    at = models.DateTimeField(auto_now_add=True)

    # No model gets such a name again: it was that of a deleted model, or led to one.
    FINAL = Q(moved_to=None) | Q(moved_to__deleted_at__isnull=False)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            matches("name", r"^[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._-]*$", "retiredname"),
            models.CheckConstraint(
                condition=Q(spelt="") | Q(name=Lower("spelt")), name="retiredname_spelt_is_name"
            ),
        ]

    def __str__(self) -> str:
        return self.name
