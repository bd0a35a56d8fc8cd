"""Which blobs an actor may read, or name in a version of their own: a digest is no right."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Q

from hub.protocol import problems
from registry.core.permissions import Actor, require_user
from registry.datasets import selectors as datasets
from registry.models import Blob, CommitFile, File, RegisteredModel, Upload, Version
from registry.models.registered_models import listed_for_everybody
from registry.versions import history, selectors


def readable(actor: Actor, sha256: str) -> Blob:
    """A blob that a version the actor may read holds, or a data set; raises NotFound, AccessNeeded.

    The latter where the model is gated.
    """
    files = File.objects.filter(
        blob=sha256,
        version__in=Version.objects.visible_to(actor).exclude(state=Version.State.WITHDRAWN),
    )
    open_to = files.filter(version__model__in=RegisteredModel.objects.all().readable_by(actor))
    public = datasets.public_files([sha256])
    held = Q(pk__in=open_to.values("blob")) | Q(pk__in=public.values("blob"))
    blob = Blob.objects.filter(pk=sha256, erased_at=None).filter(held).first()
    if blob is None:
        gated = files.filter(blob__erased_at=None).select_related("version__model__namespace")
        for file in gated.order_by("pk")[:1]:
            selectors.require_files(actor, file.version.model)
        raise problems.NotFound(f"Blob sha256:{sha256} not found.")
    return blob


def is_open(sha256: str) -> bool:
    """Whether everyone may read a blob, as a file of a public model or of a data set."""
    public = File.objects.filter(
        listed_for_everybody("version__model__"),
        version__model__gate=RegisteredModel.Gate.OPEN,
        version__state__in=Version.SERVED,
        blob=sha256,
    )
    return public.exists() or datasets.public_files([sha256]).exists()


def is_held(actor: Actor, of: RegisteredModel, sha256: str) -> bool:
    """Whether a version or commit that the actor may see, of a model that they see, has a blob."""
    rows = selectors.versions(actor, of).exclude(state=Version.State.WITHDRAWN)
    commits = history.commits(of, for_readers=not selectors.sees_drafts(selectors.role(actor, of)))
    content = Q(blob=sha256, blob__erased_at=None)
    return (
        File.objects.filter(content, version__in=rows).exists()
        or CommitFile.objects.filter(content, commit__in=commits.order_by().values("pk")).exists()
    )


def stored(sha256: str) -> Blob:
    """A blob, for the holder of a signed address; raises NotFound."""
    return problems.expect(
        Blob.objects.filter(pk=sha256, erased_at=None).first(),
        problems.NotFound(f"Blob sha256:{sha256} no longer exists."),
    )


def all_linkable(actor: Actor, sha256s: Collection[str]) -> dict[str, Blob]:
    """The blobs among these that the actor uploaded or may read: a digest is no right."""
    user = require_user(actor, any_namespace=True)
    uploaded = Upload.objects.of(user).filter(blob__in=sha256s, state=Upload.State.STORED)
    readable = File.objects.filter(
        blob__in=sha256s,
        version__in=Version.objects.visible_to(actor).exclude(state=Version.State.WITHDRAWN),
        version__model__in=RegisteredModel.objects.all().readable_by(actor),
    )
    own = set(uploaded.values_list("blob", flat=True))
    if len(own) < len(set(sha256s)):
        own |= set(readable.values_list("blob", flat=True))
    return {blob.pk: blob for blob in Blob.objects.filter(pk__in=own, erased_at=None)}


def linkable(actor: Actor, sha256: str) -> Blob:
    """A blob that the actor uploaded or may read; raises BlobUnknown and AccessNeeded."""
    if blob := all_linkable(actor, [sha256]).get(sha256):
        return blob
    try:
        return readable(actor, sha256)
    except problems.NotFound as error:
        raise problems.BlobUnknown(
            f"You have not uploaded sha256:{sha256}. Upload it first (POST /api/v1/uploads)."
        ) from error
