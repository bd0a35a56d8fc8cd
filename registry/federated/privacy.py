"""What differential privacy a version keeps, composed along the versions that it came of.

A statement is computed from rows that never change: the rules of each training and its aggregated
rounds. A version that came of no round has none, whatever it was made from: only what the hub
itself trained is accounted for.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import Any

from hub import counting
from hub.protocol import phrases, privacy
from hub.protocol.privacy import Term
from hub.protocol.training_rules import Rules
from registry.federated.models import Round, Training
from registry.federated.models.trainings import BaseData
from registry.models import Version

# Why there is no guarantee.
NO_NOISE, UNKNOWN_BASE = "no-noise", "unknown-base"
NEIGHBOURS = "add-or-remove-one-participant"


@dataclass(frozen=True, slots=True)
class Statement:
    """The guarantee of a version, or why there is none.

    ``terms`` are the accounting terms of every training of the lineage, the oldest first; those of
    a training without noise are not among them. ``cause`` says why there is no guarantee, and
    ``culprit`` names in words what is to blame; both are empty where there is one. ``root`` is the
    number of the version at which the trainings began, ``root_data`` what its maintainers declare
    that it was trained on.
    """

    delta: float
    terms: tuple[Term, ...]
    trainings: tuple[int, ...]
    root: int
    root_data: BaseData
    cause: str = ""
    culprit: str = ""

    @property
    def is_private(self) -> bool:
        return not self.cause

    @property
    def rounds(self) -> int:
        """How many noisy rounds the lineage has."""
        return sum(term.rounds for term in self.terms)

    @property
    def epsilon(self) -> float | None:
        """The bound for one participant that is added or removed; None without a guarantee."""
        return privacy.epsilon(self.terms, self.delta) if self.is_private else None

    @property
    def epsilon_replace_one(self) -> float | None:
        """The bound where one participant's data are replaced by another's."""
        if not self.is_private:
            return None
        return privacy.epsilon(self.terms, self.delta, replace_one=True)

    def to_json(self) -> dict[str, Any]:
        return {
            "words": words(self),
            "guarantee": "differential-privacy" if self.is_private else "none",
            "cause": self.cause,
            "epsilon": self.epsilon,
            "epsilon_replace_one": self.epsilon_replace_one,
            "delta": self.delta if self.is_private else None,
            "neighbours": NEIGHBOURS if self.is_private else None,
            "rounds": self.rounds,
            "terms": [term.to_json() for term in self.terms],
        }


def of_version(version: Version) -> Statement | None:
    """The statement of a version; None for one that came of no round of this hub."""
    last: Round | None = getattr(version, "federated_round", None)
    return None if last is None else of_round(last)


def of_round(last: Round) -> Statement:
    """The statement of what a round became."""
    return _compose(last.training, last.number)


def of_training(training: Training) -> Statement:
    """The statement of the weights that a training has now."""
    return _compose(training, None)


def forecast(version: Version, *, rules: Rules, base_data: BaseData, rounds: int) -> Statement:
    """The statement that a training of a version would have after a number of rounds."""
    before = of_version(version)
    noise = rules.noise_multiplier
    own = () if noise is None else (Term(rounds, noise),)
    cause, culprit = (before.cause, before.culprit) if before else ("", "")
    if not before and base_data == BaseData.UNKNOWN:
        cause, culprit = UNKNOWN_BASE, _unknown(version)
    if noise is None:
        cause, culprit = NO_NOISE, "this training adds no noise"
    return Statement(
        delta=rules.delta or privacy.DEFAULT_DELTA,
        terms=(*(before.terms if before else ()), *own),
        trainings=before.trainings if before else (),
        root=before.root if before else version.number,
        root_data=before.root_data if before else base_data,
        cause=cause,
        culprit=culprit,
    )


def _unknown(root: Version) -> str:
    return f"version {root.number} was uploaded, and its training data are unknown"


def _compose(training: Training, number: int | None) -> Statement:
    """Walk from the newest training to the version that no round of this hub made."""
    rules = training.typed_rules
    terms: list[Term] = []
    trainings: list[int] = []
    cause = culprit = ""
    while True:
        rounds = Round.objects.filter(training=training, state=Round.State.AGGREGATED)
        count = (rounds if number is None else rounds.filter(number__lte=number)).count()
        noise = training.typed_rules.noise_multiplier
        trainings.append(training.number)
        if noise is not None:
            terms.append(Term(count, noise))
        elif not cause:
            cause, culprit = NO_NOISE, f"training {training.number} added no noise"
        before = Round.objects.filter(version=training.base).select_related("training__base")
        ancestor = before.first()
        if ancestor is None:
            break
        training, number = ancestor.training, ancestor.number
    if not cause and training.base_data == BaseData.UNKNOWN:
        cause, culprit = UNKNOWN_BASE, _unknown(training.base)
    return Statement(
        delta=rules.delta or privacy.DEFAULT_DELTA,
        terms=tuple(reversed(terms)),
        trainings=tuple(reversed(trainings)),
        root=training.base.number,
        root_data=BaseData(training.base_data),
        cause=cause,
        culprit=culprit,
    )


def words(of: Statement) -> str:
    """The privacy statement as text: epsilon, delta and the neighbours, or why there is none."""
    if of.cause == NO_NOISE:
        return (
            f"No differential privacy: {of.culprit}, so there is no bound on what the weights "
            "reveal about the data of one device."
        )
    if of.cause:
        return (
            f"No differential privacy: {of.culprit}. The noise of later rounds protects only what "
            "those rounds learned. A training whose maintainers declare the base version "
            "untrained, or trained on public data alone, states an ε."
        )
    if not of.rounds:
        return (
            "No round is aggregated yet. Each adds Gaussian noise with the multiplier "
            f"{of.terms[-1].noise_multiplier:g}; what they cost is stated at δ = {of.delta:.3g}."
        )
    many = len(of.trainings) > 1
    names = (
        f"trainings {phrases.conjunction(of.trainings)}" if many else f"training {of.trainings[0]}"
    )
    noise = ", ".join(
        f"{term.rounds} with noise multiplier {term.noise_multiplier:g}"
        for term in of.terms
        if term.rounds
    )
    rounds = counting.plural(of.rounds, "round")
    return (
        f"Central differential privacy with Gaussian noise: (ε = {upwards(of.epsilon)}, "
        f"δ = {of.delta:.3g}) for one participant over {rounds} of {names} ({noise}), "
        "composed along the versions by Rényi differential privacy. All contributions of one "
        "participant are added or removed; how many there were in each round is public. Where "
        f"one participant is replaced by another, ε = {upwards(of.epsilon_replace_one)}. Version "
        f"{of.root}, where the rounds begin, is declared {_ROOTS[of.root_data]} by its "
        "maintainers. Participants are not sampled in secret, so nothing is amplified."
    )


_ROOTS = {
    BaseData.UNTRAINED: "untrained",
    BaseData.PUBLIC: "trained on public data alone",
}


def upwards(bound: float | None) -> str:
    """A bound to four digits, rounded up: rounded down, it would promise too much."""
    return f"{Context(prec=4, rounding=ROUND_CEILING).create_decimal(bound or 0.0):f}"
