"""Setting and deleting the rules of aliases, for maintainers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from hub.protocol import problems
from registry.core import events
from registry.core.permissions import Actor, require
from registry.core.row_locks import lock
from registry.models import AliasRule, RegisteredModel
from registry.versions import conditions as kinds
from registry.versions import ref_names


@transaction.atomic
def put(
    actor: Actor, *, model: RegisteredModel, alias: str, conditions: Sequence[Any]
) -> tuple[AliasRule, bool]:
    """Set what an alias demands, also before there is one; says whether the rule is new.

    It counts for later moves. Raises InvalidRequest for a condition that this hub cannot check.
    """
    user = require(actor, "ref.move", model)
    ref_names.check(alias)
    documents = kinds.parse(conditions)
    model = lock(model)
    rule, is_new = AliasRule.objects.update_or_create(
        model=model, alias=alias, defaults={"conditions": documents, "author": user}
    )
    events.record(
        "alias-rule.set", rule, actor=actor, model=model, name=alias, conditions=documents
    )
    return rule, is_new


@transaction.atomic
def delete(actor: Actor, *, model: RegisteredModel, alias: str) -> None:
    """Delete the rule of an alias; raises NotFound."""
    require(actor, "ref.move", model)
    model = lock(model)
    rule = problems.expect(
        AliasRule.objects.filter(model=model, alias=alias).first(),
        problems.NotFound(f"The alias {alias} of {model.ref} has no rule."),
    )
    events.record("alias-rule.deleted", rule, actor=actor, model=model, name=alias)
    rule.delete()
