"""What lists and the model's own address in the API say of a model: columns of its document.

This is the question asked most, so its SQL is kept and no rows become objects on the way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from django.contrib.auth.models import AnonymousUser

from registry import selectors
from registry.models import Membership, Namespace
from registry.permissions import role_in
from registry.prepared import Prepared

if TYPE_CHECKING:
    from datetime import datetime

    from django.db.models import QuerySet

    from registry.permissions import Actor


class Summary(NamedTuple):
    """The columns, under the names that Django gives them."""

    pk: int
    title: str
    namespace_slug: str
    model__name: str
    model__visibility: str
    model__summary: str
    model__license: str
    task: str
    keywords: list[str]
    downloads: int
    model__created_at: datetime
    updated_at: datetime
    size: int | None
    latest: dict[str, Any] | None


COLUMNS = Summary._fields


class Detail(NamedTuple):
    """A model with its refs as (name, kind, number) and the role of who asks."""

    summary: Summary
    refs: list[tuple[Any, ...]]
    role: str | None


def read(actor: Actor, title: str) -> Detail | None:
    """The model of that title in a list of the actor's, or None."""
    rows = list(_document(actor, title)) if actor.is_authenticated else _PUBLIC.rows(title)
    if not rows:
        return None
    *columns, namespace_id = rows[0]
    role = role_in(actor, Namespace(pk=namespace_id))
    refs = _RELEASED_REFS if role in (None, Membership.Role.READER) else _REFS
    return Detail(Summary(*columns), refs.rows(columns[0]), role)


def _document(actor: Actor, title: str) -> QuerySet[Any, tuple[Any, ...]]:
    rows = selectors.documents(actor).filter(title=title).order_by()
    return rows.values_list(*COLUMNS, "model__namespace")


def _refs(role: str | None, model_id: int) -> QuerySet[Any, tuple[Any, ...]]:
    rows = selectors.refs_for(role, model_id)
    return rows.values_list("name", "kind", "version__number")


_PUBLIC = Prepared(lambda title: _document(AnonymousUser(), title))
_RELEASED_REFS = Prepared(lambda model_id: _refs(None, model_id))
_REFS = Prepared(lambda model_id: _refs(Membership.Role.OWNER, model_id))
