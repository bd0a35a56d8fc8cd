"""Invitations: an e-mail address whose owner may make an account with the link that was sent."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from registry.models.constraints import HEX64, at_most, matches
from registry.models.namespaces import Membership, Namespace

LONGEST_EMAIL = 254


class Invitation(models.Model):
    """A link to sign up; ``digest`` is that of its secret, which the hub does not keep.

    An administrator sends one, perhaps with a role in a namespace; where sign-up is open, the owner
    of the address asks for one, and ``invited_by`` is empty.
    """

    email = models.EmailField(max_length=LONGEST_EMAIL)
    digest = models.CharField(max_length=64, unique=True)
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="invitations"
    )
    namespace = models.ForeignKey(Namespace, models.CASCADE, null=True, blank=True)
    role = models.CharField(
        max_length=10, choices=Membership.Role.choices, blank=True, default="", db_default=""
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            matches("digest", HEX64, "invitation"),
            at_most("email", LONGEST_EMAIL, "invitation"),
            models.CheckConstraint(
                condition=Q(role="", namespace=None)
                | Q(role__in=Membership.Role.values, namespace__isnull=False),
                name="invitation_role_in_namespace",
            ),
        ]

    def __str__(self) -> str:
        return f"invitation of {self.email}"
