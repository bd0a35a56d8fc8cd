"""Makes the reports of MLDCAT-AP's shapes that are missing, or of other graphs or shapes."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from hub.counting import Counter
from metadata.rdf.vocabulary import ShapesUnavailableError
from metadata.validation import reports


class Command(BaseCommand):
    help = "Create missing or outdated MLDCAT-AP shape reports."

    def handle(self, *_args: Any, **_options: Any) -> None:
        try:
            with Counter("versions checked", reports.versions().count()) as counter:
                count = reports.renew_all(counter.advance)
        except ShapesUnavailableError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{count} reports created")
