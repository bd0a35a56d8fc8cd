"""What the name of a model stands for now, found with prepared SQL.

Clients ask it before each load of a model that they have, and tokenizers for files that are not
there, so it must cost little. What is not found here goes the long way, which knows why.
"""

from __future__ import annotations

import hashlib
import json
from functools import partial
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from hub.protocol.proofs import SUFFICIENT, Strength
from hub.protocol.version import __version__
from registry.core.permissions import Actor
from registry.core.prepared_queries import Prepared
from registry.models import RegisteredModel, Variant, Version
from registry.models.files import candidates
from registry.models.registered_models import listed_for_everybody
from registry.versions.lifecycle import BRANCH

ANSWER = ("pk", "model_id", "label", "commit_id", "manifest_sha256")
# One that is set means a warning, whose words depend on the reader.
DEPRECATIONS = ("deprecation", "model__deprecation")


def resolution_tag(actor: Actor, namespace: str, name: str) -> str | None:
    """The entity tag of what the name alone resolves to now: that of ``tag_of``.

    None where the long way must decide: for other models than open ones and those of the actor's
    namespaces, for deprecated ones, for limited tokens, and where the chosen variant is not an
    uploaded one.
    """
    if actor.is_authenticated and actor.reach is not None:
        return None
    rows = _NEWEST.rows(namespace, name)
    if not rows and actor.is_authenticated:
        rows = _OWN_NEWEST.rows(actor.pk, namespace, name)
    variants = _CANDIDATES[Strength(settings.HUB_PROOF_STRENGTH)]
    for version_id, *version, own_deprecation, model_deprecation in rows:
        if own_deprecation or model_deprecation:
            return None
        for origin, *variant in variants.rows(version_id):
            if origin == Variant.Origin.UPLOADED:
                return _tag(namespace, name, version_id, version, variant)
    return None


def tag_of(model: RegisteredModel, version: Version, variant: Variant) -> str | None:
    """The entity tag of a resolution, by what the answer is made of.

    None for a derived variant, which has files of its own, and for what is deprecated.
    """
    is_deprecated = any(hasattr(row, "deprecation") for row in (version, model))
    if is_deprecated or variant.origin != Variant.Origin.UPLOADED:
        return None
    content = [getattr(version, attribute) for attribute in ANSWER[1:]]
    variant_values = [variant.pk, variant.name, variant.opset, variant.precision, variant.entry_id]
    return _tag(model.namespace.slug, model.name, version.pk, content, variant_values)


def _tag(namespace: str, name: str, *content: object) -> str:
    text = json.dumps([__version__, namespace, name, *content])
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def open_versions(namespace: str, name: str) -> QuerySet[Version]:
    """The versions of a model that every guest may have."""
    return Version.objects.filter(
        listed_for_everybody("model__"),
        model__gate=RegisteredModel.Gate.OPEN,
        model__namespace__slug=namespace,
        model__name=name,
    )


def own_versions(user_id: int, namespace: str, name: str) -> QuerySet[Version]:
    """Those of a model in a namespace that the user belongs to; every role reads what is frozen."""
    return Version.objects.filter(
        model__deleted_at=None,
        model__namespace__memberships__user=user_id,
        model__namespace__slug=namespace,
        model__name=name,
    )


def newest(rows: QuerySet[Version], *states: str) -> QuerySet[Version]:
    """The newest of these versions on the main branch in one of the states."""
    return rows.filter(state__in=states, branch=BRANCH).order_by("-number")


def _published(rows: QuerySet[Version]) -> QuerySet[Any, tuple[Any, ...]]:
    return newest(rows, Version.State.PUBLISHED).values_list(*ANSWER, *DEPRECATIONS)[:1]


def _candidates(least: str, version_id: int) -> QuerySet[Any, tuple[Any, ...]]:
    rows = Variant.objects.filter(candidates(least), version=version_id)
    rows = rows.exclude(origin=Variant.Origin.CONVERTED)
    return rows.values_list("origin", "pk", "name", "opset", "precision", "entry")[:1]


_NEWEST = Prepared(lambda *names: _published(open_versions(*names)))
_OWN_NEWEST = Prepared(lambda *key: _published(own_versions(*key)))
_CANDIDATES = {least: Prepared(partial(_candidates, least)) for least in SUFFICIENT}
