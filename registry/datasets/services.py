"""Describing data sets, publishing versions of them, and withdrawing what should not be there.

An entry is public from its first moment, and so are the files of its versions, which never change.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone

from hub.protocol import bidi, digests, manifests, problems, refs
from hub.protocol.splits import parse as parse_splits
from registry.cards import data_categories, mentions
from registry.core import events
from registry.core.permissions import Actor, require
from registry.core.row_locks import lock
from registry.datasets import previews, selectors
from registry.models import Blob, Dataset, DatasetFile, DatasetVersion, Namespace, User
from registry.models.datasets import DATASET_SLUG, WEB_ADDRESS, PersonalData
from registry.people import selectors as people_selectors
from registry.storage import bundles
from registry.storage.bundles import Bundle
from registry.storage.services import blobs, quotas, uploads

EDITABLE = (
    "title",
    "description",
    "iri",
    "license",
    "personal_data",
    "categories",
    "legal_basis",
    "source",
    "rows",
    "size_bytes",
    "collected_on",
)
# Words that are addresses of pages below /datasets.
RESERVED = frozenset({"new"})
LARGEST = 2**63 - 1


@transaction.atomic
def create(actor: Actor, *, namespace: Namespace, slug: str, **described: Any) -> Dataset:
    """Make the entry of a data set; raises NameTaken, InvalidName, NameReserved, InvalidRequest.

    ``described`` are fields of EDITABLE; without a title the slug is the title.
    """
    require(actor, "dataset.create", namespace)
    check_slug(slug)
    if Dataset.objects.filter(slug=slug).exists():
        raise problems.NameTaken.at(
            "/slug", f"Data set {slug} already exists. Edit it, or choose another name."
        )
    dataset = Dataset(namespace=namespace, slug=slug, title=slug)
    _describe(dataset, described)
    events.record("dataset.created", dataset, actor=actor, namespace=namespace.slug)
    return dataset


def check_slug(slug: str) -> None:
    """Raise InvalidName or NameReserved for a name that no new entry can have."""
    if not re.fullmatch(DATASET_SLUG, slug):
        raise problems.InvalidName.at(
            "/slug",
            f"The name {slug[:120]!r} cannot be used. Use 1 to 96 lower-case letters, digits, '_' "
            "or '-', starting and ending with a letter or digit.",
        )
    if slug in RESERVED:
        raise problems.NameReserved.at("/slug", f"{slug!r} is reserved for an address of the hub.")


@transaction.atomic
def edit(actor: Actor, *, dataset: Dataset, **described: Any) -> Dataset:
    """Change the description of a data set; fields left out stay. Raises what ``create`` does."""
    require(actor, "dataset.edit", dataset.namespace)
    dataset = lock(dataset, "namespace")
    _describe(dataset, described)
    events.record("dataset.edited", dataset, actor=actor, fields=sorted(described))
    return dataset


@transaction.atomic
def withdraw(actor: Actor, *, dataset: Dataset, reason: str, hide_title: bool = False) -> Dataset:
    """Take an entry out of lists; its page and its graph stay and say that, when and why.

    Its claims stay: personal data and licence, and its title unless that is the reason.
    """
    require(actor, "dataset.withdraw", dataset.namespace)
    if not reason.strip():
        raise problems.InvalidRequest.at(
            "/reason", "Give a reason; it is shown to people who use this data set."
        )
    dataset = lock(dataset, "namespace")
    if dataset.withdrawn_at is None:
        dataset.withdrawn_at, dataset.reason = timezone.now(), reason.strip()
        dataset.title_hidden = hide_title
        dataset.save(update_fields=["withdrawn_at", "reason", "title_hidden"])
        dataset.versions.update(previews=None)
        events.record("dataset.withdrawn", dataset, actor=actor, reason=dataset.reason)
    return dataset


@transaction.atomic
def restore(actor: Actor, *, dataset: Dataset) -> Dataset:
    """Undo a withdrawal."""
    require(actor, "dataset.withdraw", dataset.namespace)
    dataset = lock(dataset, "namespace")
    if dataset.withdrawn_at is not None:
        dataset.withdrawn_at, dataset.reason, dataset.title_hidden = None, "", False
        dataset.save(update_fields=["withdrawn_at", "reason", "title_hidden"])
        events.record("dataset.restored", dataset, actor=actor)
    return dataset


@transaction.atomic
def publish(
    actor: Actor, *, slug: str, namespace: str = "", **content: Any
) -> tuple[DatasetVersion, bool]:
    """Publish a version of the data set of that name; a missing one is made with it.

    The entry is made in ``namespace`` and in the same transaction, so a refusal leaves none.
    ``content`` is that of ``publish_version``. Raises NotFound without a namespace, and what
    ``create`` and ``publish_version`` do.
    """
    try:
        dataset = selectors.dataset(slug)
    except problems.NotFound:
        if not namespace:
            raise
        owner = people_selectors.namespace(namespace)
        try:
            dataset = create(actor, namespace=owner, slug=slug)
        except problems.NameTaken:  # by another push, just now
            dataset = selectors.dataset(slug)
    return publish_version(actor, dataset=dataset, **content)


@transaction.atomic
def publish_version(
    actor: Actor,
    *,
    dataset: Dataset,
    files: Mapping[str, str],
    splits: Any,
    message: str = "",
    sizes: Mapping[str, int] | None = None,
) -> tuple[DatasetVersion, bool]:
    """Publish ``files`` (path -> `sha256:<hex>`) as the next version; says whether it is new.

    ``splits`` are a document as hub.protocol.splits parses it. Files and splits that a version has
    already are that version. A digest is no right: its bytes must be an upload of the actor's, or
    in a public data set. With ``sizes`` (path -> bytes) of files that are yet to be sent, what they
    would run into comes before BlobUnknown. Raises InvalidRequest, PathInvalid, BlobUnknown,
    TooLarge, QuotaExceeded, StateConflict.
    """
    user = require(actor, "dataset.edit", dataset.namespace)
    sha256s, faults = parse_files(files)
    if faults:
        raise faults[0]
    parsed = parse_splits(splits, frozenset(files))
    digest = manifests.dataset_digest(sha256s, parsed)
    dataset = lock(dataset, "namespace")
    check_state(dataset)
    if same := dataset.versions.filter(sha256=digest).first():
        return same, False
    namespace = quotas.lock(dataset.namespace)
    named = set(sha256s.values())
    missing = selectors.missing(actor, named)
    if missing and sizes:
        for fault in find_excess(user, namespace, bundle=Bundle(sha256s, sizes), missing=missing):
            raise fault
    selectors.expect_linkable(missing)
    held = blobs.hold(named)
    quotas.expect(namespace, adding=selectors.bytes_to_add(namespace, held.values()))
    newest = dataset.versions.aggregate(newest=Max("number"))["newest"] or 0
    version = DatasetVersion.objects.create(
        dataset=dataset,
        number=newest + 1,
        sha256=digest,
        splits=[split.document() for split in parsed],
        message=message.strip(),
        created_by=user,
    )
    DatasetFile.objects.bulk_create(
        DatasetFile(version=version, path=path, blob=held[sha256])
        for path, sha256 in sorted(sha256s.items())
    )
    Blob.objects.filter(pk__in=named).update(touched_at=timezone.now())
    previews.write(version)
    dataset.save(update_fields=["updated_at"])
    events.record(
        "dataset.published", dataset, actor=actor, number=version.number, sha256=version.sha256
    )
    return version, True


def check_state(dataset: Dataset) -> None:
    """Raise StateConflict for a data set that takes no versions."""
    if dataset.withdrawn_at is not None:
        raise problems.StateConflict(
            f"The data set {dataset.slug} is withdrawn. Restore it before you publish a version."
        )


def find_excess(
    user: User,
    namespace: Namespace,
    *,
    bundle: Bundle,
    missing: Collection[str],
) -> Iterator[problems.Problem]:
    """Yield TooLarge and QuotaExceeded where the files that are yet to be sent cannot be."""
    coming = bundle.sizes(missing)
    path_of = {sha256: path for path, sha256 in bundle.digest_of.items()}
    for sha256, size in coming.items():
        try:
            uploads.expect_length(path_of[sha256], size)
        except problems.TooLarge as fault:
            yield fault
    stored = Blob.objects.filter(pk__in=path_of.keys() - missing)
    adding = sum(coming.values())
    try:
        quotas.check(user, namespace, adding, stored=selectors.bytes_to_add(namespace, stored))
    except problems.QuotaExceeded as fault:
        yield fault


def parse_files(files: Mapping[str, str]) -> tuple[dict[str, str], list[problems.Problem]]:
    """The paths with the hex digits of their digests, and every InvalidRequest or PathInvalid."""
    sha256s = {}
    faults: list[problems.Problem] = []
    most = settings.HUB_LIMITS_FILES
    if not files:
        detail = "A version needs at least one file."
        faults.append(problems.InvalidRequest.at("/files", detail))
    elif len(files) > most:
        detail = f"A version may hold at most {most:,} files. Pack small files together."
        faults.append(problems.InvalidRequest.at("/files", detail))
    for path, digest in files.items():
        place = "/files/" + path.replace("~", "~0").replace("/", "~1")
        try:
            refs.check_path(path)
            bundles.check_folders(path, files)
            sha256s[path] = digests.parse(digest)
        except (problems.PathInvalid, problems.InvalidRequest) as fault:
            faults.append(type(fault).at(place, fault.detail))
    return sha256s, faults


def _describe(dataset: Dataset, described: dict[str, Any]) -> None:
    """Set the fields and save; raises InvalidRequest naming each that is wrong, NameTaken."""
    unknown = sorted(set(described) - set(EDITABLE))
    if unknown:
        raise problems.InvalidRequest(f"These fields cannot be set: {', '.join(unknown)}.")
    for field, value in described.items():
        setattr(dataset, field, value.strip() if isinstance(value, str) else value)
    bidi.expect_none("/title", dataset.title)
    dataset.iri = mentions.name(dataset.iri)
    errors = [
        {"pointer": f"/{field}", "detail": detail}
        for field, (fits, detail) in _RULES.items()
        if not fits(dataset)
    ]
    if dataset.iri.lower().startswith(f"{settings.HUB_PUBLIC_URL}/".lower()):
        message = "The IRI must be the data's own public identifier, not an address of this hub."
        errors.append({"pointer": "/iri", "detail": message})
    if errors:
        raise problems.InvalidRequest(" ".join(error["detail"] for error in errors), errors=errors)
    try:
        with transaction.atomic():
            dataset.save()
    except IntegrityError as error:
        raise problems.NameTaken.at(
            "/iri",
            f"Another entry already describes {dataset.iri or dataset.slug}. Find it in the list.",
        ) from error


def _fits_number(value: Any) -> bool:
    return value is None or (isinstance(value, int) and 0 <= value <= LARGEST)


def _fit_categories(dataset: Dataset) -> bool:
    named = dataset.categories
    if not isinstance(named, list) or len(set(named)) != len(named):
        return False
    return set(named) <= set(data_categories.CATEGORIES) and (not named or dataset.is_about_people)


_RULES: dict[str, tuple[Any, str]] = {
    "title": (lambda of: of.title and len(of.title) <= 200, "Give a title of 1 to 200 characters."),
    "description": (
        lambda of: len(of.description) <= 20_000,
        "A description may have at most 20,000 characters.",
    ),
    "iri": (
        lambda of: len(of.iri) <= 500 and re.fullmatch(WEB_ADDRESS, of.iri),
        "The IRI must be a web address such as https://doi.org/10.24432/C50P49, percent-encoded.",
    ),
    "license": (
        lambda of: len(of.license) <= 64,
        "A licence is an SPDX id such as CC-BY-4.0, or another name of at most 64 characters.",
    ),
    "personal_data": (
        lambda of: of.personal_data in PersonalData.values,
        "Personal data must be yes, no, anonymised or unknown.",
    ),
    "categories": (
        _fit_categories,
        "Categories must be terms of DPV's PD, without duplicates, and require personal data.",
    ),
    "legal_basis": (
        lambda of: (
            not of.legal_basis
            or (of.legal_basis in data_categories.LEGAL_BASES and of.is_about_people)
        ),
        "A legal basis must be a term of DPV and requires personal data.",
    ),
    "source": (lambda of: len(of.source) <= 500, "A source may have at most 500 characters."),
    "rows": (lambda of: _fits_number(of.rows), "Rows must be an integer of at least 0."),
    "size_bytes": (
        lambda of: _fits_number(of.size_bytes),
        "Bytes must be an integer of at least 0.",
    ),
}
