"""Saving comparisons: each belongs to one user, who alone changes it.

No event is recorded: what a user compares is no change of a model.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.utils import timezone

from hub.counting import plural
from hub.protocol import problems, refs
from registry.community.comparisons import selectors
from registry.core.permissions import Actor, require_user
from registry.core.row_locks import lock
from registry.models import ComparedReference, SavedComparison, User
from registry.models.saved_comparisons import FEWEST_COMPARED, LONGEST_TITLE, MOST_COMPARED

MOST_OF_USER = 200


@transaction.atomic
def create(
    actor: Actor,
    *,
    references: Sequence[str],
    title: str = "",
    sharing: str = SavedComparison.Sharing.PRIVATE,
) -> SavedComparison:
    """Save a comparison of models that the actor sees; raises InvalidRequest, StateConflict.

    Without a title, it is the names of the models that guests see: a link may be shared.
    """
    user = User.objects.select_for_update().get(pk=require_user(actor, "write").pk)
    texts = _checked(actor, references)
    if SavedComparison.objects.filter(user=user).count() >= MOST_OF_USER:
        raise problems.StateConflict(
            f"You have {MOST_OF_USER} saved comparisons, the maximum. Delete some first."
        )
    comparison = SavedComparison.objects.create(
        user=user, title=_title(title) or _default_title(texts), sharing=sharing
    )
    _write(comparison, texts)
    return comparison


@transaction.atomic
def edit(
    actor: Actor,
    *,
    comparison: SavedComparison,
    title: str | None = None,
    sharing: str | None = None,
    references: Sequence[str] | None = None,
) -> SavedComparison:
    """Change a comparison of the actor; what is None stays. Raises InvalidRequest, NotAllowed."""
    comparison = _own(actor, comparison)
    if references is not None:
        texts = _checked(actor, references)
        comparison.compared_references.all().delete()
        _write(comparison, texts)
    comparison.title = _title(title or "") or comparison.title
    comparison.sharing = sharing or comparison.sharing
    comparison.updated_at = timezone.now()
    comparison.save()
    return comparison


@transaction.atomic
def delete(actor: Actor, *, comparison: SavedComparison) -> None:
    """Delete a comparison of the actor; its link leads nowhere then. Raises NotAllowed."""
    _own(actor, comparison).delete()


def _own(actor: Actor, comparison: SavedComparison) -> SavedComparison:
    if require_user(actor, "write").pk != comparison.user_id:
        raise problems.NotAllowed("Only its user can change a saved comparison. Save your own.")
    return lock(comparison, "user")


def _default_title(references: Sequence[str]) -> str:
    guest = AnonymousUser()
    names = [
        text.partition("/")[2]
        for text in references
        if selectors.sees_model(guest, refs.parse(text))
    ]
    return ", ".join(names)[:LONGEST_TITLE] or plural(len(references), "model")


def _title(text: str) -> str:
    title = text.strip()
    if len(title) > LONGEST_TITLE:
        raise problems.InvalidRequest.at(
            "/title", f"A title may have at most {LONGEST_TITLE} characters. Shorten it."
        )
    return title


def _checked(actor: Actor, references: Sequence[str]) -> list[str]:
    """The references in full, each once, of models that the actor sees; raises InvalidRequest."""
    texts: dict[str, None] = {}
    for place, text in enumerate(references):
        try:
            ref = refs.parse(text)
        except problems.InvalidReference as error:
            raise problems.InvalidRequest.at(f"/references/{place}", error.detail) from error
        if not selectors.sees_model(actor, ref):
            raise problems.InvalidRequest.at(
                f"/references/{place}", f"Model {ref.name} not found. Check the name."
            )
        texts[refs.format(ref)] = None
    if not FEWEST_COMPARED <= len(texts) <= MOST_COMPARED:
        raise problems.InvalidRequest.at(
            "/references",
            f"A comparison has {FEWEST_COMPARED} to {MOST_COMPARED} different models.",
        )
    return list(texts)


def _write(comparison: SavedComparison, references: Sequence[str]) -> None:
    ComparedReference.objects.bulk_create(
        ComparedReference(comparison=comparison, position=position, reference=reference)
        for position, reference in enumerate(references)
    )
