"""A real SMTP server on this machine, whose mails tests read."""

from __future__ import annotations

import re
import socket
from contextlib import contextmanager
from email import message_from_bytes, policy

from aiosmtpd.controller import Controller

from hub.server.environment import MailServer


class Inbox:
    """What the server took, in order."""

    def __init__(self):
        self.mails = []
        self.answer = "250 OK"
        # How many mails the server takes; no limit if None.
        self.most = None

    async def handle_DATA(self, server, session, envelope):  # noqa: N802 - aiosmtpd's name
        if self.most is not None and len(self.mails) >= self.most:
            return "452 Insufficient storage"
        if self.answer.startswith("250"):
            self.mails.append(message_from_bytes(envelope.content, policy=policy.default))
        return self.answer

    def texts(self):
        return [mail.get_content() for mail in self.mails]

    def link(self):
        """The path of the link in the newest mail."""
        return re.search(r"http://testserver(/\S+/\S+)", self.texts()[-1])[1]


@contextmanager
def server(settings):
    """A server on a free port, as the settings name it."""
    inbox = Inbox()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(inbox, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        settings.HUB_MAIL_SERVER = MailServer("smtp+plain", "127.0.0.1", port, "", "")
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
        yield inbox
    finally:
        controller.stop()
