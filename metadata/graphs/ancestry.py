"""Ancestors of the newest version of each model, for filters of lists.

The facts of a model hold all of its ancestors, so a model that becomes visible, hidden or renamed
concerns the models whose cards name it, and all that come from these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.contrib.auth.models import AnonymousUser

from hub.protocol import filters
from metadata.graphs import relatives, withdrawals
from registry.catalogue import documents
from registry.catalogue.searchable import Fact
from registry.models import DocumentFact, Version

_GROUP = filters.DERIVED_FROM.name


def facts_of(version: Version) -> Iterator[Fact]:
    """Keys of the models that a version comes from, as far as guests may know."""
    side = relatives.ancestors(AnonymousUser(), version, depth=relatives.MOST)
    for ancestor in withdrawals.versions_in(side.relatives):
        yield _GROUP, str(ancestor.model_id)


def refresh_heirs(model_id: int, mentioning: Iterable[int]) -> None:
    """Renew the lists' facts of the models that come from one.

    ``mentioning`` are the keys of the versions whose cards name it.
    """
    direct = Version.objects.filter(pk__in=list(mentioning)).values_list("model", flat=True)
    sources = {model_id, *direct}
    facts = DocumentFact.objects.filter(group=_GROUP, value__in=map(str, sources))
    for pk in sorted({*sources, *facts.values_list("document", flat=True)} - {model_id}):
        documents.refresh(pk)
