"""`manage.py renew_mirror_tokens`: encrypt stored tokens with the present secret key."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from hub.counting import plural
from registry.mirrors.services import mirrors


class Command(BaseCommand):
    help = "Encrypt the stored tokens of mirrors with the present secret key; can be repeated."

    def handle(self, *_args: Any, **_options: Any) -> None:
        renewal = mirrors.renew_tokens()
        self.stdout.write(
            f"{plural(renewal.renewed, 'token')} encrypted with the present key, "
            f"{renewal.current} had it already"
        )
        if renewal.unreadable:
            names = ", ".join(
                f"{mirror.pk} of {mirror.namespace.slug}" for mirror in renewal.unreadable
            )
            raise CommandError(
                f"No key opens the token of these mirrors: {names}. Add the former key to "
                "HUB_SECRET_KEY_FALLBACKS and run this again, or set the tokens again."
            )
