"""People and programs that sign in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AbstractUser
from django.db import transaction

if TYPE_CHECKING:
    from registry.models.tokens import AccessToken


class User(AbstractUser):
    """A user account; closing it anonymises the row, which events still name."""

    # The token that this request signed in with; None for a session. It narrows what may be done.
    access_token: AccessToken | None = None
    # Whether tokens outlive a new password; only the account's owner may choose so.
    keeps_tokens = False

    class Meta:
        ordering = ["username", "pk"]

    def __str__(self) -> str:
        return self.username

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save; a new password revokes every token in the same transaction, unless kept.

        This holds for whatever sets a password, ``manage.py changepassword`` included. Sessions
        carry a digest of the password and end by themselves.
        """
        # Django unsets `_password` where it only rehashes the same password.
        is_new = getattr(self, "_password", None) is not None and not self._state.adding
        with transaction.atomic():
            super().save(*args, **kwargs)
            if is_new and not self.keeps_tokens:
                self.tokens.all().delete()

    @property
    def bound_to(self) -> int | None:
        """The id of the namespace that this request's token is bound to; None for no such bound."""
        return self.access_token.namespace_id if self.access_token else None

    @property
    def is_admin(self) -> bool:
        """Whether this request may act for the whole hub."""
        token = self.access_token
        return (
            self.is_superuser
            and self.bound_to is None
            and (token is None or "admin" in token.scopes)
        )
