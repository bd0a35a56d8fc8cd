"""The rules of aliases: what a version needs before an alias may name it, and what it lacks."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from hub.protocol import problems
from registry.core.permissions import Actor
from registry.models import AliasRule, RegisteredModel, Version
from registry.versions.conditions import Answer, Condition, stored


@dataclass(frozen=True, slots=True)
class UnmetCondition:
    """A condition that a version does not meet, with the figures that say so."""

    condition: Condition
    answer: Answer

    def __str__(self) -> str:
        return f"{self.condition.sentence} ({self.answer.detail})"


def rules(actor: Actor, of: RegisteredModel) -> QuerySet[AliasRule]:  # noqa: ARG001 - a selector
    """The rules of a visible model, by alias."""
    return AliasRule.objects.filter(model=of).select_related("author")


def unmet(
    model: RegisteredModel, alias: str, version: Version, present: Version | None
) -> list[UnmetCondition]:
    """The conditions of an alias's rule that a version does not meet; none without a rule."""
    rule = AliasRule.objects.filter(model=model, alias=alias).first()
    if rule is None:
        return []
    pairs = (
        (condition, condition.answer(version, present)) for condition in stored(rule.conditions)
    )
    return [UnmetCondition(condition, answer) for condition, answer in pairs if not answer.is_met]


def refusal(version: Version, alias: str, rows: list[UnmetCondition]) -> problems.ConditionsUnmet:
    """What a version is answered that does not meet the rule of an alias."""
    return problems.ConditionsUnmet(
        f"The rule of {alias} demands of {version.ref}: {'; '.join(map(str, rows))}. Wait for the "
        "evidence, or set force with a message that says why.",
        conditions=[
            {"condition": row.condition.sentence, "detail": row.answer.detail} for row in rows
        ],
    )
