"""Rows of the rooms below as the facts of graphs, and whether a graph is public."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from django.db.models import QuerySet

from metadata.graphs import benchmarks, facts, relatives
from metadata.graphs.version_parts import Describe, VersionPart, version_parts
from metadata.rdf.graph import Graph
from metadata.rdf.iris import variant_of
from registry.cards import cards, licences, mentions, resolution
from registry.core.prepared_queries import Prepared
from registry.models import (
    Check,
    Dataset,
    Deprecation,
    Event,
    File,
    Namespace,
    RegisteredModel,
    User,
    Variant,
    Version,
)
from registry.versions import moves, tombstones
from runners.benchmarks import selectors, speed_index
from runners.engine.reports import FileCheck
from runners.evaluations import selectors as evaluations
from runners.graphs import annotated_files, derived_files, networks, tensors
from runners.models import Job, Measurement
from runners.proofs import selectors as proof_selectors

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Facts = TypeVar("_Facts", bound="DataclassInstance")
# Versions of a data set that its graph names.
_MOST_DATASET_VERSIONS = 200


def is_public(version: Version) -> bool:
    """Whether a version's graph is public: released, not withdrawn, of a public model."""
    return version.is_served and version.model.is_public


def has_graph(version: Version) -> bool:
    """Whether a version has a public graph: its own, or what stays of a withdrawn one."""
    return version.state in Version.VISIBLE and has_model_graph(version.model)


def has_model_graph(model: RegisteredModel) -> bool:
    """Whether a model has a public graph: its own, or what stays of a deleted one."""
    return model.is_public or model.has_tombstone


def versions_of(model: RegisteredModel | int) -> QuerySet[Version]:
    """The versions of a model that its graph names."""
    return Version.objects.filter(model=model, state__in=Version.SERVED).order_by("number")


def version_facts(version: Version) -> facts.VersionFacts:
    """The facts of a version, in a fixed number of queries."""
    model = version.model
    card, body = version.typed_card, cards.body(version.readme)
    variants = list(version.variants.select_related("entry", "derived_from").order_by("pk"))
    jobs = _jobs(variants)
    bases, undecided = _bases(version)
    return _fill(
        facts.VersionFacts,
        version,
        namespace=model.namespace.slug,
        name=model.name,
        uploader=version.created_by.username,
        previous=_previous(version),
        summary=cards.summary(card.summary, body) or model.summary,
        body=body.strip(),
        licenses=licences.named(*(card.licenses or (model.license,))),
        license_expression=licences.expression(*(card.licenses or (model.license,))),
        task=card.task or model.task,
        keywords=tuple(card.keywords or map(str, model.keywords)),
        card=dict(version.card),
        is_gated=model.is_gated,
        bases=bases,
        undecided=undecided,
        entries=entries(version),
        files=_files(version),
        variants=tuple(
            _fill(
                facts.VariantFacts,
                row,
                entry=row.entry.path,
                facts=row.typed_facts,
                source=row.derived_from.name if row.derived_from else "",
                job=jobs.get(str(row.job_uuid)),
                external=tuple(file.path for file in row.typed_facts.external_files),
            )
            for row in variants
        ),
        checks=tuple(
            facts.CheckFacts(
                row.kind, str(row.outcome), FileCheck.stored(row.report), row.updated_at
            )
            for row in Check.objects.filter(version=version)
        ),
        results=tuple(proof_selectors.results_of(version)),
        measured=tuple(evaluations.rows_of(version)),
        parts=tuple(part.read(version) for part in version_parts),
        withdrawal=(
            _withdrawal(version, version.ended_at, version.reason)
            if version.state == Version.State.WITHDRAWN
            else _deletion(model)
        ),
        deprecation=_deprecation(version),
    )


def _fill(kind: type[_Facts], row: object, **fields: Any) -> _Facts:
    """The facts of a row: ``fields``, and of others the row's attributes of the same names."""
    names = {field.name for field in dataclasses.fields(kind)} - fields.keys()
    return kind(**{name: getattr(row, name) for name in names}, **fields)


