"""`manage.py maintenance`: refuse changes, accept them again, or show a text above all pages."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from hub.protocol import problems
from registry.core import maintenance_mode
from registry.core.maintenance_mode import Mode


class Command(BaseCommand):
    help = "Make the hub read-only or writable, or show a banner; without arguments, say which."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "mode",
            nargs="?",
            choices=("on", "off", "banner"),
            help="on: refuse changes and begin no jobs; off: end this and remove the banner; "
            "banner: only show a text",
        )
        parser.add_argument("text", nargs="?", default="", help="the banner of all pages")
        parser.add_argument(
            "--minutes", type=int, help="when changes are likely to be accepted again"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        mode_name, text, minutes = options["mode"], options["text"], options["minutes"]
        if mode_name is not None:
            try:
                maintenance_mode.change(_mode(mode_name, text, minutes))
            except problems.InvalidRequest as problem:
                raise CommandError(problem.detail) from None
        mode = maintenance_mode.current()
        self.stdout.write(mode.notice or "This hub accepts changes.")
        if mode.banner:
            self.stdout.write(f"banner: {mode.banner}")


def _mode(name: str, text: str, minutes: int | None) -> Mode:
    if minutes is not None and (name != "on" or minutes < 1):
        raise CommandError("--minutes is a number from 1 on, and belongs to `on`.")
    if name == "banner" and not text:
        raise CommandError("Add the text of the banner, or use `off` to remove it.")
    if name == "off":
        if text:
            raise CommandError("`off` takes no text.")
        return maintenance_mode.NORMAL
    ends_at = timezone.now() + timedelta(minutes=minutes) if minutes else None
    return Mode(name == "on", text, ends_at)
