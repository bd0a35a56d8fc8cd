"""Mails to a user about a sign-in from a new device, a new token, and another password.

They are sent by the thread that writes what reads leave behind, so no sign-in waits for the mail
server. A mail that the server does not take is logged and not sent again: the page of sessions has
the same entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from smtplib import SMTPException

import structlog
from allauth.account.adapter import get_adapter
from django.conf import settings
from django.db import transaction

from frontend.pages.identity.adapters import public_url
from registry.core import usage
from registry.core.security_log import Entry, Kind
from registry.models import User

log = structlog.get_logger(__name__)


def queue(entries: Sequence[Entry]) -> None:
    """Have mails sent soon after the commit of the transaction that the entries are part of."""
    if settings.HUB_MAIL_SERVER is None:
        return
    for entry in entries:
        if _template(entry):
            transaction.on_commit(partial(usage.notes.add_entry, _send, entry))


def _template(entry: Entry) -> str:
    """The template of the mail about an entry; empty for none."""
    if entry.kind == Kind.SIGN_IN and "new_device" in entry.data:
        return "new_device"
    return {"token.created": "new_token", "user.password": "new_password"}.get(entry.kind, "")


def _recipient(entry: Entry) -> User | None:
    """Whose account an entry is about: an administrator may have set the password."""
    if entry.subject_kind == "user":
        return User.objects.filter(pk=entry.subject_id).first()
    return entry.actor


def _send(entries: Sequence[Entry]) -> None:
    for entry in entries:
        user = _recipient(entry)
        if user is None or not user.email:
            continue
        values = {
            "user": user,
            "entry": entry,
            "public_url": settings.HUB_PUBLIC_URL,
            "sessions_url": public_url("sessions"),
            "tokens_url": public_url("tokens"),
        }
        prefix = f"identity/email/{_template(entry)}"
        try:
            get_adapter().render_mail(prefix, user.email, values).send()
        except (SMTPException, OSError) as error:
            log.warning("mail_not_sent", template=prefix, error=str(error))
