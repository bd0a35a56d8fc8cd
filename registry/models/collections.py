"""Collections: named, ordered lists of models that a namespace keeps, with a note for each model.

The positions of a collection are a small range and unique in it, so the database itself holds a
collection to its largest size.
"""

from __future__ import annotations

from typing import Self

from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models import Q
from django.utils import timezone

from registry.models.constraints import at_most, matches, one_of
from registry.models.datasets import DATASET_SLUG
from registry.models.namespaces import Namespace
from registry.models.registered_models import RegisteredModel, Visibility
from registry.models.users import User

MOST_ENTRIES = 200
LONGEST_TITLE = 120
LONGEST_DESCRIPTION = 2_000
LONGEST_NOTE = 500
# No dot, so that an address with an ending names one thing; lower case, as IRIs have it.
COLLECTION_SLUG = DATASET_SLUG


class CollectionQuerySet(models.QuerySet["Collection"]):
    def visible_to(self, actor: User | AnonymousUser) -> Self:
        """Collections that ``actor`` may know of: public ones, and those of their namespaces."""
        public = Q(visibility=Visibility.PUBLIC)
        if not actor.is_authenticated:
            return self.filter(public)
        if actor.is_admin:
            return self
        own = Q(namespace__in=Namespace.objects.filter(memberships__user=actor))
        if actor.reach:
            own &= actor.reach.rows()
        return self.filter(public | own)


class Collection(models.Model):
    """A list of models, such as ``zoo/small-classifiers``."""

    Visibility = Visibility

    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="collections")
    slug = models.CharField(max_length=96)
    title = models.CharField(max_length=LONGEST_TITLE)
    description = models.TextField(blank=True, default="", help_text="plain text")
    visibility = models.CharField(
        max_length=8, choices=Visibility.choices, default=Visibility.PUBLIC
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(
        default=timezone.now, help_text="the last change that every reader of it can see"
    )

    objects = CollectionQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["namespace", "slug"], name="collection_slug_unique"),
            matches("slug", COLLECTION_SLUG, "collection"),
            one_of("visibility", Visibility, "collection"),
            models.CheckConstraint(condition=~Q(title=""), name="collection_has_title"),
            at_most("title", LONGEST_TITLE, "collection"),
            at_most("description", LONGEST_DESCRIPTION, "collection"),
        ]

    def __str__(self) -> str:
        return self.ref

    @property
    def ref(self) -> str:
        return f"{self.namespace.slug}/{self.slug}"

    @property
    def is_public(self) -> bool:
        """Whether every guest may see it."""
        return self.visibility == Visibility.PUBLIC


class CollectionEntry(models.Model):
    """A model in a collection: its place, and why it is there."""

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="entries")
    model = models.ForeignKey(RegisteredModel, models.CASCADE, related_name="collection_entries")
    position = models.PositiveSmallIntegerField()
    note = models.CharField(max_length=LONGEST_NOTE, blank=True, default="")
    added_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["position", "pk"]
        verbose_name_plural = "collection entries"
        constraints = [
            models.UniqueConstraint(
                fields=["collection", "model"], name="collectionentry_model_unique"
            ),
            models.UniqueConstraint(
                fields=["collection", "position"], name="collectionentry_position_unique"
            ),
            models.CheckConstraint(
                condition=Q(position__lt=MOST_ENTRIES), name="collectionentry_position_in_range"
            ),
            at_most("note", LONGEST_NOTE, "collectionentry"),
        ]

    def __str__(self) -> str:
        return f"model {self.model_id} in collection {self.collection_id}"
