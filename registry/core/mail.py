"""Mail that the hub sends by itself, beside requests."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend


def is_possible() -> bool:
    """Whether this hub has a mail server."""
    return settings.HUB_MAIL_SERVER is not None


def connection() -> BaseEmailBackend:
    """A connection to the mail server, which is open; raises OSError, SMTPException."""
    opened = get_connection()
    opened.open()
    return opened


def send(
    email: str,
    subject: str,
    text: str,
    *,
    html: str = "",
    headers: Mapping[str, str] | None = None,
    over: BaseEmailBackend | None = None,
) -> None:
    """Send a mail to an address; raises OSError, SMTPException.

    It is marked as one of a program (RFC 3834), so that absence notices do not answer it.
    """
    marked = {"Auto-Submitted": "auto-generated", **(headers or {})}
    message = EmailMultiAlternatives(
        " ".join(subject.split()), text, to=[email], headers=marked, connection=over
    )
    if html:
        message.attach_alternative(html, "text/html")
    message.send()
