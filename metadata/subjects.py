"""Rows of the rooms below as facts to project, and who may have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metadata import facts
from registry import cards
from registry.models import Check, Namespace, Version
from runners import proofs
from runners.models import Job

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from registry.models import RegisteredModel, Variant

SHOWN = (Version.State.PUBLISHED, Version.State.YANKED)


def is_public(version: Version) -> bool:
    """Whether everybody may have a version's graph: released, not withdrawn, of a public model."""
    return version.state in SHOWN and version.model.is_public


def versions_of(model: RegisteredModel) -> QuerySet[Version]:
    """The versions of a model that its graph names."""
    return Version.objects.filter(model=model, state__in=SHOWN).order_by("number")


def version_facts(version: Version) -> facts.VersionFacts:
    """What is known of a version, in a fixed number of queries."""
    model = version.model
    card = cards.Card(version.card, cards.parse(version.readme).body if version.readme else "")
    variants = list(version.variants.select_related("entry", "derived_from").order_by("pk"))
    jobs = _jobs(variants)
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
        license=card.license or model.license,
        task=card.task or model.task,
        keywords=tuple(card.keywords or map(str, model.keywords)),
        card=dict(version.card),
        files=tuple(
            facts.FileFacts(file.path, file.blob_id, file.blob.size, file.derived)
            for file in version.files.select_related("blob")
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
            )
            for row in proofs.results_of(version)
        ),
    )


def model_facts(model: RegisteredModel) -> facts.ModelFacts:
    """What is known of a model as guests see it."""
    rows = list(versions_of(model).select_related("created_by"))
    newest = [
        row.number for row in rows if row.state == Version.State.PUBLISHED and row.branch == "main"
    ]
    space = model.namespace
    return facts.ModelFacts(
        namespace=facts.AgentFacts(
            space.slug, space.kind == Namespace.Kind.ORG, space.display_name
        ),
        name=model.name,
        created_at=model.created_at,
        published_at=model.first_published_at,
        summary=model.summary,
        license=model.license,
        task=model.task,
        keywords=tuple(map(str, model.keywords)),
        versions=tuple(row.number for row in rows),
        newest=max(newest, default=None),
        uploaders=tuple(sorted({row.created_by.username for row in rows})),
    )


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
        facts=row.facts,
        source=row.derived_from.name if row.derived_from else "",
        derivation=row.derivation,
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
