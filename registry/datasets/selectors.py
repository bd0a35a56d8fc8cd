"""Finding data sets, and who uses them: everyone sees the entries, and visible models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Count, Max, Q

from hub.protocol import problems
from registry.cards import resolution
from registry.models import Dataset, Version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from registry.core.permissions import Actor
    from registry.models.versions import VersionQuerySet

PAGE = 50
USES = 100
_NOT_USED = (Version.State.DRAFT, Version.State.WITHDRAWN)


def dataset(slug: str) -> Dataset:
    """The entry of that name, ignoring case; raises NotFound."""
    entry = Dataset.objects.select_related("namespace").filter(slug=slug.lower()).first()
    if entry is None:
        raise problems.NotFound(f"Data set {slug} not found. See /datasets for the list.")
    return entry


def page(text: str = "", *, after: str = "", limit: int = PAGE) -> list[Dataset]:
    """Entries in the order of their names, from ``after`` on, that hold ``text`` somewhere."""
    rows = Dataset.objects.filter(withdrawn_at=None, slug__gt=after).select_related("namespace")
    for word in text.split()[:10]:
        rows = rows.filter(
            Q(slug__icontains=word)
            | Q(title__icontains=word)
            | Q(description__icontains=word)
            | Q(iri__icontains=word)
        )
    return list(rows.order_by("slug")[:limit])


def uses(actor: Actor, of: Dataset, *, limit: int = USES) -> list[Version]:
    """The newest version of each model the actor may see whose card names a data set."""
    rows = _visible(actor).filter(pk__in=resolution.meanings([of]).values("version"))
    newest = rows.order_by().values("model").annotate(newest=Max("pk")).values("newest")
    versions = Version.objects.filter(pk__in=newest).select_related("model__namespace")
    return list(versions.order_by("-published_at", "-pk")[:limit])


def use_counts(actor: Actor, of: Sequence[Dataset]) -> dict[int, int]:
    """How many models that the actor may see name each data set, by its id."""
    if not of:
        return {}
    rows = resolution.meanings(of).filter(version__in=_visible(actor))
    counted = rows.order_by().values_list("meaning").annotate(
        n=Count("version__model", distinct=True)
    )  # fmt: skip
    return dict(counted)


def _visible(actor: Actor) -> VersionQuerySet:
    return Version.objects.visible_to(actor).exclude(state__in=_NOT_USED)
