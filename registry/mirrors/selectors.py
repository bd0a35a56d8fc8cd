"""Which mirrors an actor may see: owners those of their namespaces, administrators all."""

from __future__ import annotations

from django.db.models import QuerySet

from hub.protocol import problems
from registry.core.permissions import Actor, can, require_user
from registry.core.prepared_queries import Prepared
from registry.models import (
    Mirror,
    MirroredModel,
    MirroredVersion,
    Namespace,
    RegisteredModel,
    Version,
)
from registry.people import selectors as people


def mirrors(actor: Actor) -> QuerySet[Mirror]:
    """The mirrors into namespaces that the actor owns; raises NotAuthenticated."""
    user = require_user(actor, any_namespace=True)
    spaces = [space.pk for space, _ in people.namespaces_of(user, "owner")]
    return Mirror.objects.filter(namespace__in=spaces).select_related("namespace", "created_by")


def mirror(actor: Actor, key: int) -> Mirror:
    """One of them; raises NotFound."""
    return problems.expect(
        mirrors(actor).filter(pk=key).first(),
        problems.NotFound(f"Mirror {key} not found. `hub mirror list` lists yours."),
    )


def of_namespace(actor: Actor, space: Namespace) -> QuerySet[Mirror]:
    """The mirrors into a namespace, for its owners; none for others."""
    rows = Mirror.objects.filter(namespace=space)
    return rows if can(actor, "mirror.edit", space) else rows.none()


def models_of(row: Mirror) -> QuerySet[MirroredModel]:
    """The models of a mirror, by their names at the source."""
    return row.mirrored.select_related("model__namespace")


def problems_of(row: Mirror) -> QuerySet[MirroredVersion]:
    """The versions of a mirror's models that are not mirrored, with the reason."""
    models = row.mirrored.exclude(model=None).values("model")
    rows = MirroredVersion.objects.filter(model__in=models).exclude(problem="")
    return rows.select_related("model__namespace")


def origin(version: Version) -> MirroredVersion | None:
    """Where a version that the reader sees came from; None for one that was made here."""
    return next(iter(_ORIGIN.instances(version.pk)), None)


_ORIGIN = Prepared(lambda version_id: MirroredVersion.objects.filter(version=version_id)[:1])


def source_of_model(model: RegisteredModel) -> MirroredModel | None:
    """The living mirror of a model that the reader sees."""
    return MirroredModel.objects.filter(model=model).select_related("mirror").first()
