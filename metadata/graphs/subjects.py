"""Rows of the rooms below as facts to project, and who may have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metadata.graphs import facts
from registry.cards import cards, licences, mentions, resolution
from registry.federated import history, privacy
from registry.models import Check, Namespace, RegisteredModel, User, Version
from registry.models.registered_models import listed_for_everybody
from registry.versions import moves
from runners.benchmarks import selectors, speed_index
from runners.graphs import annotated_files, derived_files, networks, tensors
from runners.models import Job, Measurement
from runners.proofs import selectors as proof_selectors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import QuerySet

    from registry.models import Dataset, Variant

_COLUMNS = (
    "status", "comparability_key", "device", "device_title", "runtime", "runtime_version",
    "provider", "scenario", "call_style", "batch", "threads", "p50_ms", "p90_ms", "p99_ms",
    "throughput_per_s", "cpu_ms", "peak_rss_bytes", "energy_j", "energy_provenance", "carbon_g",
    "carbon_provenance",
)  # fmt: skip
# Names without a number that are looked for; nobody merges more.
_MOST_BASES = 10


def is_public(version: Version) -> bool:
    """Whether everybody may have a version's graph: released, not withdrawn, of a public model."""
    return version.is_served and version.model.is_public


def versions_of(model: RegisteredModel) -> QuerySet[Version]:
    """The versions of a model that its graph names."""
    return Version.objects.filter(model=model, state__in=Version.SERVED).order_by("number")


def version_facts(version: Version) -> facts.VersionFacts:
    """What is known of a version, in a fixed number of queries."""
    model = version.model
    card = cards.Card(version.card, cards.body(version.readme))
    variants = list(version.variants.select_related("entry", "derived_from").order_by("pk"))
    jobs = _jobs(variants)
    sources = annotated_files.sources(version)
    return facts.VersionFacts(
        namespace=model.namespace.slug,
        name=model.name,
        number=version.number,
        state=str(version.state),
        uploader=version.created_by.username,
        created_at=version.created_at,
        published_at=version.published_at,
        ended_at=version.ended_at,
        label=version.label,
        reason=version.reason,
        manifest_sha256=version.manifest_sha256,
        previous=_previous(version),
        summary=card.summary or model.summary,
        body=card.body.strip(),
        licenses=card.licenses or licences.named(model.license),
        license_expression=licences.expression(card.front.get("license") or model.license),
        task=card.task or model.task,
        keywords=tuple(card.keywords or map(str, model.keywords)),
        card=dict(version.card),
        is_gated=model.is_gated,
        **_bases(version),
        entries=entries(version),
        files=tuple(
            facts.FileFacts(
                file.path,
                file.blob_id,
                file.blob.size,
                file.derived,
                sources.get(file.blob_id, "") if file.derived else "",
            )
            for file in version.files.select_related("blob")
            if not (
                derived_files.is_in(file, networks.FOLDER)
                or derived_files.is_in(file, tensors.FOLDER)
            )
        ),
        variants=tuple(_variant(row, jobs) for row in variants),
        checks=tuple(
            facts.CheckFacts(row.kind, str(row.outcome), row.report or {}, row.updated_at)
            for row in Check.objects.filter(version=version)
        ),
        results=tuple(
            facts.ResultFacts(
                key=row.pk,
                variant=row.variant.name,
                runtime=row.runtime,
                runtime_version=row.runtime_version,
                check=str(row.check_kind),
                outcome=str(row.outcome),
                blames=str(row.blames),
                reason=row.reason,
                at=row.at,
                figures=list(row.figures),
                runs=row.runs,
            )
            for row in proof_selectors.results_of(version)
        ),
        benchmarks=tuple(_benchmarks(version, next(iter(variants), None))),
        **_rounds(version),
    )


def _rounds(version: Version) -> dict[str, Any]:
    """The rounds that a version came of; nothing where none did."""
    told = history.of(version)
    if told is None:
        return {}
    rows = (
        facts.RoundFacts(
            number=row.number,
            contributions=row.contributions,
            examples=row.examples,
            rule=row.rule,
            opened_at=row.opened_at,
            ended_at=row.ended_at,
            parameters=row.parameters,
            left_out=row.left_out,
            noise_multiplier=row.noise_multiplier,
        )
        for row in told.rounds
    )
    return {
        "rounds": tuple(rows), "rounds_from": told.base, "privacy": _privacy(told.privacy),
    }  # fmt: skip


def _privacy(of: privacy.Statement) -> facts.PrivacyFacts | None:
    if of.epsilon is None or of.epsilon_replace_one is None:
        return None
    return facts.PrivacyFacts(of.epsilon, of.epsilon_replace_one, of.delta, privacy.NEIGHBOURS)


def _benchmarks(version: Version, main: Variant | None) -> Iterator[facts.BenchmarkFacts]:
    """The trusted results of benchmarks that count and say something, in order of their coming."""
    rows = selectors.of_version(version)
    listed = {speed.result for speed in speed_index.of_main(main)} if main and rows else set()
    for row in sorted(rows, key=lambda row: row.pk):
        if row.status in Measurement.SHOWN and row.is_trusted:
            yield facts.BenchmarkFacts(
                key=row.pk,
                variant=row.variant.name,
                entry=row.variant.entry.path,
                environment=row.environment_id,
                at=row.at,
                started_at=row.started_at,
                job=str(row.job_id or ""),
                contributor=row.contributor.username if row.contributor else "",
                is_listed=row.pk in listed,
                record=row.record_file.path if row.record_file else "",
                samples=row.samples_file.path if row.samples_file else "",
                **{name: getattr(row, name) for name in _COLUMNS},
            )


