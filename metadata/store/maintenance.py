"""Keeping the stored graphs equal to the rows that they are made from.

What `sources` lists and the catalogue have graphs for themselves; agents, licences and metrics
have one each while one of those names them, so that nothing is stated twice.
The counter is locked before the rows are read: what is written is never older than what is there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from metadata.graphs import projection, references, selectors
from metadata.graphs.references import Entity
from metadata.models import GraphReference, NamedGraph
from metadata.rdf import parsing
from metadata.rdf.iris import Places, graph_of
from metadata.store import services
from metadata.store.sources import GraphSource, graph_sources
from registry.cards import mentions
from registry.models import Dataset, Event, RegisteredModel, Version

log = structlog.get_logger(__name__)

# Versions whose graphs are made in one transaction.
BATCH = 50


@transaction.atomic
def refresh_version(pk: int) -> bool:
    """Make a version's graph equal to its rows, or empty where it is not public.

    Of a withdrawn version it says what outlives it.

    The graph of the version after it follows, as it names the one before.
    """
    services.lock_counter()
    version = versions().filter(pk=pk).first()
    if version is None:
        return False
    changed = _write_version(version)
    after = selectors.versions_of(version.model).filter(number__gt=version.number)
    following = after.select_related("model__namespace", "created_by").first()
    return (following is not None and _write_version(following)) or changed


def refresh_model(pk: int, *, with_versions: bool = False) -> bool:
    """Make a model's graph, and those of its versions where asked, equal to their rows."""
    with transaction.atomic():
        services.lock_counter()
        model = RegisteredModel.objects.select_related("namespace").filter(pk=pk).first()
        changed = model is not None and _write_model(model)
    if with_versions:
        own = Version.objects.filter(model=pk).order_by("pk").values_list("pk", flat=True)
        changed = refresh_versions(own) or changed
    return changed


def refresh_versions(pks: Iterable[int]) -> bool:
    """Make the graphs of these versions equal to their rows.

    However many they are, others' writes wait for one batch at most, unless the caller has a
    transaction of its own.
    """
    changed = False
    waiting = iter(pks)
    while batch := list(itertools.islice(waiting, BATCH)):
        with transaction.atomic():
            services.lock_counter()
            for version in versions().filter(pk__in=batch).order_by("pk"):
                changed = _write_version(version) or changed
    return changed


@transaction.atomic
def empty_former(pk: int) -> bool:
    """Empty the graphs that a model and its versions had under the names before this one.

    Where another model has such a name by now, its own graphs take their place.
    """
    services.lock_counter()
    moved = Event.objects.filter(
        subject_kind="registeredmodel", subject_id=str(pk), verb="model.moved"
    )
    places = Places(settings.HUB_PUBLIC_URL)
    changed = False
    for old in {str(data["old"]) for data in moved.values_list("data", flat=True)}:
        space, _, name = old.partition("/")
        iri = places.model(space, name)
        living = RegisteredModel.objects.filter(
            namespace__slug=space, name=name, deleted_at=None
        ).first()
        if living is not None and living.pk == pk:
            continue
        stale = NamedGraph.objects.filter(iri__startswith=f"{iri}/").exclude(nquads="")
        for graph in stale.order_by("pk"):
            changed = remove(graph.iri) or changed
        if living is not None:
            changed = refresh_model(living.pk, with_versions=True) or changed
    return changed


@transaction.atomic
def refresh_dataset(pk: int) -> bool:
    """Make a data set's graph equal to its row: of a withdrawn one what outlives it."""
    services.lock_counter()
    dataset = Dataset.objects.select_related("namespace").filter(pk=pk).first()
    if dataset is None:
        return False
    return put(dataset_iri(dataset), _dataset_text(dataset))


@transaction.atomic
def refresh_catalogue() -> bool:
    """Make the graph of the hub itself that of this release."""
    home = settings.HUB_PUBLIC_URL
    return put(Places(home).catalogue, projection.catalogue_graph(home))


