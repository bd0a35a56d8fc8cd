"""Finding saved comparisons, and those of their references that a reader may see."""

from __future__ import annotations

from contextlib import suppress
from uuid import UUID

from django.db.models import QuerySet

from hub.protocol import problems, refs
from registry.core.permissions import Actor, require_user
from registry.models import SavedComparison
from registry.versions import moves
from registry.versions import selectors as models


def comparisons(actor: Actor) -> QuerySet[SavedComparison]:
    """The comparisons of the actor, newest first; raises NotAuthenticated."""
    user = require_user(actor, any_namespace=True)
    rows = SavedComparison.objects.filter(user=user)
    return rows.select_related("user").prefetch_related("compared_references")


def comparison(actor: Actor, uuid: UUID | str) -> SavedComparison:
    """A comparison of the actor, or one that is shared by its link; raises NotFound."""
    rows = SavedComparison.objects.visible_to(actor).select_related("user")
    return problems.expect(
        rows.prefetch_related("compared_references").filter(pk=uuid).first(),
        problems.NotFound(
            "Saved comparison not found. Check the link, or ask its user to share it."
        ),
    )


def references(actor: Actor, of: SavedComparison) -> list[str]:
    """The references, in their order; of those of others the ones whose model the actor sees."""
    texts = [row.reference for row in of.compared_references.all()]
    if actor.pk == of.user_id:
        return texts
    return [text for text in texts if sees_model(actor, refs.parse(text))]


def sees_model(actor: Actor, ref: refs.Ref) -> bool:
    """Whether the actor sees the model of a reference, also by a former name."""
    with suppress(problems.NotFound):
        try:
            models.model(actor, ref.namespace, ref.model)
        except moves.Moved as moved:
            models.model(actor, *moved.new.split("/"))
        return True
    return False