def model_facts(model: RegisteredModel) -> facts.ModelFacts:
    """What is known of a model as guests see it."""
    rows = list(versions_of(model))
    newest = [row for row in rows if row.state == Version.State.PUBLISHED and row.branch == "main"]
    last = max(newest, key=lambda row: row.number, default=None)
    space = model.namespace
    return facts.ModelFacts(
        namespace=_namespace(space),
        name=model.name,
        created_at=model.created_at,
        published_at=model.first_published_at,
        summary=model.summary,
        licenses=licences.named(model.license),
        task=model.task,
        keywords=tuple(map(str, model.keywords)),
        versions=tuple(row.number for row in rows),
        newest=last.number if last else None,
        card_licenses=cards.Card(last.card, "").licenses if last else (),
        is_gated=model.is_gated,
        former=tuple(_former(model, rows)),
    )


def _former(model: RegisteredModel, rows: list[Version]) -> Iterator[facts.FormerFacts]:
    """The names that lead to a model, each with the versions that were public under it."""
    for name in moves.former_names(model):
        published = [row for row in rows if row.published_at and row.published_at <= name.at]
        if published:
            space, _, spelt = name.spelt.partition("/")
            yield facts.FormerFacts(space, spelt, tuple(row.number for row in published))


def dataset_facts(dataset: Dataset) -> facts.DatasetFacts:
    """The description of a data set."""
    space = dataset.namespace
    return facts.DatasetFacts(
        slug=dataset.slug,
        publisher=_namespace(space),
        title=dataset.title,
        created_at=dataset.created_at,
        updated_at=dataset.updated_at,
        description=dataset.description,
        iri=dataset.iri,
        licenses=licences.named(dataset.license),
        personal_data=str(dataset.personal_data),
        categories=tuple(map(str, dataset.categories)),
        legal_basis=dataset.legal_basis,
        source=dataset.source,
        rows=dataset.rows,
        size_bytes=dataset.size_bytes,
        collected_on=dataset.collected_on,
    )


def agent_facts(login: str) -> facts.AgentFacts | None:
    """Who publishes under a name, or uploads by it; None where it is nobody's."""
    space = Namespace.objects.filter(slug__iexact=login).first()
    if space is not None:
        return _namespace(space)
    user = User.objects.filter(username__iexact=login).first()
    return facts.AgentFacts(user.username) if user is not None else None


def _namespace(space: Namespace) -> facts.AgentFacts:
    return facts.AgentFacts(space.slug, space.kind == Namespace.Kind.ORG, space.display_name)


def entries(version: Version) -> tuple[facts.EntryFacts, ...]:
    """The data sets of this hub that names in a card mean, each with these names' keys."""
    meant = resolution.datasets_of(version.model, mentions.datasets_in(version.card))
    keys: dict[str, list[str]] = {}
    for key, entry in sorted(meant.items()):
        keys.setdefault(entry.slug, []).append(key)
    return tuple(facts.EntryFacts(slug, tuple(names)) for slug, names in sorted(keys.items()))


def _bases(version: Version) -> dict[str, Any]:
    """For each model that a card names without a number: the version of it that is meant here.

    It is the newest that was there before this one was begun, as far as everybody may see it now:
    so no two versions come from each other. A name without a namespace may be anybody's, and one
    that a model of this hub had then, though the card need not mean that, stays ``undecided``.
    """
    wanted = [name for name in sorted(mentions.models_in(version.card)) if name.count("/") == 1]
    wanted = wanted[:_MOST_BASES]
    if not wanted:
        return {}
    public = RegisteredModel.objects.filter(listed_for_everybody())
    meant = resolution.models_of(version.model, wanted, public)
    rows = Version.objects.filter(state__in=Version.SERVED, created_at__lt=version.created_at)
    columns = ("model__namespace__slug", "model__name", "number")
    newest = rows.order_by("-number").values_list(*columns)
    found = {name: newest.filter(model=pk).first() for name, pk in meant.items()}
    known = {name for name, row in found.items() if row}
    return {
        "bases": tuple(facts.BaseFacts(name, *row) for name, row in found.items() if row),
        "undecided": tuple(sorted(resolution.undecided(version, wanted) - known)),
    }


def _previous(version: Version) -> int | None:
    """The newest version before this one that everybody may still have."""
    rows = versions_of(version.model).filter(number__lt=version.number)
    return rows.order_by("-number").values_list("number", flat=True).first()


def _variant(row: Variant, jobs: dict[str, facts.JobFacts]) -> facts.VariantFacts:
    return facts.VariantFacts(
        name=row.name,
        entry=row.entry.path,
        origin=str(row.origin),
        opset=row.opset,
        ir_version=row.ir_version,
        precision=row.precision,
        parameters=row.parameters,
        facts=row.typed_facts,
        source=row.derived_from.name if row.derived_from else "",
        derivation=row.derivation,
        proof_strength=row.proof_strength,
        proof_sentence=row.proof_sentence,
        job=jobs.get(str(row.job_uuid)),
    )


def _jobs(variants: list[Variant]) -> dict[str, facts.JobFacts]:
    uuids = [row.job_uuid for row in variants if row.derived_from_id and row.job_uuid]
    return {
        str(job.pk): facts.JobFacts(
            str(job.pk), job.kind, started_at=job.started_at, finished_at=job.finished_at
        )
        for job in Job.objects.filter(pk__in=uuids).defer("report")
    }
