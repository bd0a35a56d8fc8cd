"""The security log, sessions of accounts, and their entries in a directory."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from registry.models import RegisteredModel


class SecurityEvent(models.Model):
    """An entry of the security log; a closed account and a deleted model keep their rows.

    ``kind`` is a kind of ``registry.core.security_log``, or the verb of an event of the same
    request and subject. ``token`` is the beginning of a token and its name: its row may be gone.
    """

    at = models.DateTimeField()
    kind = models.CharField(max_length=40)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="security_events",
    )
    address = models.CharField(max_length=64, blank=True, default="")
    token = models.CharField(max_length=120, blank=True, default="")
    request_id = models.CharField(max_length=64, blank=True, default="")
    subject_kind = models.CharField(max_length=20, blank=True, default="")
    subject_id = models.CharField(max_length=40, blank=True, default="")
    model = models.ForeignKey(
        RegisteredModel, models.PROTECT, null=True, blank=True, related_name="security_events"
    )
    data = models.JSONField(default=dict)

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["at"], name="securityevent_by_time"),
            models.Index(fields=["kind", "-id"], name="securityevent_by_kind"),
            models.Index(fields=["address", "-id"], name="securityevent_by_address"),
            models.Index(fields=["subject_kind", "subject_id"], name="securityevent_by_subject"),
            models.Index(
                fields=["request_id"], name="securityevent_by_request", condition=~Q(request_id="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} at {self.at}"


class SecurityRetention(models.Model):
    """The single row that says which entries of the security log may be deleted: those before."""

    before = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(pk=1), name="securityretention_single"),
        ]

    def __str__(self) -> str:
        return f"entries before {self.before}"


class AccountSession(models.Model):
    """A session of Django: its user, device and address, and when it was last used."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="account_sessions"
    )
    session_key = models.CharField(max_length=40, unique=True)
    address = models.CharField(max_length=64, blank=True, default="")
    device = models.CharField(max_length=200, blank=True, default="", help_text="its User-Agent")
    created_at = models.DateTimeField(auto_now_add=True)
    last_seen_at = models.DateTimeField()
    # Whether a request that lists sessions is made with it.
    is_current = False

    class Meta:
        ordering = ["-last_seen_at", "-pk"]

    def __str__(self) -> str:
        return f"session of {self.user} from {self.address}"


class DirectoryAccount(models.Model):
    """The account of a person in the LDAP directory, by the stable id of their entry."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="directory_account"
    )
    key = models.CharField(max_length=200, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(key=""), name="directoryaccount_with_key"),
        ]

    def __str__(self) -> str:
        return f"{self.user} in the directory"
