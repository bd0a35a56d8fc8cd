"""Finding data sets, their versions and files, and who uses them.

Everyone sees the entries, their versions and their files; who uses them, as far as models are
visible.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.db.models import BigIntegerField, Count, F, Func, Max, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from hub.protocol import problems
from registry.cards import resolution
from registry.core.event_subjects import Description
from registry.core.permissions import Actor, require_user
from registry.core.prepared_queries import Prepared
from registry.models import (
    Blob,
    Dataset,
    DatasetFile,
    DatasetVersion,
    Event,
    Namespace,
    Upload,
    Version,
)
from registry.models.versions import VersionQuerySet

PAGE = 50
USES = 100
MOST_EVALUABLE = 500
_NOT_USED = (Version.State.DRAFT, Version.State.WITHDRAWN)


def dataset(slug: str) -> Dataset:
    """The entry of that name, ignoring case; raises NotFound."""
    return problems.expect(
        Dataset.objects.select_related("namespace").filter(slug=slug.lower()).first(),
        problems.NotFound(f"Data set {slug} not found. See /datasets for the list."),
    )


def describe(_actor: Actor, event: Event) -> Description | None:
    """The entry that an event was about."""
    row = Dataset.objects.filter(pk=int(event.subject_id)).first()
    if row is None:
        return None
    number = event.data.get("number")
    names = {"dataset": row.slug} | ({} if number is None else {"version": number})
    return Description(f"/datasets/{row.slug}", names)


def namespace_of(event: Event) -> int | None:
    """The key of the namespace of the entry that an event was about."""
    rows = Dataset.objects.filter(pk=int(event.subject_id))
    return rows.values_list("namespace", flat=True).first()


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


def versions(of: Dataset) -> QuerySet[DatasetVersion]:
    """The versions of a data set, newest first, each with its ``file_count`` and ``size_bytes``."""
    return of.versions.select_related("dataset", "created_by").annotate(
        file_count=Count("files"), size_bytes=Coalesce(Sum("files__blob__size"), 0)
    )


def newest_numbers(of: Sequence[Dataset]) -> dict[int, int]:
    """The number of the newest version of each data set that has one, by the data set's id."""
    rows = DatasetVersion.objects.filter(dataset__in=of).order_by().values_list("dataset")
    return dict(rows.annotate(newest=Max("number")))


def evaluable(*, limit: int = MOST_EVALUABLE) -> list[DatasetVersion]:
    """The newest version of each data set that has one with splits, by name."""
    rows = DatasetVersion.objects.filter(dataset__withdrawn_at=None).exclude(splits=[])
    newest = rows.order_by().values("dataset").annotate(newest=Max("pk")).values("newest")
    versions = DatasetVersion.objects.filter(pk__in=newest).select_related("dataset")
    return list(versions.order_by("dataset__slug")[:limit])


def version(of: Dataset, number: int) -> DatasetVersion:
    """A version with its files and their blobs; raises NotFound."""
    return problems.expect(
        versions(of).prefetch_related("files__blob").filter(number=number).first(),
        problems.NotFound(
            f"Data set {of.slug} has no version {number}. See /datasets/{of.slug} for the list."
        ),
    )


def file(of: Dataset, number: int, path: str) -> DatasetFile:
    """A file of a version with its blob; raises NotFound, and Withdrawn with the reason."""
    if of.withdrawn_at is not None:
        raise problems.Withdrawn(f"The data set {of.slug} was withdrawn: {of.reason}")
    rows = DatasetFile.objects.filter(version__dataset=of, version__number=number, path=path)
    return problems.expect(
        rows.select_related("blob").first(),
        problems.NotFound(f"Version {number} of data set {of.slug} has no file {path}."),
    )


def missing(actor: Actor, sha256s: Collection[str]) -> set[str]:
    """Digests whose bytes are neither an upload of the actor's nor public here already.

    What a model holds does not count: its files may be private, and those of a data set are public.
    """
    user = require_user(actor, any_namespace=True)
    uploaded = Upload.objects.of(user).filter(blob__in=sha256s, state=Upload.State.STORED)
    return set(sha256s).difference(
        uploaded.values_list("blob", flat=True),
        public_files(sha256s).values_list("blob", flat=True),
    )


def expect_linkable(missing: Collection[str]) -> None:
    """Raise BlobUnknown where bytes are missing; its member ``missing`` names all of them."""
    if missing:
        raise problems.BlobUnknown(
            f"You have not uploaded sha256:{min(missing)}. Upload it first (POST /api/v1/uploads).",
            missing=[f"sha256:{sha256}" for sha256 in sorted(missing)],
        )


def public_files(sha256s: Collection[str]) -> QuerySet[DatasetFile]:
    """Files of data sets, none of them withdrawn, with some bytes."""
    return DatasetFile.objects.filter(blob__in=sha256s, version__dataset__withdrawn_at=None)


def holding(blob: Any) -> list[QuerySet[Any]]:
    """Queries that are empty where no data set has a blob; withdrawn ones can be restored."""
    return [DatasetFile.objects.filter(blob=blob)]


def size(namespace: Namespace) -> int:
    """Bytes of the data sets of a namespace, the same bytes counted once."""
    ((total,),) = _sum_of.rows(namespace.pk)
    return int(total or 0)


def bytes_to_add(namespace: Namespace, adding: Iterable[Blob]) -> int:
    """By how much ``size`` grows with these blobs."""
    by_digest = {blob.pk: blob.size for blob in adding}
    for sha256 in _blobs_of(namespace.pk).filter(blob__in=by_digest).distinct():
        del by_digest[sha256]
    return sum(by_digest.values())


def _blobs_of(namespace: int) -> QuerySet[DatasetFile, str]:
    rows = DatasetFile.objects.filter(version__dataset__namespace=namespace)
    return rows.order_by().values_list("blob", flat=True)


@Prepared
def _sum_of(namespace: int) -> QuerySet[Blob, Any]:
    # An aggregate would group the rows.
    total = Func(F("size"), function="SUM", output_field=BigIntegerField())
    return Blob.objects.filter(pk__in=_blobs_of(namespace)).order_by().values_list(total)


# Every upload asks for this sum.


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
    counts = (
        rows.order_by().values_list("meaning").annotate(n=Count("version__model", distinct=True))
    )
    return dict(counts)


def _visible(actor: Actor) -> VersionQuerySet:
    return Version.objects.visible_to(actor).exclude(state__in=_NOT_USED)
