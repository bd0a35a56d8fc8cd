"""Sessions in the database, and messages in a cookie, neither of which a read request changes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.utils import timezone

from hub.protocol import phrases
from hub.server.reads import is_in_maintenance, is_reading
from registry.core import sessions

# A cookie holds about 2 kB; a message that does not fit would be dropped without a word.
LONGEST_MESSAGE = 600


class SessionStore(DatabaseStore):
    """Sessions whose rows only requests that write create, change and delete."""

    _is_held = False

    def cycle_key(self) -> None:
        """Move the session to a new key; in a read, leave that to the next request that writes.

        Django does so in whatever request finds a session of a former secret key.
        """
        if is_reading():
            self._is_held = True
            return
        old = self.session_key
        super().cycle_key()
        if old:
            sessions.key_changed.send(type(self), old=old, new=self.session_key)

    def get_expiry_date(self, **_: Any) -> datetime:
        """When the session ends unless it is used; its cookie lives longer."""
        return timezone.now() + timedelta(days=settings.HUB_SESSION_IDLE_DAYS)

    def save(self, must_create: bool = False) -> None:  # noqa: FBT001, FBT002 - Django's signature
        """Write the row, unless all that changed is its secret key, in a read.

        Nothing is written during maintenance: Django saves after the view, where a refusal would
        be an error without a page.
        """
        if not self._is_held and not is_in_maintenance():
            super().save(must_create)

    def delete(self, session_key: str | None = None) -> None:
        """Delete the row; in a read the cookie alone goes, and the row when it expires.

        Django deletes a session in whatever request finds that its password was changed; nobody
        can sign in with that row any more.
        """
        if not is_reading():
            super().delete(session_key)


class MessageStorage(CookieStorage):
    """Messages for the next page: Django's default would keep long ones in the session's row."""

    def add(self, level: int, message: Any, extra_tags: str | None = "") -> None:
        super().add(level, phrases.ellipsis(str(message), LONGEST_MESSAGE), extra_tags)
