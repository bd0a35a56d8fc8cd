"""Importing a starter model: a job fetches its packages, takes its files out, and publishes them.

The archive is any stored file with the digest of the manifest, so that what was uploaded, or
fetched by an attempt that ended, is not fetched again. Files leave the archive in the sandbox
alone. The version goes the way of every version: drafted, submitted, checked, then published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import structlog
from django.db import transaction
from django.db.models import QuerySet

from hub.counting import plural
from hub.protocol import problems, stored
from hub.protocol.refs import DEFAULT_NAMESPACE
from registry.core.permissions import Actor, require_admin
from registry.datasets import services as datasets
from registry.models import (
    Blob,
    Dataset,
    DatasetVersion,
    Namespace,
    RegisteredModel,
    User,
    Version,
)
from registry.storage.services import blobs, quotas, uploads
from registry.versions.services import files, registered_models, versions
from runners.models import Job
from runners.queue import order, services
from runners.queue.job_kinds import Staged
from runners.starter import fetching, manifest
from runners.starter.manifest import DataSet, Model, Package

log = structlog.get_logger(__name__)

KIND = "import"
# At the start of a hub they precede first evidence: each takes seconds, a first benchmark minutes.
ON_REQUEST, AT_START = 2, order.FIRST - 1
_FETCHED_PERCENT = 60
_LABELS = "labels.txt"


def request(actor: Actor, *, model: Model, priority: int = ON_REQUEST) -> Job:
    """Queue the import of a model, once at a time; for administrators.

    Raises StateConflict where this hub has it, or has another model of its name.
    """
    user = require_admin(actor)
    namespace()
    if version_of(model) is not None:
        raise problems.StateConflict(f"{DEFAULT_NAMESPACE}/{model.name} is imported already.")
    _expect_free(model)
    job_input = {"model": model.name, "label": model.label}
    return services.enqueue(
        kind=KIND,
        version=None,
        job_input=job_input,
        priority=priority,
        requester=user,
        max_attempts=2,
    )


def request_first(actor: User) -> str:
    """Queue the models that a new hub begins with; says so in one line."""
    missing = [
        model
        for model in manifest.models().values()
        if model.is_first and version_of(model) is None and not _was_requested(model)
    ]
    for model in missing:
        try:
            request(actor, model=model, priority=AT_START)
        except problems.Problem as problem:
            log.warning("starter_left_out", model=model.name, reason=str(problem))
    if not missing:
        return ""
    megabytes = sum(model.size for model in missing) / 1e6
    return (
        f"Importing {plural(len(missing), 'trained model')} ({megabytes:.0f} MB) from packages "
        "once the samples are checked; --no-starter leaves them out."
    )


def namespace() -> Namespace:
    """The namespace of starter models; raises NotFound."""
    row = Namespace.objects.filter(slug=DEFAULT_NAMESPACE).first()
    if row is None:
        raise problems.NotFound(f"Create the namespace {DEFAULT_NAMESPACE} first.")
    return row


def version_of(model: Model) -> Version | None:
    """The version that holds a model of the manifest, in any state."""
    return _versions(model).filter(model__deleted_at=None).first()


def was_deleted(model: Model) -> bool:
    """Whether the version that held a model was deleted with all of its model."""
    return _versions(model).filter(model__deleted_at__isnull=False).exists()


def _versions(model: Model) -> QuerySet[Version]:
    return Version.objects.select_related("model__namespace").filter(
        model__namespace__slug=DEFAULT_NAMESPACE, model__name=model.name, label=model.label
    )


def jobs_of(names: Iterable[str]) -> dict[str, Job]:
    """The newest import of each of these models, by name."""
    rows = Job.objects.filter(kind=KIND, version=None, input__model__in=list(names))
    return {str(job.input["model"]): job for job in rows.order_by("queued_at")}


def fetch(job: Job, tell: Callable[[int, str], None], should_stop: Callable[[], bool]) -> None:
    """Bring the archives that this hub does not store; raises UnfetchedError."""
    model = _model(job)
    missing = [package for package in model.packages if not is_stored(package)]
    total, done = sum(package.size for package in missing), 0
    for package in missing:
        tell(_FETCHED_PERCENT * done // total, f"fetch {package.name}")
        with (
            fetching.fetched(package, should_stop) as archive,
            archive.open("rb") as reader,
            quotas.reserved(package.size),
        ):
            blob = blobs.copy(reader)
        if blob.sha256 != package.sha256:
            raise fetching.UnfetchedError(f"{package.archive} is not the file of the manifest.")
        done += package.size


def is_stored(package: Package) -> bool:
    """Whether the archive of a package is among the stored files, or a moment ago was."""
    return Blob.objects.filter(pk=package.sha256, erased_at=None).exists()


def stage(job: Job, path_of: Callable[[str], Path]) -> Staged:
    """The archives of a model, and the files to take out of them; raises GoneError."""
    staged, model = Staged(path_of), _model(job)
    for package in model.packages:
        staged.add(package.archive, package.sha256)
    staged.options = {"members": members(model)}
    if model.data is not None and not _is_made(model.data):
        paths = _paths(model)
        labels = {"labels": paths.index(_LABELS)} if _LABELS in paths else {}
        staged.options |= {"data": model.data.name, **labels}
    return staged


def members(model: Model) -> list[dict[str, Any]]:
    """The files of a model as the engine's task takes them, in the order of the manifest."""
    rows = []
    for package in model.packages:
        for file in package.files:
            row = {"archive": package.archive, **asdict(file)}
            del row["path"]
            rows.append(row)
    return rows


