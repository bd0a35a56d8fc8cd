"""The only doors to rows: each takes the actor and raises what they may learn, and no more.

A hidden row and a missing one raise the same NotFound, after the same queries.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Lower

from hub.protocol import problems, refs
from registry.core.permissions import Actor, is_beyond_limits, require, require_user, role_in
from registry.core.prepared_queries import Prepared
from registry.models import (
    AccessRequest,
    Blob,
    File,
    Membership,
    Namespace,
    Ref,
    RegisteredModel,
    Upload,
    Variant,
    Version,
)
from registry.models.files import candidates
from registry.people import selectors as people
from registry.versions import history, moves, tombstones, version_parts

# How many versions an error about a missing one names.
VERSIONS_NAMED = 10


def require_served(version: Version, purpose: str) -> None:
    """Raise StateConflict unless a version is published or yanked; ``purpose`` ends the message."""
    if not version.is_served:
        raise problems.StateConflict(
            f"{version.ref} is {version.state}; only published {purpose}.", state=version.state
        )


def model(actor: Actor, namespace_slug: str, name: str) -> RegisteredModel:
    """A model by its name, ignoring case; raises NotFound.

    That is Moved for a name that it had, and Deleted for a model that left a tombstone.
    """
    if actor.is_authenticated:
        row = next(iter(_models_named(actor, namespace_slug, name)), None)
    else:
        row = next(iter(_GUESTS_MODEL.instances(namespace_slug.lower(), name.lower())), None)
    if row is None:
        if heir := moves.heir(actor, namespace_slug, name):
            raise moves.Moved(f"{namespace_slug}/{name}", heir.ref)
        if tombstone := tombstones.named(namespace_slug, name):
            raise tombstone.problem
        raise problems.NotFound(
            f"Model {namespace_slug}/{name} not found. Check the name; for a "
            "private model sign in or send a token."
        )
    return row


def deleted_models(actor: Actor, of: Namespace) -> QuerySet[RegisteredModel]:
    """The deleted models of a namespace that can be restored, for owners; raises NotAllowed."""
    require(actor, "model.restore", of)
    rows = RegisteredModel.objects.filter(namespace=of, restorable_until__isnull=False)
    return rows.select_related("namespace").order_by("-pk")


def deleted_model(actor: Actor, of: Namespace, model_id: int) -> RegisteredModel:
    """One of them; raises NotFound."""
    return problems.expect(
        deleted_models(actor, of).filter(pk=model_id).first(),
        problems.NotFound(f"{of.slug} has no deleted model {model_id} to restore."),
    )


def versions(actor: Actor, of: RegisteredModel) -> QuerySet[Version]:
    """The versions of a model, itself seen by the actor, that the actor may see, newest first."""
    return _with_related(versions_for(role(actor, of), of))


def _with_related(rows: QuerySet[Version]) -> QuerySet[Version]:
    return rows.select_related(
        "model__namespace",
        "model__download_count",
        "model__deprecation",
        "created_by",
        "parent",
        "deprecation__successor__namespace",
    )


def listed_versions(actor: Actor, of: RegisteredModel) -> QuerySet[Version]:
    """The same with their refs, as lists show them."""
    return versions(actor, of).prefetch_related("refs")


def named_versions(actor: Actor, of: RegisteredModel) -> QuerySet[Version]:
    """The same with what names them alone: cards may be long, and versions many."""
    named = ("number", "label", "state", "branch", "model_id")
    return versions_for(role(actor, of), of).only(*named)


def newest_named(actor: Actor, of: RegisteredModel, most: int) -> list[Version]:
    """The newest of them."""
    if actor.is_authenticated:
        return list(named_versions(actor, of)[:most])
    return _guests_named(most).instances(of.pk)


@cache
def _guests_named(most: int) -> Prepared:
    named = ("number", "label", "state", "branch", "model_id")
    return Prepared(lambda model_id: versions_for(None, model_id).only(*named)[:most])


def latest_of(rows: Iterable[Version]) -> Version | None:
    """The newest published version of these, which come newest first."""
    published = (row for row in rows if row.state == Version.State.PUBLISHED)
    return next((row for row in published if row.branch == "main"), None)


def versions_for(role: str | None, of: RegisteredModel | int) -> QuerySet[Version]:
    """The versions of a visible model for that role: writers see drafts too."""
    rows = Version.objects.filter(model=of)
    return rows if sees_drafts(role) else rows.filter(state__in=Version.VISIBLE)


def used_bytes(actor: Actor, of: RegisteredModel) -> int:
    """The size in bytes of what the versions that the actor may see hold, each blob once."""
    visible = versions(actor, of).order_by().values("pk")
    blobs = File.objects.filter(version__in=visible).order_by().values("blob")
    used = Blob.objects.filter(pk__in=blobs, erased_at=None).aggregate(sum=Sum("size"))["sum"]
    return used or 0


def sees_drafts(role: str | None) -> bool:
    """Whether that role sees versions that were not released: writers do."""
    return role is not None and role != Membership.Role.READER


def version(actor: Actor, namespace_slug: str, name: str, number: int) -> Version:
    """A version by its number; raises NotFound."""
    of = model(actor, namespace_slug, name)
    if actor.is_authenticated:
        row = versions(actor, of).filter(number=number).first()
    else:
        row = next(iter(_GUESTS_VERSION.instances(of.pk, number)), None)
    if row is None:
        raise _unknown(actor, of, f"{of.ref}@{number}")
    return row


def _unknown(actor: Actor, of: RegisteredModel, ref: str) -> problems.NotFound:
    """What says that a reference names no version: it names some that there are, and their list."""
    numbers = list(named_versions(actor, of).values_list("number", flat=True)[: VERSIONS_NAMED + 1])
    if not numbers:
        return problems.NotFound(f"{ref} does not exist: {of.ref} has no version that you can see.")
    names = ", ".join(map(str, numbers[:VERSIONS_NAMED]))
    if len(numbers) > VERSIONS_NAMED:
        names += " and older ones"
    plural = "s" if len(numbers) > 1 else ""
    return problems.NotFound(
        f"{ref} does not name a version that you can see. {of.ref} has the version{plural} "
        f"{names}. "
        f"`hub info {of.ref}` and /api/v1/models/{of.ref}/versions list them."
    )


def latest(actor: Actor, of: RegisteredModel) -> Version | None:  # noqa: ARG001 - a selector
    """The newest published version; what `latest` means."""
    # Whoever sees a model sees what is published of it.
    row: Version | None = next(iter(_published.instances(of.pk)), None)
    return row


def find_version(actor: Actor, of: RegisteredModel, ref: refs.Ref) -> Version:
    """The version that a reference chooses; raises NotFound and Withdrawn."""
    rows = versions(actor, of)
    if ref.number is not None:
        row = rows.filter(number=ref.number).first()
    elif ref.digest is not None:
        row = (
            rows.filter(manifest_sha256=ref.digest.removeprefix("sha256:"))
            .exclude(state=Version.State.DRAFT)
            .first()
        )
    elif ref.label is None or ref.label == "latest":
        row = latest(actor, of)
    else:
        row = _named(rows, ref.label)
    if row is None:
        if ref.label in {None, "latest"} and (
            pending := rows.filter(state=Version.State.SUBMITTED, branch="main").first()
        ):
            raise still_checked(pending)
        raise _unknown(actor, of, refs.format(ref))
    if row.state == Version.State.WITHDRAWN:
        raise problems.Withdrawn(f"{row.ref} was withdrawn: {row.reason}")
    return row


def still_checked(of: Version) -> problems.ChecksPending:
    """What says that a version was submitted and is not published yet, with the jobs of that."""
    uuids = [str(uuid) for uuid in of.jobs.order_by("queued_at").values_list("uuid", flat=True)]
    last = f" `hub jobs watch {uuids[-1]}` follows its last job." if uuids else ""
    return problems.ChecksPending(
        f"{of.ref} is still being checked. Try again later, or wait for it with "
        f"hub.load(..., wait=True) or `hub get --wait`.{last}",
        number=of.number,
        jobs=uuids,
    )


def _named(rows: QuerySet[Version], name: str) -> Version | None:
    named = rows.filter(Q(refs__name=name) | Q(label=name) | Q(commit_id=name))
    return named.exclude(state=Version.State.DRAFT).first()


def file(of: Version, path: str) -> File:
    """A file of a version; raises NotFound and Withdrawn."""
    row = problems.expect(
        File.objects.filter(version=of, path=path).select_related("blob").first(),
        problems.NotFound(f"{of.ref} has no file {path}."),
    )
    if of.state == Version.State.WITHDRAWN:
        raise problems.Withdrawn(f"{of.ref} was withdrawn: {of.reason}")
    return row


def variants(of: Version) -> QuerySet[Variant]:
    """The variants of a version with their files, the uploaded ones first."""
    return of.variants.select_related("entry__blob", "derived_from")


def variant(
    of: Version,
    name: str | None,
    opset: int | None,
    precision: str | None,
    strength: str | None = None,
) -> Variant:
    """The variant to load: by name, by opset, by precision, else the version's first one.

    One that was converted to another precision gives other numbers, so it is chosen by its name or
    its precision alone. An upgraded one needs a proof of ``strength``, of `proofs.SUFFICIENT`, by
    default that of this hub; without it, it is chosen by its name alone. Raises VariantMissing.
    """
    rows = variants(of)
    if name:
        rows = rows.filter(name=name)
    elif not precision:
        rows = rows.exclude(origin=Variant.Origin.CONVERTED)
    if not name:
        rows = rows.filter(candidates(strength))
    if opset is not None:
        rows = rows.filter(opset=opset)
    if precision:
        rows = rows.filter(precision=precision)
    choice = rows.first()
    if choice is None:
        if of.state == Version.State.SUBMITTED:
            raise still_checked(of)
        offers = ", ".join(
            f"{row.name} (opset {row.opset or 'unknown'}, {row.precision or 'precision unknown'})"
            for row in of.variants.all()
        )
        raise problems.VariantMissing(
            f"{of.ref} has no such variant. {_left_out(of, opset, strength)}Available: "
            f"{offers or 'none yet'}.",
            offers=offers,
        )
    return choice


def _left_out(of: Version, opset: int | None, strength: str | None) -> str:
    """Why an upgraded variant of this opset is not chosen for it; empty where there is none."""
    if opset is None:
        return ""
    row = of.variants.filter(opset=opset).exclude(candidates(strength)).first()
    if row is None:
        return ""
    least = row.least_strength
    cure = f'Ask for strength="{least}", or load it by name' if least else "Load it by name"
    return (
        f"The variant {row.name} has opset {opset}, but its proof is only {row.proof_strength} "
        f"({row.proof_sentence}). {cure}: {of.ref}:{row.name}. "
    )


def files_for(of: Variant) -> list[File]:
    """What is needed to load a variant: for an uploaded one every file of its version.

    For a derived one its own files take the place of the uploaded models and of their data.
    """
    rows = list(File.objects.filter(version=of.version_id).select_related("blob"))
    if of.origin == Variant.Origin.UPLOADED:
        return [file for file in rows if not file.derived]
    needed = of.paths
    uploaded = Variant.objects.filter(
        version=of.version_id, origin=Variant.Origin.UPLOADED
    ).select_related("entry")
    replaced = {path for row in uploaded for path in row.paths}
    return [
        file for file in rows if file.path in needed or not (file.derived or file.path in replaced)
    ]


def signed_files(of: Version) -> dict[str, str]:
    """The SHA-256 (hex) of each uploaded file of a version: what its manifest lists."""
    rows = File.objects.filter(version=of, derived=False)
    return dict(rows.values_list("path", "blob_id"))


def may_have_files(actor: Actor, of: RegisteredModel) -> bool:
    """Whether the actor may have the files of a model that they see: always, except gated ones."""
    if not of.is_gated:
        return True
    return RegisteredModel.objects.filter(pk=of.pk).readable_by(actor).exists()


def require_files(actor: Actor, of: RegisteredModel) -> None:
    """Raise AccessNeeded unless the actor may have the files of a model that they see."""
    if may_have_files(actor, of):
        return
    page = f"{settings.HUB_PUBLIC_URL}/models/{of.ref}/access"
    asking = "Request access" if actor.is_authenticated else "Sign in and request access"
    problem = problems.AccessNeeded(
        f"Access to {of.ref} is restricted. {asking} at {page}.",
        model=of.ref,
    )
    if not actor.is_authenticated:
        problem.status = 401
    raise problem


def upload(actor: Actor, uuid: UUID) -> Upload:
    """One of the actor's own uploads; raises NotFound."""
    user = require_user(actor, any_namespace=True)
    mine = Upload.objects.of(user).filter(pk=uuid).exclude(state=Upload.State.ABANDONED)
    return problems.expect(
        mine.first(), problems.NotFound("Upload not found. It may have expired.")
    )


