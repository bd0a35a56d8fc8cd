"""Finding discussions and comments. One about a version that the actor does not see is not there.

Lists and counts leave such discussions out. Their numbers stay unused for others, since a number
that was given once is never given again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models import Count, Exists, Q, QuerySet

from hub.protocol import problems
from registry.core.permissions import Actor, can, has_scope, is_beyond_limits
from registry.core.prepared_queries import Prepared
from registry.models import Comment, Discussion, Membership, RegisteredModel, Version
from registry.versions import evidence

# How many discussions the page of a result names for each.
MOST_ABOUT = 20
_WITH = ("model__namespace", "version", "author", "closed_by")


def discussions(
    actor: Actor,
    of: RegisteredModel,
    *,
    status: str = "",
    version: int | None = None,
    author: str = "",
) -> QuerySet[Discussion]:
    """The discussions of a model, itself seen by the actor, newest first."""
    rows = _of_model(actor, of).select_related(*_WITH)
    if status:
        rows = rows.filter(status=status)
    if version is not None:
        rows = rows.filter(version__number=version)
    if author:
        rows = rows.filter(author__username__iexact=author)
    return rows.order_by("-number")


def of_participant(actor: Actor) -> QuerySet[Discussion]:
    """The discussions, seen by the actor, that they opened or commented on; last changed first."""
    commented = Comment.objects.filter(author=actor.pk).order_by().values("discussion")
    rows = Discussion.objects.visible_to(actor).filter(Q(author=actor.pk) | Q(pk__in=commented))
    return rows.select_related(*_WITH).order_by("-updated_at", "-pk")


def about(
    actor: Actor, version: Version, kind: str, pks: Collection[int]
) -> dict[int, list[Discussion]]:
    """The discussions about results of a version, itself seen by the actor, newest first."""
    rows = _of_model(actor, version.model).filter(version=version)
    rows = rows.filter(evidence_kind=kind, evidence_id__in=pks).order_by("-number")
    by_result: dict[int, list[Discussion]] = {}
    for row in rows[: MOST_ABOUT * len(pks)] if pks else ():
        by_result.setdefault(row.evidence_id or 0, []).append(row)
    return by_result


def open_count(actor: Actor, of: RegisteredModel, version: Version | None = None) -> int:
    """How many open discussions there are of a model, itself seen by the actor, or of a version."""
    rows = _open(_of_model(actor, of)) if actor.is_authenticated else _GUESTS_OPEN.rows(of.pk)
    return sum(n for about, n in rows if version is None or about == version.pk)


def _open(rows: QuerySet[Discussion]) -> QuerySet[Any, Any]:
    """The versions that open ones of these discussions are about, each with their number."""
    live = rows.filter(status=Discussion.Status.OPEN).order_by()
    return live.values_list("version").annotate(n=Count("pk"))


_RELEASED = Q(version=None) | Q(version__state__in=Version.VISIBLE)
_GUESTS_OPEN = Prepared(
    lambda model_id: _open(Discussion.objects.filter(_RELEASED, model=model_id))
)


def evidence_path(of: Discussion) -> str:
    """The page of the result that a discussion is about; empty without one."""
    if of.version is None or of.evidence_id is None:
        return ""
    return evidence.path(of.version, of.evidence_kind, of.evidence_id)


def evidence_title(of: Discussion) -> str:
    """The result that a discussion is about, in a few words; empty without one, or if gone."""
    if of.version is None or of.evidence_id is None:
        return ""
    try:
        return evidence.of_kind(of.evidence_kind).describe(of.version, of.evidence_id)
    except problems.NotFound:
        return ""


def discussion(actor: Actor, of: RegisteredModel, number: int) -> Discussion:
    """A discussion of a model, itself seen by the actor, by its number; raises NotFound."""
    return problems.expect(
        discussions(actor, of).filter(number=number).first(),
        problems.NotFound(
            f"Discussion {number} of {of.ref} not found. Check the number; it may concern a "
            "version that you cannot see."
        ),
    )


def comments(of: Discussion) -> QuerySet[Comment]:
    """The comments of a discussion, itself seen by the actor, in their order."""
    rows = Comment.objects.filter(discussion=of).select_related("author", "hidden_by")
    return rows.order_by("number")


def comment(of: Discussion, number: int) -> Comment:
    """A comment of a discussion, itself seen by the actor; raises NotFound."""
    return problems.expect(
        comments(of).filter(number=number).first(),
        problems.NotFound(f"{of} has no comment {number}."),
    )


def may_moderate(actor: Actor, of: RegisteredModel) -> bool:
    """Whether the actor may close discussions of others and hide comments."""
    return can(actor, "discussion.moderate", of)


def may_write(actor: Actor, of: RegisteredModel) -> bool:
    """Whether the actor, who sees the model, may open discussions of it and comment."""
    return actor.is_authenticated and has_scope(actor, "write") and not is_beyond_limits(actor, of)


def may_edit(actor: Actor, of: Discussion | Comment) -> bool:
    """Whether the actor wrote this, and so may change its words."""
    return actor.is_authenticated and of.author_id == actor.pk


def _of_model(actor: Actor, of: RegisteredModel) -> QuerySet[Discussion]:
    """The same as `visible_to` of one model, itself seen by the actor, in one statement."""
    rows = Discussion.objects.filter(model=of)
    if not actor.is_authenticated or is_beyond_limits(actor, of):
        return rows.filter(_RELEASED)
    if actor.is_admin:
        return rows
    writing = actor.memberships.exclude(role=Membership.Role.READER)
    return rows.filter(_RELEASED | Exists(writing.filter(namespace=of.namespace_id)))