@transaction.atomic
def refresh_entity(iri: str) -> bool:
    """Make the graph ``iri`` of an agent, a licence or a metric what it should be.

    It is empty where no public graph names that thing.
    """
    services.lock_counter()
    entity = references.entity_of(iri, settings.HUB_PUBLIC_URL)
    named = entity is not None and GraphReference.objects.filter(iri=iri).exists()
    if entity is None or not named:
        return services.remove_graph(iri)
    return _store(iri, entity_text(entity))[0]


def entity_text(entity: Entity) -> str:
    """The graph of an agent, a licence or a metric, whether or not a public graph names it."""
    agent = selectors.agent_facts(entity.login) if entity.kind == "agents" else None
    return projection.entity_graph(entity, agent, settings.HUB_PUBLIC_URL)


def context_of(*texts: str) -> str:
    """The graphs of the agents, licences and metrics that these graphs name, one after another."""
    home = settings.HUB_PUBLIC_URL
    named = {entity for text in texts for entity in references.named_in(text, home)}
    return "".join(entity_text(entity) for entity in sorted(named))


def rebuild(tell: Callable[[], None] = lambda: None) -> int:
    """Make every graph again, and empty those that should not be; returns how many had changed.

    What cards name by a former address of the hub is noted under the present one first.
    ``tell`` is called after each of the `sources`.
    """
    mentions.follow_address()
    changed = int(refresh_catalogue())
    for source in graph_sources:
        for pk in source.rows().order_by("pk").values_list("pk", flat=True):
            changed += source.refresh(pk)
            tell()
    named = GraphReference.objects.order_by().values_list("iri", flat=True).distinct()
    for iri in sorted(named):
        changed += refresh_entity(iri)
    iris = {iri for iri, _ in expected()}
    for graph in NamedGraph.objects.select_related("version"):
        if graph.iri not in iris:
            changed += put(graph.iri, "", graph.version)
    return changed


def sources() -> int:
    """How many rows have a graph, or may have one."""
    return sum(source.rows().count() for source in graph_sources)


def differences(tell: Callable[[], None] = lambda: None) -> Iterator[str]:
    """The IRIs of graphs that are not what their rows say, or are not sound, with the reason.

    ``tell`` is called after each graph that there should be.
    """
    stored = {
        iri: (sha256, services.digest(nquads))
        for iri, sha256, nquads in NamedGraph.objects.values_list(
            "iri", "sha256", "nquads"
        ).iterator()
    }
    for iri, nquads in expected():
        sha256, digest = stored.pop(iri, ("", ""))
        if digest != services.digest(nquads):
            yield _difference(iri, nquads, is_stored=bool(digest))
        elif sha256 != digest:
            yield f"{iri} has another digest than its text"
        tell()
    empty = services.digest("")
    for iri, (sha256, digest) in sorted(stored.items()):
        if digest != empty:
            yield f"{iri} should be empty"
        elif sha256 != digest:
            yield f"{iri} has another digest than its text"


def _difference(iri: str, nquads: str, *, is_stored: bool) -> str:
    try:
        parsing.parse(iri, nquads)
    except parsing.RefusedGraphError as error:
        return str(error)
    return f"{iri} {'differs from the database' if is_stored else 'is missing'}"


def expected() -> Iterator[tuple[str, str]]:
    """Every graph that there should be: its IRI and its text."""
    home = settings.HUB_PUBLIC_URL
    named: set[Entity] = set()
    catalogue = (Places(home).catalogue, projection.catalogue_graph(home))
    for iri, text in itertools.chain([catalogue], *(source.public() for source in graph_sources)):
        named |= references.named_in(text, home)
        yield iri, text
    for entity in sorted(named):
        if text := entity_text(entity):
            yield entity.graph(home), text


def _public_models() -> Iterator[tuple[str, str]]:
    for model in RegisteredModel.objects.select_related("namespace").order_by("pk").iterator():
        if selectors.has_model_graph(model):
            yield model_iri(model), _model_text(model)


def _public_datasets() -> Iterator[tuple[str, str]]:
    for dataset in Dataset.objects.select_related("namespace"):
        yield dataset_iri(dataset), _dataset_text(dataset)


