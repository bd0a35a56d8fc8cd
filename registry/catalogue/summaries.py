"""What lists and the model's own address in the API say of a model: columns of its document.

This is the question asked most, so its SQL is kept and no rows become objects on the way.
"""

from __future__ import annotations

from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from registry.catalogue import documents
from registry.catalogue import selectors as catalogue
from registry.core.permissions import Actor, role_in
from registry.core.prepared_queries import Prepared
from registry.models import Blob, Deprecation, File, Membership, RegisteredModel, Version
from registry.models.registered_models import listed_for_everybody
from registry.versions import deprecations, selectors
from registry.versions.deprecations import Notice


class Summary(NamedTuple):
    """The columns, under the names that Django gives them."""

    pk: int
    title: str
    namespace_slug: str
    model__name: str
    model__visibility: str
    model__gate: str
    model__summary: str
    model__license: str
    task: str
    keywords: list[str]
    downloads: int
    model__created_at: datetime
    updated_at: datetime
    size: int | None
    deprecated_at: datetime | None
    latest: dict[str, Any] | None


COLUMNS = Summary._fields


class Detail(NamedTuple):
    """A model with its refs as (name, kind, number) and the role of who asks."""

    summary: Summary
    refs: list[tuple[Any, ...]]
    role: str | None
    deprecation: Notice | None


def read(actor: Actor, title: str) -> Detail | None:
    """The model of that title in a list of the actor's, or None."""
    rows = list(_document(actor, title)) if actor.is_authenticated else _PUBLIC.rows(title)
    if not rows:
        return None
    *columns, namespace_id, downloads = rows[0]
    role = role_in(actor, RegisteredModel(pk=columns[0], namespace_id=namespace_id))
    refs = _RELEASED_REFS if role in (None, Membership.Role.READER) else _REFS
    summary = Summary(*columns)._replace(downloads=downloads or 0)
    deprecation = _deprecation(actor, summary) if summary.deprecated_at else None
    return Detail(summary, refs.rows(summary.pk), role, deprecation)


def _deprecation(actor: Actor, summary: Summary) -> Notice | None:
    rows = Deprecation.objects.filter(model=summary.pk).select_related("successor__namespace")
    return next((deprecations.notice(actor, row, summary.title) for row in rows), None)


def compose(actor: Actor, model: RegisteredModel) -> Detail:
    """The same of a model that the actor may see and that lists do not know yet."""
    document = documents.compose(model)
    names = [name.replace("__", ".") for name in COLUMNS]
    summary = Summary(*attrgetter(*names)(document))
    role = selectors.role(actor, model)
    refs = _RELEASED_REFS if role in (None, Membership.Role.READER) else _REFS
    return Detail(summary, refs.rows(model.pk), role, deprecations.of(actor, model))


def public_file(namespace_slug: str, name: str, number: int, path: str) -> tuple[Blob, int] | None:
    """The blob that everyone may read at an address, and its version's id; None for all else.

    The three questions that this one replaces cost more than sending a small file does.
    """
    for sha256, size, version_id in _public_files.rows(namespace_slug, name, number, path):
        return Blob(sha256=sha256, size=size), version_id
    return None


@Prepared
def _public_files(
    namespace_slug: str, name: str, number: int, path: str
) -> QuerySet[Any, tuple[Any, ...]]:
    rows = File.objects.filter(
        listed_for_everybody("version__model__"),
        version__state__in=Version.SERVED,
        version__model__gate=RegisteredModel.Gate.OPEN,
        version__model__namespace__slug=namespace_slug,
        version__model__name=name,
        version__number=number,
        path=path,
    )
    return rows.order_by().values_list("blob", "blob__size", "version")


def _document(actor: Actor, title: str) -> QuerySet[Any, tuple[Any, ...]]:
    rows = catalogue.documents(actor).filter(title=title).order_by()
    # Lists show what they are sorted by; a model by itself is shown with what was counted last.
    return rows.values_list(*COLUMNS, "model__namespace", "model__download_count__downloads")


def _refs(role: str | None, model_id: int) -> QuerySet[Any, tuple[Any, ...]]:
    rows = selectors.refs_for(role, model_id)
    return rows.values_list("name", "kind", "version__number")


_PUBLIC = Prepared(lambda title: _document(AnonymousUser(), title))
_RELEASED_REFS = Prepared(lambda model_id: _refs(None, model_id))
_REFS = Prepared(lambda model_id: _refs(Membership.Role.OWNER, model_id))