def refs_of(actor: Actor, of: RegisteredModel) -> QuerySet[Ref]:
    """The refs of a model whose versions the actor may see."""
    return refs_for(role(actor, of), of.pk).select_related("version")


def all_refs(actor: Actor, of: RegisteredModel) -> list[Ref]:
    """The same, read."""
    return list(refs_of(actor, of)) if actor.is_authenticated else _GUESTS_REFS.instances(of.pk)


def refs_for(role: str | None, model_id: int) -> QuerySet[Ref]:
    """The refs of a visible model that name versions, for that role: writers see drafts too."""
    rows = Ref.objects.filter(model=model_id, version__isnull=False)
    return rows if sees_drafts(role) else rows.filter(version__state__in=Version.VISIBLE)


def commit_tags(role: str | None, of: RegisteredModel) -> QuerySet[Ref]:
    """The tags of a visible model that name commits which are no versions (yet), for that role."""
    commits = history.commits(of, for_readers=not sees_drafts(role))
    return Ref.objects.filter(commit__in=commits.order_by().values("pk"))


def access_requests(actor: Actor, of: RegisteredModel, status: str = "") -> QuerySet[AccessRequest]:
    """The access requests of a model, oldest first, for maintainers; raises NotAllowed."""
    require(actor, "access.decide", of)
    rows = AccessRequest.objects.filter(model=of).select_related("user", "decided_by")
    return rows.filter(status=status) if status else rows