_FILES = Prepared(lambda version_id: File.objects.filter(version=version_id).select_related("blob"))


def _files(version: Version) -> tuple[facts.FileFacts, ...]:
    sources = annotated_files.sources(version)
    return tuple(
        facts.FileFacts(
            file.path,
            file.blob_id,
            file.blob.size,
            file.derived,
            sources.get(file.blob_id, "") if file.derived else "",
        )
        for file in _FILES.instances(version.pk)
        if not (
            derived_files.is_in(file, networks.FOLDER) or derived_files.is_in(file, tensors.FOLDER)
        )
    )


def _benchmark_part(version: Version) -> Describe:
    """What describes the trusted benchmarks that count, in the order of their arrival."""
    main = version.variants.order_by("pk").first()
    rows = sorted(selectors.of_version(version), key=lambda row: row.pk)
    trusted = [row for row in rows if row.status in Measurement.PUBLIC and row.is_trusted]
    in_lists = {speed.result for speed in speed_index.of_main(main)} if main and rows else set()

    def describe(graph: Graph, iri: str) -> None:
        for row in trusted:
            is_main = main is not None and row.variant.name == main.name
            subject = iri if is_main else variant_of(iri, row.variant.name)
            benchmarks.describe(graph, iri, subject, row, is_listed=row.pk in in_lists)

    return describe


version_parts.register("metadata", VersionPart(_benchmark_part))


def model_facts(model: RegisteredModel) -> facts.ModelFacts:
    """The facts of a model as guests see it."""
    rows = list(versions_of(model))
    published = [
        row for row in rows if row.state == Version.State.PUBLISHED and row.branch == "main"
    ]
    newest = max(published, key=lambda row: row.number, default=None)
    return _fill(
        facts.ModelFacts,
        model,
        namespace=_namespace(model.namespace),
        published_at=model.first_published_at,
        licenses=licences.of_column(model.license, newest.typed_card.licenses if newest else ()),
        keywords=tuple(map(str, model.keywords)),
        versions=tuple(row.number for row in rows),
        newest=newest.number if newest else None,
        card_licenses=licences.named(*newest.typed_card.licenses) if newest else (),
        former=tuple(_former(model, rows)),
        withdrawal=_deletion(model),
        deprecation=_deprecation(model),
    )


def _deprecation(row: RegisteredModel | Version) -> facts.DeprecationFacts | None:
    """The deprecation of a row itself; its successor only where that is public."""
    deprecation: Deprecation | None = getattr(row, "deprecation", None)
    if deprecation is None:
        return None
    model = deprecation.successor
    if model is None or not model.is_public:
        return facts.DeprecationFacts(deprecation.message)
    name = (model.namespace.slug, model.name)
    return facts.DeprecationFacts(deprecation.message, name, deprecation.successor_number)


def _former(model: RegisteredModel, rows: list[Version]) -> Iterator[facts.FormerFacts]:
    """The names that lead to a model, each with the versions that were public under it."""
    for name in moves.former_names(model):
        published = [row for row in rows if row.published_at and row.published_at <= name.at]
        if published:
            space, _, own = name.spelt.partition("/")
            yield facts.FormerFacts(space, own, tuple(row.number for row in published))


def dataset_facts(dataset: Dataset) -> facts.DatasetFacts:
    """The description of a data set."""
    return _fill(
        facts.DatasetFacts,
        dataset,
        publisher=_namespace(dataset.namespace),
        licenses=licences.named(dataset.license),
        categories=tuple(map(str, dataset.categories)),
        title=dataset.public_title,
        versions=tuple(_dataset_versions(dataset)),
        withdrawal=_withdrawal(dataset, dataset.withdrawn_at, dataset.reason),
    )


