"""What a planned training does, sentence by sentence, before it is created."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frontend.pages.federated.forms import RULE_WORDS
from frontend.parts import formatting
from hub.protocol import federated
from registry.federated import attacks, privacy
from registry.models.registered_models import Visibility

if TYPE_CHECKING:
    from hub.protocol.facts import Facts
    from registry.federated.services.trainings import Plan
    from registry.models import Version

# Rounds for which ε is stated where their number is open.
_ROUNDS = (10, 100)


@dataclass(frozen=True, slots=True)
class Consequence:
    """One subject and what follows for it; ``is_warning`` marks what is rarely meant."""

    subject: str
    words: str
    is_warning: bool = False


def of(
    plan: Plan, *, release_every: int, release_best: str, release_publishes: bool
) -> list[Consequence]:
    """What follows from a plan, in the order in which it happens.

    Rounds become versions every few rounds, or only the best by score, published or not.
    """
    return [
        Consequence("Start", _start(plan)),
        Consequence("Trained", trained(plan.roles)),
        Consequence("Sent by devices", sent(facts_of(plan.version, plan.entry))),
        Consequence("Not sent", NOT_SENT),
        Consequence("Rounds", _rounds(plan)),
        *_small_quorum(plan.schedule.quorum),
        Consequence("End", _end(plan)),
        Consequence("Aggregation", _aggregation(plan)),
        Consequence("Privacy", _privacy(plan)),
        Consequence(
            "Versions", _versions(release_every, release_best, publishes=release_publishes)
        ),
        Consequence("Visible to", _visible(plan)),
        Consequence(
            "Fixed",
            "Base version, tensors, rule and schedule cannot be changed once the training is open. "
            "Title, hyperparameters and the release of versions can.",
        ),
    ]


NOT_SENT = (
    "Examples never leave a device. Nor do labels, file names or anything else that the training "
    "code does not send itself."
)


def facts_of(version: Version, entry: str) -> Facts | None:
    """What is known of the file that is trained."""
    variant = version.variants.filter(entry__path=entry).first()
    return variant.typed_facts if variant else None


def sent(facts: Facts | None) -> str:
    """What a device sends in each round, with the most bytes where these are known."""
    size = facts.weights.bytes if facts and facts.weights else 0
    most = f", at most {formatting.size(size)} per round" if size else ""
    return (
        f"How much the trained tensors changed{most}, and the number of examples, signed with a "
        "key of the device. The hub aggregates the changes; its operator can read them."
    )


def trained(roles: dict[str, list[str]]) -> str:
    """Which tensors are trained, from the patterns of names by role."""
    only, frozen = roles.get(federated.TRAINABLE, []), roles.get(federated.FROZEN, [])
    if only and frozen == ["*"]:
        return f"Only tensors that match {_comma_list(only)}. All others stay as they are."
    if frozen and not only:
        return f"All trainable tensors except those that match {_comma_list(frozen)}."
    if roles:
        patterns = "; ".join(f"{role}: {_comma_list(names)}" for role, names in roles.items())
        return f"Tensors by pattern ({patterns}); the others by the operators that read them."
    return (
        "All weights that the hub recognises as trainable. Statistics of batch normalisations are "
        "aggregated too; integers and constants stay as they are."
    )


def _start(plan: Plan) -> str:
    return (
        f"Version {plan.version.number} of {plan.version.model.ref}. A worker reads {plan.entry} "
        "first; then the training opens automatically. If the file cannot be trained, the page of "
        "the training gives the reason."
    )


def _rounds(plan: Plan) -> str:
    schedule = plan.schedule
    length = formatting.duration(schedule.round_seconds)
    invited = (
        f"Each round selects {formatting.grouped(schedule.cohort)} participants at random."
        if schedule.cohort
        else "Each round asks all participants."
    )
    close = (
        f"It closes with {formatting.plural(schedule.target, 'contribution')}, or after {length}."
        if schedule.target
        else f"It closes after {length}."
    )
    quorum = formatting.plural(schedule.quorum, "contribution")
    return (
        f"{invited} {close} With fewer than {quorum} it fails, and the next round starts from the "
        "same weights."
    )


def _small_quorum(quorum: int) -> Iterator[Consequence]:
    if quorum == 1:
        words = "With a quorum of 1, the result of a round can be the update of a single device."
    elif quorum == 2:
        words = (
            "With a quorum of 2, a device can subtract its own update from the result and get the "
            "other one."
        )
    else:
        return
    yield Consequence("Small quorum", f"{words} Choose three or more.", is_warning=True)


def _end(plan: Plan) -> str:
    most = plan.schedule.most_rounds
    if not most:
        return "The training continues until a maintainer finishes it."
    length = formatting.duration(most * plan.schedule.round_seconds)
    return (
        f"After {formatting.plural(most, 'aggregated round')}: {length} at most if no round fails. "
        "The last result becomes a version."
    )


def _aggregation(plan: Plan) -> str:
    rule = plan.rules.rule
    measured = attacks.measured()
    worst = ", ".join(
        f"{measured.worst(rule, attacks.UNEVEN, number).accuracy:.3f} with "
        f"{formatting.plural(number, 'attacker') if number else 'no attackers'}"
        for number in measured.attackers
    )
    words = RULE_WORDS[rule]
    cap = formatting.grouped(plan.rules.examples_cap)
    return (
        f"{words[0].upper()}{words[1:]}. A device can claim up to {cap} examples. Lowest measured "
        f"accuracy of this rule with unevenly distributed data: {worst} of {measured.devices}."
    )


def _privacy(plan: Plan) -> str:
    most = plan.schedule.most_rounds
    counts = (most,) if most else _ROUNDS
    statements = [
        privacy.forecast(plan.version, rules=plan.rules, base_data=plan.base_data, rounds=rounds)
        for rounds in counts
    ]
    first = statements[0]
    if not first.is_private:
        return f"No differential privacy: {first.culprit}."
    bounds = ", ".join(
        f"ε = {privacy.upwards(statement.epsilon)} after {formatting.plural(rounds, 'round')}"
        for rounds, statement in zip(counts, statements, strict=True)
    )
    return (
        f"Differential privacy with {bounds}, at δ = {first.delta:g}, for adding or removing one "
        "participant. Every further round adds to ε. Noise makes the result less accurate."
    )


def _versions(every: int, best: str, *, publishes: bool) -> str:
    if every == 1:
        words = "Each aggregated round becomes a version"
    elif every:
        rounds = formatting.plural(every, "aggregated round")
        words = f"After each {rounds}, the result becomes a version"
    else:
        words = "A round becomes a version on request"
    if best:
        words += f", and so does the round with the {best} reported score at the end"
    if publishes:
        return f"{words}. It is published automatically when its checks pass."
    return f"{words}. A maintainer publishes it."


def _visible(plan: Plan) -> str:
    if plan.version.model.visibility == Visibility.PRIVATE:
        return (
            "Members of the namespace, since the model is private. A link with an invitation also "
            "shows the name of the model, this plan and the starting weights to its holder."
        )
    return (
        "Everyone: the training, its rounds and the number of contributions. Only maintainers see "
        "participants, by pseudonym."
    )


def _comma_list(patterns: list[str]) -> str:
    return ", ".join(patterns)
