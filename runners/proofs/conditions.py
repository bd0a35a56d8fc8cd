"""Conformance and proofs of upgrades as conditions of aliases."""

from __future__ import annotations

from dataclasses import dataclass

from hub import counting
from hub.protocol import filters
from hub.protocol.proofs import SUFFICIENT, Strength
from registry.models import Variant, Version
from registry.versions.conditions import Answer, Condition, ConditionKind
from runners.proofs import verdicts

MOST_RUNTIMES = 20
MOST_OPSET = 1_000


@dataclass(frozen=True, slots=True)
class Conformance(Condition):
    """The main variant passes the conformance checks on at least this number of runtimes."""

    runtimes: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.runtimes <= MOST_RUNTIMES:
            raise ValueError(f"runtimes must be between 1 and {MOST_RUNTIMES}")

    @property
    def sentence(self) -> str:
        return f"conformance passed on {counting.plural(self.runtimes, 'runtime')}"

    def answer(self, version: Version, present: Version | None) -> Answer:
        facts = verdicts.of(version)
        names = sorted(name for group, name in facts if group == filters.PASSES_ON.name)
        detail = f"passed on {', '.join(names)}" if names else "passed on none"
        return Answer(len(names) >= self.runtimes, detail)


@dataclass(frozen=True, slots=True)
class Upgrade(Condition):
    """A variant has this opset or a higher one: uploaded so, or upgraded with such a proof."""

    opset: int
    strength: Strength = Strength.CERTIFIED

    def __post_init__(self) -> None:
        if not 1 <= self.opset <= MOST_OPSET:
            raise ValueError(f"opset must be between 1 and {MOST_OPSET}")
        if self.strength not in SUFFICIENT:
            raise ValueError(f"strength must be one of {', '.join(SUFFICIENT)}")

    @property
    def sentence(self) -> str:
        return f"opset {self.opset} or higher, upgraded with a proof that is {self.strength}"

    def answer(self, version: Version, present: Version | None) -> Answer:
        rows = version.variants.filter(opset__gte=self.opset)
        rows = rows.exclude(origin=Variant.Origin.CONVERTED)
        details = []
        for row in rows:
            if row.origin == Variant.Origin.UPLOADED:
                return Answer(is_met=True, detail=f"{row.name} was uploaded with opset {row.opset}")
            if row.proof_strength in SUFFICIENT[self.strength]:
                return Answer(is_met=True, detail=f"{row.name} is {row.proof_strength}")
            details.append(f"{row.name} is only {row.proof_strength}")
        return Answer(is_met=False, detail=", ".join(details) or "no variant has such an opset")


KINDS = (ConditionKind("conformance", Conformance), ConditionKind("upgrade", Upgrade))
