"""`manage.py fetch_browser_runtime`: put the runtime for readers' browsers in place."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from frontend.pages.tryouts import browser_runtime

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Fetches the pinned archive, or takes one that you have, checks it and unpacks its files."""

    help = "Put onnxruntime-web in place, so that models run in readers' browsers."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--archive",
            type=Path,
            metavar="FILE",
            help=f"the .tgz of {browser_runtime.PACKAGE} {browser_runtime.VERSION}; without it npm "
            "fetches it",
        )

        parser.add_argument(
            "--package",
            action="store_true",
            help="into the package, for a checkout or before a wheel is built; without it into the "
            "home folder",
        )

    def handle(
        self, *_: Any, archive: Path | None = None, package: bool = False, **__: Any
    ) -> None:
        """Fetch, check, unpack."""
        fetched = None
        name = f"{browser_runtime.PACKAGE} {browser_runtime.VERSION}"
        packaged = browser_runtime.PACKAGED / browser_runtime.VERSION
        place = packaged if package else browser_runtime.home()
        try:
            if archive is None:
                self.stdout.write(f"npm fetches {name}")
                archive = fetched = browser_runtime.fetch(place.parent)
            self.stdout.write("checking and packing, which takes a minute")
            for line in browser_runtime.unpack(archive, place):
                self.stdout.write(line)
        except FileNotFoundError as error:
            raise CommandError(
                f"{error}. Give the archive with --archive: on a machine with npm, "
                f"`npm pack {browser_runtime.PACKAGE}@{browser_runtime.VERSION}` writes it."
            ) from None
        except (OSError, ValueError) as error:
            raise CommandError(str(error)) from None
        finally:
            if fetched is not None:
                shutil.rmtree(fetched.parent, ignore_errors=True)
        self.stdout.write(f"In place: {place}")