def own_access_request(actor: Actor, of: RegisteredModel) -> AccessRequest | None:
    """What the actor asked of a model that they see."""
    if not actor.is_authenticated or is_beyond_limits(actor, of):
        return None
    return AccessRequest.objects.filter(model=of, user=actor).first()


def role(actor: Actor, of: RegisteredModel) -> str | None:
    """The actor's role at a model, which is that in its namespace."""
    return role_in(actor, of)


def whole_version(actor: Actor, namespace_slug: str, name: str, number: int) -> Version:
    """A version with its files, variants and checks fetched along; raises NotFound."""
    return whole(version(actor, namespace_slug, name, number))


def whole(row: Version) -> Version:
    """A version with its files, variants and checks fetched along."""
    version_parts.attach(row)
    return row


def sized_versions(
    actor: Actor, of: RegisteredModel, *, before: int | None = None, limit: int = 50
) -> list[Version]:
    """One page of a model's versions, newest first, each with ``bytes``, the size of its files."""
    rows = listed_versions(actor, of).annotate(
        bytes=Sum("files__blob__size", filter=Q(files__derived=False), default=0)
    )
    if before is not None:
        rows = rows.filter(number__lt=before)
    return list(rows.order_by("-number")[:limit])


def _models_named(actor: Actor, namespace_slug: str, name: str) -> QuerySet[RegisteredModel]:
    rows = RegisteredModel.objects.visible_to(actor).alias(lower_name=Lower("name"))
    rows = rows.filter(namespace__in=people.by_slug(namespace_slug), lower_name=name.lower())
    return rows.select_related("namespace", "download_count", "deprecation")[:1]


@Prepared
def _published(model_id: int) -> QuerySet[Version]:
    rows = _with_related(versions_for(None, model_id))
    return rows.filter(state=Version.State.PUBLISHED, branch="main")[:1]


# What pages ask for most; most of their readers are guests.
_GUESTS_REFS = Prepared(lambda model_id: refs_for(None, model_id).select_related("version"))
_GUESTS_MODEL = Prepared(lambda *names: _models_named(AnonymousUser(), *names))
_GUESTS_VERSION = Prepared(
    lambda model_id, number: _with_related(versions_for(None, model_id)).filter(number=number)[:1]
)
