"""`manage.py createsuperuser`: Django's, and a namespace of the new administrator's name."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.core.management.base import CommandError
from django.db import transaction

from hub.protocol import problems
from registry.models import User
from registry.people.services import namespaces


class Command(createsuperuser.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        existing = set(User.objects.values_list("pk", flat=True))
        with transaction.atomic():
            super().handle(*args, **options)
            for user in User.objects.exclude(pk__in=existing):
                try:
                    namespaces.open_personal(user)
                except problems.Problem as problem:
                    raise CommandError(f"No administrator was added. {problem.detail}") from problem
