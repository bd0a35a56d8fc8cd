"""Trusted publishers, and which identity tokens were used."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from registry.models import RegisteredModel, User
from registry.models.constraints import HEX64, matches, one_of, or_empty

# Names as GitHub and GitLab have them, with groups inside groups; case is ignored there.
REPOSITORY = r"^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+$"
ENVIRONMENT = r"^[A-Za-z0-9_./ -]+$"
_PART = r"\.?[A-Za-z0-9_-][A-Za-z0-9_.-]*"
WORKFLOW = rf"^({_PART}/)*{_PART}\.ya?ml$"


class Provider(models.TextChoices):
    """Whose workflows: they name their claims differently."""

    GITHUB = "github", "GitHub"
    GITLAB = "gitlab", "GitLab"


class TrustedPublisher(models.Model):
    """A workflow that may act as a service account, for a model or for the whole organisation.

    ``owner_id`` is the provider's number of the repository's owner, kept at the first use: a name
    that another owner takes later is another publisher.
    """

    Provider = Provider

    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="trusted_publishers"
    )
    model = models.ForeignKey(RegisteredModel, models.CASCADE, null=True, blank=True)
    provider = models.CharField(max_length=8, choices=Provider.choices)
    issuer = models.CharField(max_length=200)
    repository = models.CharField(max_length=200)
    workflow = models.CharField(max_length=200)
    environment = models.CharField(max_length=100, blank=True, default="")
    owner_id = models.CharField(max_length=40, blank=True, default="")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            one_of("provider", Provider, "trustedpublisher"),
            matches("repository", REPOSITORY, "trustedpublisher"),
            matches("workflow", WORKFLOW, "trustedpublisher"),
            or_empty("environment", ENVIRONMENT, "trustedpublisher"),
            models.UniqueConstraint(
                fields=["account", "model", "issuer", "repository", "workflow", "environment"],
                name="trustedpublisher_of_model",
            ),
            models.UniqueConstraint(
                fields=["account", "issuer", "repository", "workflow", "environment"],
                condition=Q(model=None),
                name="trustedpublisher_of_organisation",
            ),
        ]
        indexes = [
            models.Index(fields=["issuer", "repository"], name="trustedpublisher_by_repository")
        ]

    def __str__(self) -> str:
        return f"{self.get_provider_display()} {self.repository} {self.workflow}"


class UsedIdentity(models.Model):
    """The digest of an identity token's issuer and id (`jti`), which is used once."""

    digest = models.CharField(max_length=64, primary_key=True)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        ordering = ["digest"]
        verbose_name_plural = "used identities"
        constraints = [matches("digest", HEX64, "usedidentity")]

    def __str__(self) -> str:
        return self.digest
