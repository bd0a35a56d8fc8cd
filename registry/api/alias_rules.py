"""The API of the rules of aliases."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from registry.api.inputs import Input, Items
from registry.api.operations import ModelView, Stored, operation, rows
from registry.api.outputs import Column, Columns, Output
from registry.models import AliasRule
from registry.versions import alias_rules, conditions
from registry.versions.services import alias_rules as services


class AliasRuleInput(Input):
    """The conditions of a rule; a version must meet all of them."""

    conditions = Items(
        child=serializers.DictField(),
        min_length=1,
        max_length=conditions.MOST,
        help_text="objects with a kind and its values; docs/concepts.md lists them",
    )


class AliasRuleOutput(Output[AliasRule]):
    """What an alias demands of a version before it may name it."""

    columns = Columns(
        "alias",
        Column("conditions", field=serializers.ListField, child=serializers.DictField()),
        "sentences",
        Column("author", "author.username", help_text="who set the rule last"),
        "updated_at",
    )

    @extend_schema_field(
        serializers.ListField(
            child=serializers.CharField(), help_text="each condition as a sentence"
        )
    )
    def get_sentences(self, rule: AliasRule) -> list[str]:
        return [condition.sentence for condition in conditions.stored(rule.conditions)]


class AliasRules(ModelView):
    """What aliases of a model demand; for users who may move them."""

    index = rows(
        "alias_rules_list",
        alias_rules.rules,
        "List what aliases demand of a version before they may name it.",
        AliasRuleOutput,
    )

    @operation("alias_rules_put", AliasRuleOutput, reads=AliasRuleInput)
    def store(self, **fields: Any) -> Stored:
        """Set what an alias demands of a version, for later moves; for maintainers."""
        rule, is_new = services.put(
            self.request.user, model=self.model, alias=self.kwargs["ref"], **fields
        )
        return Stored(rule, is_new=is_new)

    @operation("alias_rules_delete")
    def destroy(self) -> None:
        """Delete the rule of an alias; for maintainers."""
        services.delete(self.request.user, model=self.model, alias=self.kwargs["ref"])
