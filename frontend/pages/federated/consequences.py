"""What a planned training does; its page says it sentence by sentence, before it is created."""

from __future__ import annotations

from dataclasses import dataclass

from frontend.pages.federated.forms import RULE_WORDS
from hub.protocol import federated
from hub.protocol.facts import Facts
from registry.federated import attacks, privacy
from registry.federated.services.trainings import Plan
from registry.models import Version

# Rounds for which ε is stated where their number is open.
_ROUNDS = (10, 100)


@dataclass(frozen=True, slots=True)
class Consequences:
    """What follows from a plan and is not in it.

    ``bytes`` are the most that a device sends in a round (0: unknown), ``seconds`` the longest time
    of a fixed number of rounds. ``accuracies`` are the lowest measured ones of the rule by number
    of attackers among ``devices``. ``bounds`` are numbers of rounds with their ε in words; without
    differential privacy there are none, and ``culprit`` says why.
    """

    plan: Plan
    trained: str
    bytes: int
    seconds: int
    rule: str
    accuracies: list[tuple[int, str]]
    devices: int
    bounds: list[tuple[int, str]]
    delta: str
    culprit: str


def of(plan: Plan) -> Consequences:
    """What follows from a plan."""
    rule, most = plan.rules.rule, plan.schedule.most_rounds
    measured = attacks.measured()
    worst = {
        number: measured.worst(rule, attacks.UNEVEN, number).accuracy
        for number in measured.attackers
    }
    statements = {
        rounds: privacy.forecast(
            plan.version, rules=plan.rules, base_data=plan.base_data, rounds=rounds
        )
        for rounds in ((most,) if most else _ROUNDS)
    }
    first = next(iter(statements.values()))
    private = statements if first.is_private else {}
    bounds = [(rounds, privacy.upwards(statement.epsilon)) for rounds, statement in private.items()]
    return Consequences(
        plan=plan,
        trained=trained(plan.roles),
        bytes=bytes_of(facts_of(plan.version, plan.entry)),
        seconds=most * plan.schedule.round_seconds,
        rule=RULE_WORDS[rule],
        accuracies=[(number, f"{accuracy:.3f}") for number, accuracy in worst.items()],
        devices=measured.devices,
        bounds=bounds,
        delta=f"{first.delta:g}",
        culprit=first.culprit,
    )


def facts_of(version: Version, entry: str) -> Facts | None:
    """What is known of the file that is trained."""
    variant = version.variants.filter(entry__path=entry).first()
    return variant.typed_facts if variant else None


def bytes_of(facts: Facts | None) -> int:
    """The most bytes that a device sends in a round; 0 where they are not known."""
    return facts.weights.bytes if facts and facts.weights else 0


def trained(roles: dict[str, list[str]]) -> str:
    """Which tensors are trained, from the patterns of names by role."""
    only, frozen = roles.get(federated.TRAINABLE, []), roles.get(federated.FROZEN, [])
    if only and frozen == ["*"]:
        return f"Only tensors that match {', '.join(only)}. All others stay as they are."
    if frozen and not only:
        return f"All trainable tensors except those that match {', '.join(frozen)}."
    if roles:
        patterns = "; ".join(f"{role}: {', '.join(names)}" for role, names in roles.items())
        return f"Tensors by pattern ({patterns}); the others by the operators that read them."
    return (
        "All weights that the hub recognises as trainable. Statistics of batch normalisations are "
        "aggregated too; integers and constants stay as they are."
    )
