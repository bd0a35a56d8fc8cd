"""People and programs that sign in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth.models import AbstractUser

if TYPE_CHECKING:
    from registry.models.tokens import AccessToken


class User(AbstractUser):
    """Somebody with an account; leaving anonymises the row, which events go on naming."""

    # The token that this request signed in with; None for a session. It narrows what may be done.
    access_token: AccessToken | None = None

    class Meta:
        ordering = ["username", "pk"]

    def __str__(self) -> str:
        return self.username

    @property
    def is_admin(self) -> bool:
        """Whether this request may act for the whole hub."""
        token = self.access_token
        return self.is_superuser and (
            token is None or ("admin" in token.scopes and token.namespace_id is None)
        )
