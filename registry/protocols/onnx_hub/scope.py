"""Which models a repository of `onnx.hub` means, and which of their versions a ref does.

`onnx/models` is every model, as it is what clients ask for when nothing is said;
`<namespace>/models` is every model of a namespace; `<namespace>/<model>` is one model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, IntegerField, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Lower

from hub.protocol import refs
from registry.core.permissions import Actor
from registry.models import RegisteredModel, Version
from registry.models.registered_models import listed_for_everybody
from registry.versions.lifecycle import BRANCH

EVERYTHING = ("onnx", "models")
MODELS = "models"
NEWEST = frozenset({BRANCH, "HEAD", "latest"})
PAGE = 500
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Scope:
    """A repository at a ref, as `onnx.hub` names it: `owner/repo:ref`."""

    owner: str
    repo: str
    ref: str

    @classmethod
    def of(cls, owner: str, repo: str, ref: str) -> Scope:
        """Read what an address says; refs may be written as git and as this hub write them."""
        ref = ref.removeprefix("refs/heads/").removeprefix("refs/tags/").removeprefix("@")
        return cls(owner.lower(), repo.lower(), BRANCH if ref in NEWEST else ref)

    @property
    def key(self) -> str:
        """A name that no other scope has; names and refs hold no colon."""
        return f"{self.owner}:{self.repo}:{self.ref}"

    @property
    def is_everything(self) -> bool:
        """Whether it is the repository that is meant when none is named."""
        return (self.owner, self.repo) == EVERYTHING

    def name_of(self, namespace: str, name: str) -> str:
        """What the manifest calls a model; `zoo` goes without saying, as everywhere here."""
        if self.is_everything and namespace != refs.DEFAULT_NAMESPACE:
            return f"{namespace}/{name}"
        return name


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model and the version that stands for it."""

    model_id: int
    namespace: str
    name: str
    version_id: int
    declared: tuple[Any, ...]
    """What the model's own row says: licence, task, keywords."""


def public(scope: Scope) -> QuerySet[RegisteredModel]:
    """The models of a scope that everyone may load."""
    return _named(scope, RegisteredModel.objects.filter(listed_for_everybody()))


def own(scope: Scope, actor: Actor) -> QuerySet[RegisteredModel]:
    """The models of a scope that the actor may load beyond the public ones."""
    return _named(scope, RegisteredModel.objects.visible_to(actor).exclude(listed_for_everybody()))


def _named(scope: Scope, rows: QuerySet[RegisteredModel]) -> QuerySet[RegisteredModel]:
    # Access to the files of a gated model is restricted, and this protocol cannot request it.
    rows = rows.filter(gate=RegisteredModel.Gate.OPEN)
    if scope.is_everything:
        return rows
    rows = rows.alias(slug=Lower("namespace__slug")).filter(slug=scope.owner)
    if scope.repo != MODELS:
        rows = rows.alias(lower=Lower("name")).filter(lower=scope.repo)
    return rows


def pages(scope: Scope, models: QuerySet[RegisteredModel]) -> Iterator[list[ServedModel]]:
    """The models that have such a version, each with it, some hundred at a time."""
    matching = _matching(scope)
    best = matching.filter(model=OuterRef("pk")).values("pk")[:1]
    rows = models.filter(pk__in=matching.order_by().values("model")).annotate(best=Subquery(best))
    columns = ("pk", "namespace__slug", "name", "best", "license", "task", "keywords")
    last = 0
    while True:
        page = list(rows.filter(pk__gt=last).order_by("pk").values_list(*columns)[:PAGE])
        if not page:
            return
        last = page[-1][0]
        yield [ServedModel(row[0], row[1], row[2], row[3], row[4:]) for row in page]


def _matching(scope: Scope) -> QuerySet[Version]:
    """The versions that a ref may name, for each model the one it does name first."""
    if scope.ref == BRANCH:
        rows = Version.objects.filter(state=Version.State.PUBLISHED, branch=BRANCH)
        return rows.order_by("-number")
    rows = Version.objects.filter(state__in=Version.SERVED)
    if _COMMIT.fullmatch(scope.ref):
        return rows.filter(commit_id=scope.ref).order_by("-number")
    conditions = Q(refs__name=scope.ref) | Q(label=scope.ref)
    if (number := refs.version_number(scope.ref)) is not None:
        conditions |= Q(number=number)
    # A ref comes before a number, and a number before a label.
    ranked = rows.filter(conditions).alias(
        by_ref=_rank(Q(refs__name=scope.ref)),
        by_label=_rank(Q(label=scope.ref)),
    )
    return ranked.order_by("-by_ref", "by_label", "-number")


def _rank(condition: Q) -> Any:
    return Case(When(condition, then=Value(1)), default=Value(0), output_field=IntegerField())
