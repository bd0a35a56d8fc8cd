"""`manage.py rebuild_lists`: rebuild what lists and searches read from the rows."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.db import transaction

from hub.counting import Counter, plural
from registry.catalogue import documents
from registry.core import public_counts
from registry.models import RegisteredModel


class Command(BaseCommand):
    help = "Rebuild the search index of all models: texts, facts and speeds. Safe at any time."

    def handle(self, *_args: Any, **options: Any) -> None:
        keys = list(RegisteredModel.objects.order_by("pk").values_list("pk", flat=True))
        with Counter("models indexed", len(keys)) as counter:
            for pk in keys:
                with transaction.atomic():
                    documents.refresh(pk)
                counter.advance()
        public_counts.forget()
        if options["verbosity"]:
            self.stdout.write(f"{plural(len(keys), 'model')} indexed")
