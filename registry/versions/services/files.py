"""Putting files into a draft, and taking them out again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from hub.protocol import digests, problems, refs
from registry.cards import cards, refused_cards
from registry.core import events
from registry.core.permissions import require
from registry.models import Blob, File, Version
from registry.storage import file_types
from registry.storage.files import store
from registry.storage.services import blobs, quotas, uploads
from registry.versions import git_names as version_git_names
from registry.versions import lifecycle, selectors

if TYPE_CHECKING:
    from registry.core.permissions import Actor


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
def _put(actor: Actor, version: Version, path: str, digest: str) -> tuple[File, bool]:
    require(actor, "version.edit", version.model)
    refs.check_path(path)
    sha256 = digests.parse(digest)
    version = lifecycle.lock(version)
    lifecycle.expect(version, "draft")
    quotas.lock(version.model.namespace)
    blob = selectors.linkable_blob(actor, sha256)
    blobs.hold([sha256])
    if path.lower().endswith(".onnx"):
        file_types.expect_onnx(path, store().read(sha256, file_types.HEAD_BYTES), blob.size)
    _check_count(version, path)
    if path == cards.CARD_PATH:
        take_card(version, store().read(sha256, cards.LIMIT_BYTES + 1))
    file, created = File.objects.update_or_create(
        version=version, path=path, defaults={"blob": blob, **git_names(path, blob)}
    )
    _check_shadow(version, path)
    quotas.expect(version.model.namespace, blob.size)
    Blob.objects.filter(pk=sha256).update(touched_at=timezone.now())
    return file, created


@transaction.atomic
def remove(actor: Actor, *, version: Version, path: str) -> None:
    """Take a file out of a draft; raises NotFound."""
    require(actor, "version.edit", version.model)
    version = lifecycle.lock(version)
    lifecycle.expect(version, "draft")
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
    version = lifecycle.lock(version)
    lifecycle.expect(version, "draft")
    if instead_of is not None and instead_of != cards.digest(version.readme):
        raise problems.PreconditionFailed(
            "The card changed since you read it. Review the change, then save yours again."
        )
    take_card(version, content)
    _check_count(version, cards.CARD_PATH)
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


def _check_count(version: Version, path: str) -> None:
    if version.files.exclude(path=path).count() >= settings.HUB_LIMITS_FILES:
        raise problems.QuotaExceeded(
            f"A version may hold {settings.HUB_LIMITS_FILES} files. Pack small files together."
        )


def _check_shadow(version: Version, path: str) -> None:
    """A path cannot be a file and a folder at once."""
    parts = path.split("/")
    parents = ["/".join(parts[:count]) for count in range(1, len(parts))]
    clash = (
        version.files.filter(path__in=parents).first()
        or version.files.filter(path__startswith=f"{path}/").first()
    )
    if clash:
        raise problems.PathInvalid(f"{path} and {clash.path} cannot both exist: one is a folder.")