def _withdrawal(
    row: Dataset | Version, at: datetime | None, reason: str
) -> facts.WithdrawalFacts | None:
    """The withdrawal of a row, with the user of its event; None for a row that is not withdrawn."""
    if at is None:
        return None
    kind = row._meta.model_name  # noqa: SLF001 - Django's documented API
    ended = Event.objects.filter(
        subject_kind=kind, subject_id=str(row.pk), verb=f"{kind}.withdrawn"
    )
    by = ended.order_by("-pk").values_list("actor__username", flat=True).first()
    return facts.WithdrawalFacts(at, reason, by or "")


def _deletion(model: RegisteredModel) -> facts.WithdrawalFacts | None:
    """The deletion of a model that left a tombstone; None for any other."""
    tombstone = tombstones.of(model)
    if tombstone is None:
        return None
    return facts.WithdrawalFacts(tombstone.at, tombstone.reason, tombstone.by)


def _dataset_versions(dataset: Dataset) -> Iterator[facts.DatasetVersionFacts]:
    """The newest with its files and splits, and those before it without."""
    rows = list(dataset.versions.order_by("-number")[:_MOST_DATASET_VERSIONS])
    for index, row in enumerate(rows):
        is_newest = index == 0
        files = row.files.select_related("blob") if is_newest else ()
        splits = row.typed_splits if is_newest else ()
        yield _fill(
            facts.DatasetVersionFacts,
            row,
            files=tuple(facts.FileFacts(file.path, file.blob_id, file.blob.size) for file in files),
            splits=tuple((split.name, split.files) for split in splits),
        )


def agent_facts(login: str) -> facts.AgentFacts | None:
    """The namespace or user of a name; None where there is neither."""
    space = Namespace.objects.filter(slug__iexact=login).first()
    if space is not None:
        return _namespace(space)
    user = User.objects.filter(username__iexact=login).first()
    return facts.AgentFacts(user.username) if user is not None else None


def _namespace(space: Namespace) -> facts.AgentFacts:
    return facts.AgentFacts(space.slug, space.kind == Namespace.Kind.ORG, space.display_name)


def entries(version: Version) -> tuple[facts.EntryFacts, ...]:
    """The data sets of this hub that names in a card mean, each with these names' keys."""
    datasets = resolution.datasets_of(version.model, mentions.datasets_in(version.typed_card))
    keys: dict[str, list[str]] = {}
    for key, entry in sorted(datasets.items()):
        keys.setdefault(entry.slug, []).append(key)
    return tuple(facts.EntryFacts(slug, tuple(names)) for slug, names in sorted(keys.items()))


def _bases(version: Version) -> tuple[tuple[facts.BaseFacts, ...], tuple[str, ...]]:
    """The public versions that a card's base models mean, and the names that are undecided.

    A name without a number means the newest version that is older than this one: so no two versions
    come from each other. One without a namespace may mean any model, and one
    that a model of this hub had then, though the card need not mean that, is undecided.
    """
    bases = tuple(
        facts.BaseFacts(
            mentions.key(name), base.model.namespace.slug, base.model.name, base.number, has_number
        )
        for name, base, has_number in relatives.public_bases(version)
    )
    keys = {*map(mentions.key, version.typed_card.base_models)} - {base.named for base in bases}
    bare = sorted(name for name in keys if resolution.elsewhere(name))[: relatives.MOST_BASES]
    return bases, tuple(sorted(resolution.undecided(version, bare))) if bare else ()


_PREVIOUS = Prepared(
    lambda model_id, number: (
        versions_of(model_id)
        .filter(number__lt=number)
        .order_by("-number")
        .values_list("number")[:1]
    )
)


def _previous(version: Version) -> int | None:
    """The newest served version before this one."""
    for (number,) in _PREVIOUS.rows(version.model_id, version.number):
        return int(number)
    return None


def _jobs(variants: list[Variant]) -> dict[str, Job]:
    uuids = [row.job_uuid for row in variants if row.derived_from_id and row.job_uuid]
    rows = Job.objects.filter(pk__in=uuids).defer("report")
    return {str(job.pk): job for job in rows}
