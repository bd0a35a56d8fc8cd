"""Mails to a user about a sign-in from a new device, and about a new token.

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

log = structlog.get_logger(__name__)


def queue(entries: Sequence[Entry]) -> None:
    """Have mails sent soon after the commit of the transaction that the entries are part of."""
    if settings.HUB_MAIL_SERVER is None:
        return
    for entry in entries:
        if _template(entry) and entry.actor and entry.actor.email:
            transaction.on_commit(partial(usage.notes.add_entry, _send, entry))


def _template(entry: Entry) -> str:
    """The template of the mail about an entry; empty for none."""
    if entry.kind == Kind.SIGN_IN and "new_device" in entry.data:
        return "new_device"
    return "new_token" if entry.kind == "token.created" else ""


def _send(entries: Sequence[Entry]) -> None:
    for entry in entries:
        assert entry.actor is not None  # noqa: S101 - others are not queued
        values = {
            "user": entry.actor,
            "entry": entry,
            "public_url": settings.HUB_PUBLIC_URL,
            "sessions_url": public_url("sessions"),
            "tokens_url": public_url("tokens"),
        }
        prefix = f"identity/email/{_template(entry)}"
        try:
            get_adapter().render_mail(prefix, entry.actor.email, values).send()
        except (SMTPException, OSError) as error:
            log.warning("mail_not_sent", template=prefix, error=str(error))
