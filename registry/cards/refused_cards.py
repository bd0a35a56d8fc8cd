"""Keeping cards that were refused, so that nothing that was sent is lost, until they are corrected.

They count towards the namespace's quota. Of one author KEPT are held for a model; a newer one takes
the place of the oldest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from hub.protocol import problems
from registry.cards import cards
from registry.cards.cards import Checked
from registry.core.permissions import Actor, can, require
from registry.models import RefusedCard, RegisteredModel, Version
from registry.storage.services import quotas

MOST_CARDS = 10


@contextmanager
def keeping(
    actor: Actor, *, model: RegisteredModel, content: Callable[[], bytes], version: Version | None
) -> Iterator[None]:
    """Keep the card that a write brings where that is refused; drop earlier ones where it is not.

    To be entered outside the write's transaction, which a refusal undoes. ``content`` gives the
    bytes that were sent; ``version`` is the draft that they were for, None for a commit.
    """
    try:
        yield
    except problems.CardInvalid as refusal:
        row = _keep(actor, model, content(), version, refusal.detail)
        page = f"{settings.HUB_PUBLIC_URL}/models/{model.ref}/refused-cards"
        if row is not None:
            refusal.detail = f"{refusal.detail} The card is saved at {page}."
            refusal.extensions["refused_card"] = (
                f"{settings.HUB_PUBLIC_URL}/api/v1/models/{model.ref}/refused-cards/{row.pk}"
            )
        raise
    RefusedCard.objects.filter(
        model=model, author=actor.pk, version=version.pk if version else None
    ).delete()


def of_model(actor: Actor, model: RegisteredModel) -> QuerySet[RefusedCard]:
    """The refused cards of a model, newest first: maintainers see all, others their own.

    Raises NotAllowed, except for writers.
    """
    user = require(actor, "version.edit", model)
    rows = RefusedCard.objects.filter(model=model).select_related("author", "version")
    return rows if can(actor, "model.edit", model) else rows.filter(author=user)


def count(actor: Actor, model: RegisteredModel) -> int:
    """How many of them the actor may see; none for other users."""
    if not actor.is_authenticated or not can(actor, "version.edit", model):
        return 0
    return of_model(actor, model).count()


def one(actor: Actor, model: RegisteredModel, pk: int) -> RefusedCard:
    """A refused card by its number; raises NotFound, also for what others sent."""
    return problems.expect(
        of_model(actor, model).filter(pk=pk).first(),
        problems.NotFound(f"{model.ref} has no rejected card {pk} that you can see."),
    )


def text(of: RefusedCard) -> str:
    """The card as text; bytes that are not UTF-8 are shown as replacement characters."""
    return bytes(of.content).decode("utf-8", "replace")


def check(of: RefusedCard) -> Checked:
    """What is wrong with it, by the rules of now."""
    return cards.check(text(of))


def _keep(
    actor: Actor, model: RegisteredModel, content: bytes, version: Version | None, detail: str
) -> RefusedCard | None:
    """Keep a card; None where there is no room for it, or it is larger than any card."""
    if not actor.is_authenticated or not 0 < len(content) <= cards.LIMIT_BYTES:
        return None
    sha256 = hashlib.sha256(content).hexdigest()
    try:
        with transaction.atomic():
            quotas.lock(model.namespace)
            own = RefusedCard.objects.filter(model=model, author=actor.pk)
            oldest = own.exclude(sha256=sha256).values_list("pk", flat=True)[MOST_CARDS - 1 :]
            own.filter(pk__in=list(oldest)).delete()
            if not own.filter(sha256=sha256).exists():
                quotas.expect(model.namespace, adding=len(content))
            row, _ = own.update_or_create(
                sha256=sha256,
                defaults={
                    "model": model,
                    "author": actor,
                    "version": version,
                    "content": content,
                    "size": len(content),
                    "detail": detail,
                    "sent_at": timezone.now(),
                },
            )
    except problems.QuotaExceeded:
        return None
    return row
