"""Putting files into a draft, and taking them out again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from hub.protocol import digests, problems, refs
from registry.cards import cards, refused_cards
from registry.core import events
from registry.core.permissions import Actor, require
from registry.models import Blob, File, Version
from registry.storage import bundles, file_types
from registry.storage.files import store
from registry.storage.services import blobs, quotas, uploads
from registry.versions import blob_selectors, lifecycle
from registry.versions import git_names as version_git_names


def put(actor: Actor, *, version: Version, path: str, digest: str) -> tuple[File, bool]:
    """Point ``path`` of a draft at a blob the actor uploaded or may read; says whether it is new.

    A card that is refused is kept (registry/cards/refused_cards.py). Raises BlobUnknown,
    PathInvalid, NotOnnx, CardInvalid, QuotaExceeded, StateConflict.
    """
    if path != cards.CARD_PATH:
        return _put(actor, version, path, digest)
    with refused_cards.keeping(
        actor,
        model=version.model,
        version=version,
        content=lambda: store().read(digests.parse(digest), cards.LIMIT_BYTES + 1),
    ):
        return _put(actor, version, path, digest)


@transaction.atomic
def put_all(actor: Actor, *, version: Version, digests_of: Mapping[str, str]) -> list[str]:
    """Point paths of a draft at blobs, all of them or none; returns the paths that are left.

    Those are the ones whose blob the actor has not uploaded and may not read. A card is written by
    itself. Raises what ``put`` does for the others, and InvalidRequest for a card.
    """
    if cards.CARD_PATH in digests_of:
        raise problems.InvalidRequest(f"Write {cards.CARD_PATH} by itself: PUT …/card.")
    version = _locked(actor, version, digests_of)
    sha256_of = {path: digests.parse(digest) for path, digest in digests_of.items()}
    linkable = blob_selectors.all_linkable(actor, set(sha256_of.values()))
    sources = {path: linkable[sha256] for path, sha256 in sha256_of.items() if sha256 in linkable}
    _point(version, sources)
    return [path for path in sha256_of if path not in sources]


def store_contents(
    actor: Actor, *, version: Version, contents: Mapping[str, bytes], digests_of: Mapping[str, str]
) -> None:
    """Store the bytes of small files that came inside a request, by path, for a draft to name.

    Raises DigestMismatch where they are not what ``digests_of`` says, and what uploads raise.
    """
    lifecycle.expect(version, "draft")
    for path, content in contents.items():
        actual = digests.hash_bytes(content)
        if actual != digests.parse(digests_of[path]):
            raise problems.DigestMismatch(
                f"{path}: the content has the digest {digests.format(actual)}, not "
                f"{digests_of[path]}. Did the file change? Send it again."
            )
    uploads.take_all(actor, model=version.model, contents=contents.values())


@transaction.atomic
def _put(actor: Actor, version: Version, path: str, digest: str) -> tuple[File, bool]:
    version = _locked(actor, version, [path])
    blob = blob_selectors.linkable(actor, digests.parse(digest))
    if path == cards.CARD_PATH:
        take_card(version, store().read(blob.sha256, cards.LIMIT_BYTES + 1))
    created = _point(version, {path: blob})
    return File.objects.select_related("blob").get(version=version, path=path), bool(created)


def _locked(actor: Actor, version: Version, paths: Iterable[str]) -> Version:
    """The draft, locked together with the room of its namespace, for files of these paths."""
    require(actor, "version.edit", version.model)
    for path in paths:
        refs.check_path(path)
    version = lifecycle.lock(version, "draft")
    quotas.lock(version.model.namespace)
    return version


def _point(version: Version, blob_of: Mapping[str, Blob]) -> set[str]:
    """Point paths of a locked draft at blobs; returns the paths that are new."""
    held = set(blobs.hold({blob.sha256 for blob in blob_of.values()}))
    for path, blob in blob_of.items():
        if path.lower().endswith(".onnx"):
            file_types.expect_onnx(path, store().read(blob.pk, file_types.HEAD_BYTES), blob.size)
    present = set(version.files.values_list("path", flat=True))
    check_paths(present | set(blob_of), new=set(blob_of) - present)
    rows = [
        File(version=version, path=path, blob=blob, **git_names(path, blob))
        for path, blob in blob_of.items()
    ]
    File.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["version", "path"],
        update_fields=["blob", "git_oid", "lfs"],
    )
    quotas.expect(version.model.namespace, sum(blob.size for blob in blob_of.values()))
    Blob.objects.filter(pk__in=held).update(touched_at=timezone.now())
    return set(blob_of) - present


@transaction.atomic
def remove(actor: Actor, *, version: Version, path: str) -> None:
    """Take a file out of a draft; raises NotFound."""
    require(actor, "version.edit", version.model)
    version = lifecycle.lock(version, "draft")
    deleted, _ = File.objects.filter(version=version, path=path).delete()
    if not deleted:
        raise problems.NotFound(f"{version.ref} has no file {path}.")
    if path == cards.CARD_PATH:
        save_card(version, {}, "")


def write_card(
    actor: Actor, *, version: Version, text: str | bytes, instead_of: str | None = None
) -> Version:
    """Write the card of a draft; raises CardInvalid, and keeps what was refused.

    ``instead_of`` is the digest of the card that was read before (``cards.digest``): where another
    one is there by now, raises PreconditionFailed and changes nothing.
    """
    content = text.encode() if isinstance(text, str) else text
    with refused_cards.keeping(
        actor, model=version.model, version=version, content=lambda: content
    ):
        return _write_card(actor, version, content, instead_of)


@transaction.atomic
def _write_card(actor: Actor, version: Version, content: bytes, instead_of: str | None) -> Version:
    require(actor, "version.edit", version.model)
    version = lifecycle.lock(version, "draft")
    if instead_of is not None and instead_of != cards.digest(version.readme):
        raise problems.PreconditionFailed(
            "The card changed since you read it. Review the change, then save yours again."
        )
    take_card(version, content)
    check_paths({*version.files.values_list("path", flat=True), cards.CARD_PATH})
    blob = uploads.take(actor, model=version.model, content=content)
    File.objects.update_or_create(
        version=version,
        path=cards.CARD_PATH,
        defaults={"blob": blob, "git_oid": version_git_names.blob_id(content), "lfs": False},
    )
    quotas.expect(version.model.namespace, len(content))
    events.record("version.described", version, actor=actor, model=version.model)
    return version


def git_names(path: str, blob: Blob) -> dict[str, Any]:
    """A file's name in git: that of its bytes, or of the LFS pointer to them."""
    is_lfs = version_git_names.is_lfs(path, blob.size)
    content = (
        version_git_names.pointer(blob.sha256, blob.size)
        if is_lfs
        else store().read(blob.sha256, blob.size)
    )
    return {"git_oid": version_git_names.blob_id(content), "lfs": is_lfs}


def take_card(version: Version, content: bytes) -> None:
    """Keep what a card says beside a draft, inside the caller's transaction; raises CardInvalid."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise problems.CardInvalid("README.md is not UTF-8. Save it as UTF-8 text.") from error
    save_card(version, cards.accept(text).front, text)


def save_card(version: Version, front: dict[str, Any], readme: str) -> None:
    """Save a README and its front matter as JSON, inside the caller's transaction."""
    version.card, version.readme = front, readme
    version.__dict__.pop("typed_card", None)
    version.save(update_fields=["card", "readme"])


def check_paths(paths: Collection[str], *, new: Collection[str] | None = None) -> None:
    """Raise QuotaExceeded for too many files, and PathInvalid for one that is a folder as well.

    So it does for ``new`` ones, or all, that a common system cannot hold.
    """
    refs.check_portable(paths, new)
    if len(paths) > settings.HUB_LIMITS_FILES:
        raise problems.QuotaExceeded(
            f"A version may hold {settings.HUB_LIMITS_FILES} files, and this makes it "
            f"{len(paths)}. Pack small files together."
        )
    for path in paths:
        bundles.check_folders(path, paths)