def _public_versions() -> Iterator[tuple[str, str]]:
    for version in versions().filter(state__in=Version.VISIBLE).order_by("pk").iterator():
        if selectors.has_graph(version):
            yield version_iri(version), _version_text(version)


def model_iri(model: RegisteredModel) -> str:
    """The named graph of a model."""
    places = Places(settings.HUB_PUBLIC_URL)
    return graph_of(places.model(model.namespace.slug, model.name))


def version_iri(version: Version) -> str:
    """The named graph of a version."""
    places = Places(settings.HUB_PUBLIC_URL)
    model = version.model
    return graph_of(places.version(model.namespace.slug, model.name, version.number))


def dataset_iri(dataset: Dataset) -> str:
    """The named graph of a data set."""
    return graph_of(Places(settings.HUB_PUBLIC_URL).dataset(dataset.slug))


def versions() -> QuerySet[Version]:
    """Every version with what its graph is made from."""
    return Version.objects.select_related("model__namespace", "created_by")


def _dataset_text(dataset: Dataset) -> str:
    facts = selectors.dataset_facts(dataset)
    return projection.dataset_graph(facts, settings.HUB_PUBLIC_URL)


def _model_text(model: RegisteredModel) -> str:
    return projection.model_graph(selectors.model_facts(model), settings.HUB_PUBLIC_URL)


def _version_text(version: Version) -> str:
    return projection.version_graph(selectors.version_facts(version), settings.HUB_PUBLIC_URL)


def _gave_way(model: RegisteredModel) -> bool:
    """Whether a deleted model's name, and with it its IRI, is another model's now."""
    return (
        model.deleted_at is not None
        and RegisteredModel.objects.filter(
            namespace=model.namespace_id, name=model.name, deleted_at=None
        ).exists()
    )


def _write_version(version: Version) -> bool:
    iri = version_iri(version)
    if not selectors.has_graph(version):
        return not _gave_way(version.model) and remove(iri)
    return put(iri, _version_text(version), version)


def _write_model(model: RegisteredModel) -> bool:
    iri = model_iri(model)
    if not selectors.has_model_graph(model):
        return not _gave_way(model) and remove(iri)
    return put(iri, _model_text(model))


def put(iri: str, nquads: str, version: Version | None = None) -> bool:
    """Store a graph, and make or empty those of the things that it names since or no more."""
    changed, nquads = _store(iri, nquads, version)
    home = settings.HUB_PUBLIC_URL
    named = {entity.graph(home) for entity in references.named_in(nquads, home)}
    rows = GraphReference.objects.filter(graph__iri=iri)
    stored = set(rows.values_list("iri", flat=True))
    if stored == named:
        return changed
    rows.filter(iri__in=stored - named).delete()
    graph = NamedGraph.objects.only("pk").get(iri=iri)
    GraphReference.objects.bulk_create(
        GraphReference(graph=graph, iri=other) for other in sorted(named - stored)
    )
    for other in sorted(stored ^ named):
        changed = refresh_entity(other) or changed
    return changed


def _store(iri: str, nquads: str, version: Version | None = None) -> tuple[bool, str]:
    """Store a graph, or empty it where it is malformed, so that all others are kept up.

    What it was before may say what is hidden by now. The nightly comparison names it. Returns
    whether the row changed, and the text that is in it.
    """
    try:
        return services.put_graph(iri, nquads, version), nquads
    except parsing.RefusedGraphError as error:
        log.error("graph_refused", graph=iri, reason=str(error))  # noqa: TRY400 - no trace
        return services.put_graph(iri, "", version), ""


def remove(iri: str) -> bool:
    """Empty a graph that may have been published; False where there is nothing to empty."""
    graph = NamedGraph.objects.filter(iri=iri).exclude(nquads="").select_related("version").first()
    return graph is not None and put(iri, "", graph.version)


graph_sources.register(
    "metadata",
    GraphSource(RegisteredModel.objects.all, refresh_model, _public_models),
    GraphSource(Version.objects.all, refresh_version, _public_versions),
    GraphSource(Dataset.objects.all, refresh_dataset, _public_datasets),
)
