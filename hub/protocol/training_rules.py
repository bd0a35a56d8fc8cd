"""The rules of a training: how contributions become the next weights, and what is let in.

They are fixed when the first round opens, so that every round of a training means the same.
docs/federated.md gives the formulas.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from hub.protocol import federated, privacy, problems, stored

FEDAVG, MOMENTUM, ADAM = "fedavg", "fedavgm", "fedadam"
YOGI, ADAGRAD = "fedyogi", "fedadagrad"
MEDIAN, TRIMMED = "median", "trimmed-mean"
MULTI_KRUM, GEOMETRIC = "multi-krum", "geometric-median"
OPTIMISERS = (MOMENTUM, ADAM, YOGI, ADAGRAD)
ROBUST = (MEDIAN, TRIMMED, MULTI_KRUM, GEOMETRIC)
RULES = (FEDAVG, *OPTIMISERS, *ROBUST)
# A robust rule compares all contributions of a round with one another.
MOST_ROBUST = 500

NOISE_UNCOUNTED = (
    "Reports of devices are exact figures, which ε does not count. Use them without noise."
)
_MOST_NUMBER = 1e12
# Name of a parameter -> (default, least, most).
PARAMETERS: dict[str, dict[str, tuple[float, float, float]]] = {
    FEDAVG: {},
    MOMENTUM: {"rate": (1.0, 0.0, 100.0), "momentum": (0.9, 0.0, 0.9999)},
    ADAM: {
        "rate": (0.01, 0.0, 100.0),
        "beta1": (0.9, 0.0, 0.9999),
        "beta2": (0.99, 0.0, 0.9999),
        "tau": (0.001, 1e-12, 1.0),
    },
    MEDIAN: {},
    TRIMMED: {"trim": (0.2, 0.0, 0.49)},
    MULTI_KRUM: {"attackers": (0.2, 0.0, 0.49)},
    GEOMETRIC: {"iterations": (10, 1, 100)},
}
PARAMETERS[YOGI] = PARAMETERS[ADAM]
PARAMETERS[ADAGRAD] = {
    "rate": (0.1, 0.0, 100.0),
    "beta1": (0.0, 0.0, 0.9999),
    "tau": (0.001, 1e-12, 1.0),
}


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one training. Norms are the 2-norm of all that a device changed.

    ``examples_cap`` bounds the sample count that a device claims, ``examples_multiple`` what of it
    counts, as a multiple of the round's median; ``clip_multiple`` shortens an update to this
    multiple of the running median of norms; ``norm_limit`` refuses a longer one;
    ``noise_multiplier`` with ``clip_norm`` is central Gaussian noise (differential privacy), and
    ``delta`` the probability with which its bound may fail;
    ``client_certificate`` lets in devices with a TLS certificate alone.
    With ``needs_evaluation`` a round becomes a version when the median change of the share of right
    answers over the devices that compare it is at least ``least_change`` (-1 to 1).
    """

    rule: str = FEDAVG
    parameters: dict[str, float] = field(default_factory=dict)
    examples_cap: int = 10_000
    examples_multiple: float | None = 2.0
    clip_multiple: float | None = 1.0
    norm_limit: float | None = None
    encodings: tuple[str, ...] = federated.ENCODINGS
    staleness_exponent: float = 0.5
    max_staleness: int = 0
    noise_multiplier: float | None = None
    clip_norm: float | None = None
    delta: float | None = None
    client_certificate: bool = False
    needs_evaluation: bool = False
    least_change: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "encodings": list(self.encodings)}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Read rules, defaults filled in; raises `InvalidRequest` naming the field."""
        if not isinstance(data, dict):
            raise problems.InvalidRequest.at("/rules", "The rules must be a JSON object.")
        names = [field.name for field in fields(cls)]
        for name in data:
            if name not in names:
                choices = ", ".join(names)
                raise _wrong(
                    str(name)[:80],
                    f"The rules have no field {str(name)[:80]!r}. Fields: {choices}.",
                )
        values = {**data, "encodings": _encodings(data.get("encodings", federated.ENCODINGS))}
        rule = values.get("rule", FEDAVG)
        if not isinstance(rule, str) or rule not in RULES:
            raise _wrong("rule", f"The rule must be one of {', '.join(RULES)}.")
        values["parameters"] = _parameters(rule, values.get("parameters", {}))
        if values.get("noise_multiplier") is not None and values.get("delta") is None:
            values["delta"] = privacy.DEFAULT_DELTA
        rules = cls(**values)
        rules._refuse_wrong()
        return rules

    def _refuse_wrong(self) -> None:
        if type(self.examples_cap) is not int or not 1 <= self.examples_cap < 1 << 31:
            raise _wrong("examples_cap", "The cap must be a whole number from 1 to 2^31 - 1.")
        if type(self.max_staleness) is not int or not 0 <= self.max_staleness <= 1000:
            raise _wrong("max_staleness", "The staleness must be a whole number from 0 to 1000.")
        for name in ("client_certificate", "needs_evaluation"):
            if type(getattr(self, name)) is not bool:
                raise _wrong(name, "This must be true or false.")
        if not _is_between(self.least_change, -1.0, 1.0):
            raise _wrong("least_change", "The change must be a number from -1 to 1.")
        if not _is_between(self.staleness_exponent, 0.0, 10.0):
            raise _wrong("staleness_exponent", "The exponent must be a number from 0 to 10.")
        if self.examples_multiple is not None and not _is_between(
            self.examples_multiple, 1.0, _MOST_NUMBER
        ):
            raise _wrong("examples_multiple", "This must be a number of at least 1, or null.")
        for name in ("clip_multiple", "norm_limit", "noise_multiplier", "clip_norm"):
            value = getattr(self, name)
            if value is not None and (not _is_between(value, 0.0, _MOST_NUMBER) or value == 0):
                raise _wrong(name, "This must be a number above 0, or null.")
        self._refuse_wrong_privacy()

    def _refuse_wrong_privacy(self) -> None:
        least, most = privacy.LEAST_DELTA, privacy.MOST_DELTA
        if self.delta is not None and not _is_between(self.delta, least, most):
            raise _wrong(
                "delta",
                f"This must be a number from {least:g} to {most:g}: with a larger δ, the noise "
                "could expose whole participants.",
            )
        if self.noise_multiplier is None:
            if self.delta is not None:
                raise _wrong("delta", "Without noise this must be null or left out.")
            return
        if self.clip_norm is None:
            raise _wrong(
                "clip_norm", "Noise requires a fixed norm to which every update is clipped."
            )
        if self.rule not in {FEDAVG, *OPTIMISERS}:
            raise _wrong("noise_multiplier", "Noise works only with a mean, not with this rule.")
        if self.needs_evaluation:
            raise _wrong("needs_evaluation", NOISE_UNCOUNTED)

    def most_examples(self, counts: Iterable[int]) -> int:
        """How many examples of one device count: a claim that cannot be checked must not decide.

        ``counts`` are the claims of all devices of the round, at least one.
        """
        if self.examples_multiple is None:
            return self.examples_cap
        # The lower median: with two devices, a false claim of one does not raise the limit.
        middle = statistics.median_low(min(count, self.examples_cap) for count in counts)
        return min(self.examples_cap, math.ceil(self.examples_multiple * middle))


def _wrong(name: str, words: str) -> problems.InvalidRequest:
    return problems.InvalidRequest.at(f"/rules/{name}", words)


def _is_between(value: Any, least: float, most: float) -> bool:
    return stored.is_number(value) and math.isfinite(value) and least <= value <= most


def _encodings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise _wrong("encodings", "This must be a list of the encodings that devices may use.")
    if any(encoding not in federated.ENCODINGS for encoding in value):
        raise _wrong("encodings", f"Valid encodings: {', '.join(federated.ENCODINGS)}.")
    return tuple(name for name in federated.ENCODINGS if name in value)


def _parameters(rule: str, values: Any) -> dict[str, float]:
    if not isinstance(values, dict):
        raise _wrong("parameters", "The parameters must be a JSON object.")
    bounds = PARAMETERS[rule]
    for name in values:
        if name not in bounds:
            raise _wrong(f"parameters/{str(name)[:80]}", f"The rule {rule} has no such parameter.")
    for name, (_, least, most) in bounds.items():
        if name in values and not _is_between(values[name], least, most):
            raise _wrong(f"parameters/{name}", f"This must be a number from {least} to {most}.")
    return {name: values.get(name, default) for name, (default, _, _) in bounds.items()}
