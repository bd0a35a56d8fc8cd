"""Making accounts, each with a namespace of its own name."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from hub.protocol import problems, refs
from registry.models import Namespace, User
from registry.services import namespaces


@transaction.atomic
def create(
    *, username: str, password: str | None = None, email: str = "", superuser: bool = False
) -> User:
    """Make a user and their namespace; raises NameTaken, NameReserved, InvalidName."""
    refs.check_name(username)
    make = User.objects.create_superuser if superuser else User.objects.create_user
    if not superuser:
        namespaces.check_free_word(username)
    try:
        with transaction.atomic():
            user = make(username=username, email=email, password=password)
    except IntegrityError as error:
        raise problems.NameTaken(f"The user {username} exists already.") from error
    if not superuser:
        namespaces.open_for(user, slug=username, kind=Namespace.Kind.USER)
    return user
