"""The security log, sessions of accounts, and what directories and providers say of them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

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


class ScimClient(models.Model):
    """An identity provider that provisions accounts; its own account is the actor of its changes.

    Its tokens are those of the account, with the scope `PROVISION` alone.
    """

    account = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="scim_client"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.account.username


class ScimUser(models.Model):
    """What an identity provider says of an account that it made (RFC 7643, 4.1).

    ``user_name`` and ``external_id`` are the provider's; the account's own name is derived once.
    A user that the provider deleted keeps the row, so that ``external_id`` leads to the account
    if the provider creates it again.
    """

    client = models.ForeignKey(ScimClient, models.PROTECT, related_name="users")
    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="scim_user")
    user_name = models.CharField(max_length=254)
    external_id = models.CharField(max_length=254, blank=True, default="")
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                "client",
                Lower("user_name"),
                name="scimuser_user_name",
                condition=Q(deleted_at=None),
            ),
            models.UniqueConstraint(
                fields=["client", "external_id"],
                name="scimuser_external_id",
                condition=~Q(external_id=""),
            ),
        ]

    def __str__(self) -> str:
        return self.user_name


class ScimGroup(models.Model):
    """A group of an identity provider, whose members get the roles of HUB_OIDC_GROUPS."""

    client = models.ForeignKey(ScimClient, models.PROTECT, related_name="groups")
    display_name = models.CharField(max_length=254)
    external_id = models.CharField(max_length=254, blank=True, default="")
    members = models.ManyToManyField(ScimUser, through="ScimMember", related_name="groups")
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint("client", Lower("display_name"), name="scimgroup_display_name"),
            models.UniqueConstraint(
                fields=["client", "external_id"],
                name="scimgroup_external_id",
                condition=~Q(external_id=""),
            ),
        ]

    def __str__(self) -> str:
        return self.display_name


class ScimMember(models.Model):
    """A user in a group of an identity provider."""

    group = models.ForeignKey(ScimGroup, models.CASCADE)
    user = models.ForeignKey(ScimUser, models.CASCADE)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["group", "user"], name="scimmember_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.group}"
