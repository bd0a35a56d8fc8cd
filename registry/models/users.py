"""People, and the service accounts that act for organisations."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth import password_validation
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import AbstractUser
from django.contrib.auth.models import UserManager as DjangoUserManager
from django.db import models, transaction
from django.db.models import Q

from registry.models.tokens import AccessToken, Reach

# The fewest characters of a password that protects an account alone.
LONG_PASSWORD = 15


class UserManager(DjangoUserManager["User"]):
    """Makes accounts whose passwords pass the rules, `manage.py createsuperuser` included."""

    use_in_migrations = False

    def create_user(
        self, username: str, email: str | None = None, password: str | None = None, **fields: Any
    ) -> User:
        """Make an account; raises ValidationError where the password breaks a rule."""
        self._expect_password(username, email, password)
        return super().create_user(username, email, password, **fields)

    def create_superuser(
        self, username: str, email: str | None = None, password: str | None = None, **fields: Any
    ) -> User:
        """Make an administrator; raises ValidationError where the password breaks a rule."""
        self._expect_password(username, email, password)
        return super().create_superuser(username, email, password, **fields)

    def _expect_password(self, username: str, email: str | None, password: str | None) -> None:
        if password is not None:
            account = self.model(username=username, email=email or "")
            password_validation.validate_password(password, account)


class User(AbstractUser):
    """A user account; closing it anonymises the row, which events still name."""

    # Someone else knows the password, or it breaks a rule: sign-in leads to its change.
    must_change_password = models.BooleanField(default=False, db_default=False)
    # It has fewer than LONG_PASSWORD characters, so it needs a second factor beside it.
    has_short_password = models.BooleanField(default=False, db_default=False)

    # The user name of before the account was erased, where ids of git commits are made of it.
    commit_name = models.CharField(max_length=150, blank=True, default="", db_default="")

    objects: ClassVar[UserManager] = UserManager()

    # The token that this request signed in with; None for a session. It narrows what may be done.
    access_token: AccessToken | None = None
    # Whether tokens outlive a new password; only the account's owner may choose so.
    keeps_tokens = False
    # Whether a new password is only for the next sign-in.
    is_temporary = False
    # Whether a directory knew the password of this sign-in, which is none of the hub's.
    is_from_directory = False

    service_of = models.ForeignKey(
        "registry.Namespace",
        models.PROTECT,
        null=True,
        blank=True,
        related_name="service_accounts",
        help_text="the organisation that a service account belongs to; empty for people",
    )

    class Meta:
        ordering = ["username", "pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(service_of=None)
                | Q(
                    password__startswith=UNUSABLE_PASSWORD_PREFIX,
                    is_superuser=False,
                    is_staff=False,
                    email="",
                ),
                name="user_service_account_without_sign_in",
            ),
        ]

    def __str__(self) -> str:
        return self.username

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save; a new password revokes every token in the same transaction, unless kept.

        This holds for whatever sets a password, ``manage.py changepassword`` included. Sessions
        carry a digest of the password and end by themselves.
        """
        # Django unsets `_password` where it only rehashes the same password.
        is_new = getattr(self, "_password", None) is not None and not self._state.adding
        if is_new:
            self.must_change_password = self.is_temporary
            self.has_short_password = len(str(getattr(self, "_password", ""))) < LONG_PASSWORD
            if "password" in (kwargs.get("update_fields") or ()):
                columns = ("must_change_password", "has_short_password")
                kwargs["update_fields"] = {*kwargs["update_fields"], *columns}
        with transaction.atomic():
            super().save(*args, **kwargs)
            if is_new and not self.keeps_tokens:
                self.tokens.all().delete()

    @property
    def reach(self) -> Reach | None:
        """What the token of this request is limited to; None for no limits."""
        return self.access_token.reach if self.access_token else None

    @property
    def is_admin(self) -> bool:
        """Whether this request may act for the whole hub."""
        token = self.access_token
        return (
            self.is_superuser and self.reach is None and (token is None or "admin" in token.scopes)
        )