def take(job: Job) -> None:
    """Publish the files that a job took out of packages; once, however often it is called."""
    model = _model(job)
    if job.requester is None or version_of(model) is not None:
        return
    try:
        version = _submit(job.requester, model, job)
    except problems.Problem as problem:
        log.warning("starter_refused", model=model.name, reason=str(problem))
        Job.objects.filter(pk=job.pk).update(error_detail=str(problem)[:2000])
    else:
        log.info("starter_submitted", version=version.ref)


@transaction.atomic
def _submit(actor: User, model: Model, job: Job) -> Version:
    outputs = job.typed_report.files
    facts = job.typed_report.facts
    if model.data is not None and facts.get("files") and not _is_made(model.data):
        _publish(actor, model.data, facts, outputs)
    described = RegisteredModel.objects.filter(
        namespace=namespace(), name__iexact=model.name, deleted_at=None
    ).first()
    if described is None:
        described = registered_models.create(
            actor,
            namespace=namespace(),
            name=model.name,
            summary=model.summary,
            license=model.licences.weights,
            task=model.task,
            keywords=list(model.card["tags"]),
        )
    version = versions.draft(
        actor, model=described, message=f"From the package {model.title}", label=model.label
    )
    for number, path in enumerate(_paths(model)):
        sha256 = outputs[str(number)]
        uploads.credit(actor, blob=Blob.objects.get(pk=sha256), filename=path)
        files.put(actor, version=version, path=path, digest=f"sha256:{sha256}")
    files.write_card(actor, version=version, text=model.card_text())
    return versions.submit(actor, version=version, publish=True)


def _publish(
    actor: User, data: DataSet, facts: Mapping[str, Any], outputs: Mapping[str, str]
) -> None:
    """Publish a data set that the job made; raises what `datasets.publish_version` does."""
    own = {
        path: outputs[str(output)] for path, output in stored.mapping(facts.get("files")).items()
    }
    for path, sha256 in own.items():
        uploads.credit(actor, blob=Blob.objects.get(pk=sha256), filename=path)
    entry = Dataset.objects.filter(slug=data.name).first() or datasets.create(
        actor,
        namespace=namespace(),
        slug=data.name,
        **data.entry,
    )
    datasets.publish_version(
        actor,
        dataset=entry,
        files={path: f"sha256:{sha256}" for path, sha256 in own.items()},
        splits=facts.get("splits"),
        message="Made by seeded code",
    )


def _is_made(data: DataSet) -> bool:
    """Whether the data set has a version, or its name belongs to an entry of another namespace."""
    others = Dataset.objects.filter(slug=data.name).exclude(namespace__slug=DEFAULT_NAMESPACE)
    return others.exists() or DatasetVersion.objects.filter(dataset__slug=data.name).exists()


def _paths(model: Model) -> list[str]:
    return [file.path for package in model.packages for file in package.files]


def _model(job: Job) -> Model:
    try:
        model = manifest.model(str(job.input.get("model")))
    except problems.NotFound as error:
        raise fetching.UnfetchedError(str(error)) from None
    if model.label != job.input.get("label"):
        raise fetching.UnfetchedError(
            f"The manifest has another {model.name} now. Import it again."
        )
    return model


def _expect_free(model: Model) -> None:
    """Raise StateConflict where the name belongs to a model that is no starter model."""
    others = RegisteredModel.objects.filter(
        namespace__slug=DEFAULT_NAMESPACE, name__iexact=model.name, deleted_at=None
    ).exclude(versions__label__startswith="starter-")
    if others.exists():
        raise problems.StateConflict(
            f"{DEFAULT_NAMESPACE}/{model.name} is another model. Rename or delete it first."
        )


def _was_requested(model: Model) -> bool:
    job = jobs_of([model.name]).get(model.name)
    if job is None or job.input.get("label") != model.label:
        return False
    return job.state != Job.State.FAILED
