"""What a new hub begins with: an administrator, the house's own namespace, and its samples.

The data sets come first, so that the cards of the models name something of this hub. The models go
the way of every model: drafted, submitted, checked by the worker, then published.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import structlog
import yaml
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from hub.protocol.refs import DEFAULT_NAMESPACE
from hub.server import samples
from registry.datasets import services as datasets
from registry.models import Dataset, Namespace, RegisteredModel, RetiredName, User, Version
from registry.people.services import namespaces, users
from registry.storage.services import blobs, uploads
from registry.versions.services import files, registered_models, versions
from runners.first_models import first_models
from runners.models import Job

log = structlog.get_logger(__name__)


@transaction.atomic
def make_admin(password: str, *, is_temporary: bool = False) -> User:
    """The first administrator, who owns the house's namespace; raises as `users.create` does."""
    admin = users.create(
        username="admin", password=password, superuser=True, is_temporary=is_temporary
    )
    if not Namespace.objects.filter(slug=DEFAULT_NAMESPACE).exists():
        namespaces.open_for(admin, slug=DEFAULT_NAMESPACE, display_name="Models of this hub")
    return admin


def plant() -> None:
    """Publish each sample data set and submit each sample model that this hub has not got yet."""
    admin = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    zoo = Namespace.objects.filter(slug=DEFAULT_NAMESPACE).first()
    if admin is None or zoo is None:
        return
    for data_set in samples.DATA_SETS:
        same = Q(slug=data_set.slug) | Q(iri__iexact=data_set.iri)
        if not Dataset.objects.filter(same).exists():
            _publish(admin, zoo, data_set)
            log.info("sample_dataset_published", dataset=data_set.slug)
    for sample in samples.SAMPLES:
        ref = f"{zoo.slug}/{sample.name}"
        exists = RegisteredModel.objects.filter(namespace=zoo, name__iexact=sample.name).exists()
        if not exists and not RetiredName.objects.filter(name=ref.lower()).exists():
            _submit(admin, zoo, sample)
            log.info("sample_submitted", model=ref)


def request_models() -> list[str]:
    """Request the models that capabilities bring to a new hub; a line for each that has any."""
    admin = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    lines = [models.request(admin) for models in first_models if admin is not None]
    return [line for line in lines if line]


def unchecked() -> list[str]:
    """The samples, as namespace/model, whose checks have not ended; the one at work first."""
    is_running = Exists(Job.objects.filter(version=OuterRef("pk"), state=Job.State.RUNNING))
    rows = _first_versions().filter(state=Version.State.SUBMITTED).annotate(is_running=is_running)
    order = [sample.name for sample in samples.SAMPLES]
    ranked = sorted(rows, key=lambda row: (not row.is_running, order.index(row.model.name)))
    return [row.model.ref for row in ranked]


def refused() -> list[str]:
    """The samples, as namespace/model, that did not pass their checks."""
    return [row.model.ref for row in _first_versions().filter(state=Version.State.DRAFT)]


def _first_versions() -> QuerySet[Version]:
    return Version.objects.select_related("model__namespace").filter(
        number=1,
        model__namespace__slug=DEFAULT_NAMESPACE,
        model__name__in=[sample.name for sample in samples.SAMPLES],
        model__deleted_at=None,
    )


@transaction.atomic
def _publish(admin: User, zoo: Namespace, sample: samples.DataSet) -> None:
    entry = datasets.create(
        admin,
        namespace=zoo,
        **asdict(sample),
    )
    datasets.publish_version(
        admin,
        dataset=entry,
        files={path: _store(admin, file) for path, file in samples.dataset_files(sample).items()},
        splits=yaml.safe_load(sample.splits.read_text(encoding="utf-8")),
        message="Rows that the sample models never saw",
    )


@transaction.atomic
def _submit(admin: User, zoo: Namespace, sample: samples.Sample) -> None:
    model = registered_models.create(
        admin,
        namespace=zoo,
        name=sample.name,
        summary=sample.summary,
        license=sample.license,
        task=sample.task,
        keywords=list(sample.keywords),
    )
    version = versions.draft(admin, model=model, message="Sample model")
    for path, source in samples.files(sample).items():
        digest = _store(admin, source)
        files.put(admin, version=version, path=path, digest=digest)
    versions.submit(admin, version=version, publish=True)


def _store(admin: User, source: Path) -> str:
    """Store a file as if ``admin`` had uploaded it, which is the right to link it."""
    blob = blobs.write(source.read_bytes())
    uploads.credit(admin, blob=blob, filename=source.name)
    return f"sha256:{blob.sha256}"
