"""The opsets that an upgrade tries, up to the runtime's own and up to what all runtimes load."""

from __future__ import annotations

from dataclasses import dataclass

from hub.protocol.runtime_builds import PORTABLE, Ceiling
from runners.engine.upgrades.answers import Survey

# Opsets to try below the highest one of the runtime, in this order.
TARGETS = (27, 26, 25, 23, 21, 18, 17, 13)


@dataclass(frozen=True, slots=True)
class Goal:
    """Opsets of which the first that can be proven is kept.

    `is_needed` tells that without any of them the model has no form that the runtimes load.
    """

    targets: list[int]
    is_needed: bool = True


def of(survey: Survey, target: int | None, portable: int | None = None) -> list[Goal]:
    """What to try, in order; empty if the model needs no upgrade.

    With a target that alone, else the highest opset of the runtime, then the highest up to
    `portable`.
    """
    highest = Ceiling(survey.highest, survey.highest_ir)
    if target is not None:
        is_there = target == survey.source and survey.ir_version <= highest.ir_version
        return [] if is_there or survey.source == 0 else [Goal([target])]
    goals = [Goal(targets_for(survey, highest))]
    if portable is not None and portable < survey.highest:
        lower = Ceiling(portable, min(PORTABLE.ir_version, survey.highest_ir))
        goals.append(Goal(targets_for(survey, lower), is_needed=False))
    return [goal for goal in goals if goal.targets]


def targets_for(survey: Survey, ceiling: Ceiling) -> list[int]:
    """Opsets to try up to a ceiling, in order; empty if the model needs no upgrade.

    A model at the highest opset is converted only if its IR version is too high. One above it is
    converted down.
    """
    source, highest = survey.source, ceiling.opset
    if source == 0:
        return []
    if source == highest:
        return [] if survey.ir_version <= ceiling.ir_version else [source]
    targets = [highest, *(opset for opset in TARGETS if opset < highest)]
    return [opset for opset in targets if source > highest or opset > source]
