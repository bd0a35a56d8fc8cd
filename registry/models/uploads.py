"""Bytes on their way in."""

from __future__ import annotations

import uuid
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from registry.models.blobs import Blob
from registry.models.constraints import one_of
from registry.models.namespaces import Namespace
from registry.models.registered_models import RegisteredModel
from registry.models.tokens import AccessToken
from registry.models.users import User


class UploadState(models.TextChoices):
    RECEIVING = "receiving"
    STORED = "stored"
    REFUSED = "refused"
    # Cancelled after its bytes were stored: no right to the blob, but counted until it is freed.
    ABANDONED = "abandoned"


class UploadQuerySet(models.QuerySet["Upload"]):
    def of(self, user: User) -> Self:
        """Uploads of a user that the token of the request reaches."""
        rows = self.filter(owner=user)
        if user.reach is None:
            return rows
        return rows.filter(
            user.reach.rows(namespace="model__namespace", model="model")
            | user.reach.rows(namespace="bound_to")
            | Q(token=user.access_token)
        )


class Upload(models.Model):
    """A resumable upload (tus 1.0); stays until it expires, as its owner's right to the blob."""

    State = UploadState

    uuid = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="uploads")
    # Set where the bytes were brought to one model, whose namespace they are counted for.
    model = models.ForeignKey(
        RegisteredModel, models.CASCADE, null=True, blank=True, related_name="uploads"
    )
    # Set where a token of one namespace brought the bytes: those of the namespace see them too.
    bound_to = models.ForeignKey(Namespace, models.CASCADE, null=True, blank=True, related_name="+")
    # A limited token sees, of the uploads to no model, those that it brought.
    token = models.ForeignKey(AccessToken, models.SET_NULL, null=True, blank=True, related_name="+")
    filename = models.CharField(max_length=512, blank=True, default="")
    length = models.BigIntegerField()
    offset = models.BigIntegerField(default=0)
    claimed_sha256 = models.CharField(max_length=64, blank=True, default="")
    state = models.CharField(max_length=10, choices=State.choices, default=State.RECEIVING)
    blob = models.ForeignKey(Blob, models.PROTECT, null=True, blank=True, related_name="uploads")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    objects = UploadQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(offset__gte=0) & Q(offset__lte=F("length")),
                name="upload_offset_within_length",
            ),
            one_of("state", UploadState, "upload"),
            models.CheckConstraint(
                condition=~Q(state="stored") | Q(blob__isnull=False),
                name="upload_stored_has_blob",
            ),
        ]

    def __str__(self) -> str:
        return str(self.uuid)


class Reservation(models.Model):
    """Room on the disk for bytes that a process is writing; gone when they are written."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="reservations"
    )
    namespace = models.ForeignKey(Namespace, models.CASCADE, null=True, related_name="reservations")
    size = models.BigIntegerField()
    expires_at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(condition=Q(size__gte=0), name="reservation_size_not_negative")
        ]

    def __str__(self) -> str:
        return f"{self.size} bytes"
