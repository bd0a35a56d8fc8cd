"""What the security log and sessions plug into the core."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.http import HttpRequest

from registry.core.directories import Directory, directories
from registry.core.periodic import HourlyTask, hourly_tasks
from registry.core.security_log import Keeper, keepers
from registry.core.sessions import key_changed
from registry.identity import directory_accounts, services, sessions
from registry.models import User


def register(package: str) -> None:
    """Plug into the ports of the core."""
    keepers.register(package, Keeper(services.keep))
    directories.register(
        package,
        Directory(directory_accounts.find, directory_accounts.entry_of, directory_accounts.knows),
    )
    hourly_tasks.register(
        package,
        HourlyTask("security-log", "Old security events deleted", services.forget),
        HourlyTask("sessions", "Ended sessions deleted", sessions.tidy),
    )
    user_logged_in.connect(_begin_session, dispatch_uid=package)
    user_logged_out.connect(_forget_session, dispatch_uid=package)
    key_changed.connect(_move_session, dispatch_uid=package)


def _begin_session(request: HttpRequest, user: User, **_: Any) -> None:
    sessions.begin(request, user)


def _forget_session(request: HttpRequest, **_: Any) -> None:
    if key := request.session.session_key:
        sessions.forget(key)


def _move_session(old: str, new: str, **_: Any) -> None:
    sessions.move(old, new)
