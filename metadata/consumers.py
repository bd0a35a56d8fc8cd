"""The consumers of events that keep graphs equal to the rows, read as they are now."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Q, QuerySet

from metadata.graphs import ancestry
from metadata.rdf.iris import Places, graph_of
from metadata.store import maintenance
from metadata.validation import card_check, reports
from registry.cards import mentions, resolution
from registry.catalogue import searchable
from registry.core import outbox
from registry.core.events import RELEASE_VERBS
from registry.models import (
    Dataset,
    Deprecation,
    Event,
    Mention,
    Namespace,
    RegisteredModel,
    Version,
)
from registry.versions import moves

VERSION_VERBS = (
    *RELEASE_VERBS,
    "variant.",
    "check.finished",
    "conformance.added",
    "evaluation.added",
    "benchmark.",
)
# What makes a model's name mean another version, or none, in the cards that are based on it.
SUCCESSOR_VERBS = ("version.published", "model.")
BASE_VERBS = ("version.published", "version.withdrawn", "model.")


def connect() -> None:
    """Subscribe to every event that changes a graph."""
    outbox.subscribe("metadata.graphs", VERSION_VERBS, _on_version, released=True)
    outbox.subscribe("metadata.hiding", ("model.",), _on_hidden)
    outbox.subscribe("metadata.successors", SUCCESSOR_VERBS, _on_successor)
    outbox.subscribe("metadata.moves", ("model.moved",), _on_moved)
    outbox.subscribe("metadata.models", ("model.",), _on_model, apart=True)
    outbox.subscribe("metadata.heirs", BASE_VERBS, _on_base, apart=True)
    outbox.subscribe("registry.search.ancestry", ("model.",), _on_ancestor, apart=True)
    searchable.contribute(ancestry.facts_of)
    outbox.subscribe("metadata.datasets", ("dataset.",), _on_dataset)
    outbox.subscribe("metadata.agents", ("namespace.edited",), _on_namespace)
    outbox.subscribe("metadata.erased", ("user.erased",), _on_erased, apart=True)
    outbox.subscribe("metadata.users", ("dataset.",), _on_used, apart=True)
    outbox.subscribe("metadata.card", ("version.submitted",), card_check.on_submitted, apart=True)
    outbox.subscribe(
        "metadata.report", reports.VERBS, reports.on_published, apart=True, released=True
    )


def _on_version(subject: outbox.Subject) -> None:
    """A version's event concerns its own graph and its model's, once it was released."""
    if subject.model_id is None or subject.kind != "version":
        return
    if Version.objects.filter(pk=subject.key, state__in=Version.VISIBLE).exists():
        maintenance.refresh_version(int(subject.key))
        maintenance.refresh_model(subject.model_id)


def _on_erased(subject: outbox.Subject) -> None:
    """An account that lost its name concerns the graphs of all versions that may name it."""
    user = int(subject.key)
    acted = Event.objects.filter(actor=user, model__isnull=False).values("model")
    named = Version.objects.filter(Q(created_by=user) | Q(model__in=acted))
    maintenance.refresh_versions(
        named.filter(state__in=Version.VISIBLE).values_list("pk", flat=True)
    )


def _on_hidden(subject: outbox.Subject) -> None:
    """Empty the graphs of a model that is no longer public, at once."""
    hidden = RegisteredModel.objects.filter(pk=subject.model_id or 0).select_related("namespace")
    if not all(model.is_public for model in hidden):
        maintenance.refresh_model(hidden[0].pk, with_versions=True)


def _on_successor(subject: outbox.Subject) -> None:
    """A model's event concerns the graphs of what it replaces: they name it while it is public."""
    for row in Deprecation.objects.filter(successor=subject.model_id or 0):
        if row.version_id is not None:
            maintenance.refresh_version(row.version_id)
        if row.model_id is not None:
            maintenance.refresh_model(row.model_id)


def _on_moved(subject: outbox.Subject) -> None:
    """Empty the graphs under a name that a model no longer has, at once."""
    if subject.model_id is not None:
        maintenance.empty_former(subject.model_id)


def _on_model(subject: outbox.Subject) -> None:
    """A model's event concerns the graphs of all its versions, however many."""
    if subject.model_id is not None:
        maintenance.refresh_model(subject.model_id, with_versions=True)
        maintenance.refresh_catalogue()


def _on_base(subject: outbox.Subject) -> None:
    """A model concerns the graphs of the versions whose cards are based on it."""
    for model in _model_of(subject):
        maintenance.refresh_versions(_versions(_naming(model)))


def _on_ancestor(subject: outbox.Subject) -> None:
    """And the lists' facts of all models that come from it."""
    for model in _model_of(subject):
        ancestry.refresh_heirs(model.pk, _versions(_naming(model)))


def _model_of(subject: outbox.Subject) -> QuerySet[RegisteredModel]:
    rows = RegisteredModel.objects.filter(pk=subject.model_id or 0)
    return rows.select_related("namespace")


def _naming(model: RegisteredModel) -> QuerySet[Mention]:
    """Where cards name a model, by any name or address that it has or had."""
    names = [model.ref, *(former.name for former in moves.former_names(model))]
    confirmed = model.confirmed_as_base.values_list("name", flat=True)
    addresses = [f"{settings.HUB_PUBLIC_URL}/models/{name}" for name in names]
    numbers = model.versions.values_list("number", flat=True)
    numbered = [f"{address}/v/{number}" for address in addresses for number in numbers]
    keys = {*confirmed, *map(mentions.key, [*names, *addresses, *numbered])}
    return Mention.objects.filter(kind=Mention.Kind.MODEL, name__in=keys)


def _on_dataset(subject: outbox.Subject) -> None:
    """A data set's event concerns its own graph."""
    maintenance.refresh_dataset(int(subject.key))


def _on_used(subject: outbox.Subject) -> None:
    """And the graphs of the versions whose cards name it, however many."""
    for dataset in Dataset.objects.filter(pk=subject.key):
        maintenance.refresh_versions(_versions(resolution.like(dataset)))
    maintenance.refresh_catalogue()


def _on_namespace(subject: outbox.Subject) -> None:
    """The title of a namespace is in the graph of its agent."""
    for space in Namespace.objects.filter(pk=subject.key):
        maintenance.refresh_entity(graph_of(Places(settings.HUB_PUBLIC_URL).agent(space.slug)))


def _versions(rows: QuerySet[Mention]) -> list[int]:
    return list(rows.order_by("version").values_list("version", flat=True).distinct())
