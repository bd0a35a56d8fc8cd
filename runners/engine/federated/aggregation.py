"""Aggregation of a round: clip, weigh, combine, step of the optimiser, add to the base, write.

An update is the difference between a participant's weights and the base of the round:

1. Clip: an update of trained tensors longer than the limit is scaled to it.
2. Weigh: by number of examples (FedAvg, McMahan et al. 2017), or by the robust rule; updates from
   older weights count less.
3. Combine: a weighted mean, or a median or trimmed mean of each value; with differential privacy,
   Gaussian noise is added to the mean.
4. Step: the optimiser of the server treats the result as a gradient (Reddi et al. 2021).
5. Add the step to the base, as float32.

Statistics of batch normalisations are combined directly, by weights of their own. The same
contributions give the same bytes in any order: they are sorted by participant, all sums are
float64, and noise comes from the round's seed.
"""

from __future__ import annotations

import hashlib
import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from hub.protocol import federated, safetensors, training_rules
from hub.protocol.federated import Part
from hub.protocol.training_rules import Rules
from runners.engine.federated import batch_statistics, kernels, noise, optimisers, robust, updates
from runners.engine.federated.kernels import Term
from runners.engine.federated.updates import Array, Dense, Update, Weights

OPTIMISER = "optimiser.safetensors"
# Number of earlier rounds in the running median of norms.
_HISTORY = 5
_ROLES = (federated.TRAINABLE, federated.STATISTIC)

Norms = dict[str, float]


@dataclass(frozen=True, slots=True)
class Member:
    """One accepted contribution, with its weight and scale.

    ``norms`` are L2 norms by role of tensors; ``staleness`` counts the rounds since its base;
    ``scale`` (at most 1) clips its trained tensors. Statistics have bounds of their own.
    """

    id: str
    update: Update
    examples: int
    norms: Norms
    staleness: int = 0
    weight: float = 0.0
    statistic_weight: float = 0.0
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Round:
    """The input of one aggregation."""

    parts: Sequence[Part]
    rules: Rules
    base: Weights
    members: Sequence[Member]
    history: Sequence[Norms]
    seed: bytes = b""
    memory: Weights | None = None


class UnfitError(ValueError):
    """The round cannot be aggregated by its rules; the message says why."""


def aggregate(job: Round, folder: Path) -> dict[str, Any]:
    """Write the next weights, and the optimiser's state if it has one; returns the figures."""
    if not job.members:
        raise UnfitError("There are no contributions to aggregate.")
    if job.rules.noise_multiplier and any(part.role == federated.STATISTIC for part in job.parts):
        raise UnfitError("Noise would break the statistics of batch normalisations.")
    job = replace(job, members=sorted(job.members, key=lambda member: member.id))
    medians = _medians(job.members)
    limit = _limit(job, medians)
    job = replace(job, members=_clipped(job, limit))
    job = replace(job, members=_weighed(job))
    figures = _Figures([0.0] * len(job.members))
    digest = _write(job, folder, figures)
    return {
        "weights_digest": digest,
        "rule": job.rules.rule,
        "parameters": dict(job.rules.parameters),
        "examples": sum(member.examples for member in job.members),
        "median_norm": medians,
        "clip_limit": limit,
        "mean_norm": math.sqrt(figures.mean),
        "step_norm": math.sqrt(figures.step),
        "contributions": [_row(member, figures, at) for at, member in enumerate(job.members)],
    }


def _medians(members: Sequence[Member]) -> Norms:
    return {role: statistics.median(member.norms[role] for member in members) for role in _ROLES}


def _limit(job: Round, medians: Norms) -> float | None:
    """The largest norm of an update of trained tensors; None for no limit.

    Either a fixed norm, or a multiple of the median over the last rounds of the median norm, so
    that a few large updates cannot raise it.
    """
    fixed, multiple = job.rules.clip_norm, job.rules.clip_multiple
    if fixed is not None or multiple is None:
        return fixed
    history = [*list(job.history)[-_HISTORY:], medians]
    return multiple * statistics.median(norms[federated.TRAINABLE] for norms in history)


def _clipped(job: Round, limit: float | None) -> list[Member]:
    def scale(norm: float) -> float:
        return 1.0 if limit is None or norm <= limit else limit / norm

    return [
        replace(member, scale=scale(member.norms[federated.TRAINABLE])) for member in job.members
    ]


def _weighed(job: Round) -> list[Member]:
    """Set the weight of every member by the rule; integers if numbers of examples decide."""
    rules = job.rules
    most = rules.most_examples(member.examples for member in job.members)
    members = [
        replace(member, examples=max(1, min(member.examples, most))) for member in job.members
    ]
    if rules.rule in training_rules.ROBUST or rules.noise_multiplier:
        weights = _robust_weights(job)
    else:
        weights = [float(member.examples) for member in members]
    statistic_weights = _statistic_weights(job, weights)
    return [
        _discounted(replace(member, weight=weight, statistic_weight=other), rules)
        for member, weight, other in zip(members, weights, statistic_weights, strict=True)
    ]


def _discounted(member: Member, rules: Rules) -> Member:
    """The member with its weight reduced by staleness: weight * (1 + staleness) ** -exponent."""
    if not member.staleness:
        return member
    share = (1.0 + member.staleness) ** -rules.staleness_exponent
    return replace(
        member, weight=member.weight * share, statistic_weight=member.statistic_weight * share
    )


def _robust_weights(job: Round) -> list[float]:
    rules, count = job.rules, len(job.members)
    if rules.rule in training_rules.ROBUST and count > training_rules.MOST_ROBUST:
        raise UnfitError(
            f"{rules.rule} accepts at most {training_rules.MOST_ROBUST} contributions."
        )
    if rules.rule not in _BY_PRODUCTS:
        return [1.0] * count
    scales = np.array([member.scale for member in job.members])
    return _BY_PRODUCTS[rules.rule](rules, kernels.gram(job.parts, _changes(job), scales))


def _statistic_weights(job: Round, weights: list[float]) -> list[float]:
    """Weights of the members for statistics, by the same rule applied to the statistics.

    Multi-Krum uses only members that it selects for both trained tensors and statistics.
    """
    rules = job.rules
    has_statistics = any(part.role == federated.STATISTIC for part in job.parts)
    if rules.rule not in _BY_PRODUCTS or not has_statistics:
        return weights
    products = batch_statistics.gram(job.parts, _changes(job), job.base)
    factors = _BY_PRODUCTS[rules.rule](rules, products)
    if rules.rule == training_rules.GEOMETRIC:
        return factors
    return [weight * factor for weight, factor in zip(weights, factors, strict=True)]


# Rules that compute weights from the Gram matrix: the inner products of all pairs of updates.
_BY_PRODUCTS: dict[str, Callable[[Rules, Array], list[float]]] = {
    training_rules.MULTI_KRUM: lambda rules, products: list(
        map(float, robust.multi_krum(products, rules.parameters["attackers"]))
    ),
    training_rules.GEOMETRIC: lambda rules, products: list(
        map(float, robust.geometric_median(products, int(rules.parameters["iterations"])))
    ),
}


def _changes(job: Round) -> list[Update]:
    return [member.update for member in job.members]


@dataclass(slots=True)
class _Figures:
    """Sums over all trainable parts, for reviewers of a round."""

    along: list[float]
    mean: float = 0.0
    step: float = 0.0


def _row(member: Member, figures: _Figures, at: int) -> dict[str, Any]:
    length = member.norms[federated.TRAINABLE] * math.sqrt(figures.mean)
    used = member.weight > 0
    return {
        "id": member.id,
        "n": member.examples,
        "weight": member.weight,
        "staleness": member.staleness,
        "norm": member.norms[federated.TRAINABLE],
        "clipped": member.scale < 1.0,
        "cosine": max(-1.0, min(1.0, figures.along[at] / length)) if length else None,
        "used": used,
        "reason": "" if used else "left-out-by-rule",
    }


def _write(job: Round, folder: Path, figures: _Figures) -> str:
    """Write all files; returns the digest of the weights."""
    view = memoryview(job.base.buffer).cast("B")
    digest = hashlib.sha256(view[: job.base.header.data_start])
    by_name = {part.name: part for part in job.parts}
    with (folder / federated.WEIGHTS).open("xb") as weights, _Memory(job, folder) as memory:
        weights.write(view[: job.base.header.data_start])
        for tensor in job.base.header.tensors:
            part = by_name.get(tensor.name)
            if part is None or part.role == federated.FROZEN:
                contents: Iterator[Any] = iter((job.base.raw(tensor.name),))
            else:
                contents = _next_values(job, part, memory, figures)
            for content in contents:
                digest.update(content)
                weights.write(content)
    return digest.hexdigest()


def _next_values(job: Round, part: Part, memory: _Memory, figures: _Figures) -> Iterator[bytes]:
    """The next values of a part, run by run, as float32."""
    if part.role == federated.STATISTIC:
        for _, _, values in _statistics(job, part):
            yield _float32(values, part)
        return
    base, moments = Dense(job.base.values(part.name)), memory.open(part)
    review = _Review(job, part, figures)
    (spare,) = updates.buffers(1)
    for first, end, mean in _means(job, part):
        before = base.run(first, end, spare)
        review.take(first, mean)
        run_moments = {slot: values[first:end] for slot, values in moments.items()}
        step = optimisers.step(job.rules, mean, run_moments)
        figures.step += float(np.dot(step, step))
        before += step
        yield _float32(before, part)
    memory.close(part, moments)


def _statistics(job: Round, part: Part) -> Iterator[tuple[int, int, Array]]:
    """The next values of a statistic, run by run: bounded, then combined by the rule."""
    weights = [member.statistic_weight for member in job.members]
    whole = math.fsum(weights)
    combine = _BY_VALUE.get(job.rules.rule)
    for first, end, rows, _ in batch_statistics.runs(part, _changes(job), job.base):
        if combine is not None:
            values = combine(job.rules, rows)
        else:
            values = np.zeros(end - first)
            for weight, row in zip(weights, rows, strict=True):
                values += weight * row
            values /= whole
        yield first, end, values


def _float32(values: Array, part: Part) -> bytes:
    """The bytes of a part; raises UnfitError if a value exceeds the range of float32."""
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = values.astype("<f4")
    if not np.isfinite(narrow).all():
        raise UnfitError(
            f"The next values of {part.name!r} are beyond what float32 can hold, so the round has "
            "no result. Bound what devices send with norm_limit, or lower the rate of the rule."
        )
    return narrow.tobytes()


def _means(job: Round, part: Part) -> Iterator[tuple[int, int, Array]]:
    """The combined change of a trained part, run by run.

    The standard deviation of the noise is noise_multiplier * clip_norm / sum of the weights, as in
    DP-FedAvg (McMahan et al. 2018): one update changes the mean by at most clip_norm / sum.
    """
    if job.rules.rule in _BY_VALUE:
        combine = _BY_VALUE[job.rules.rule]
        scales = np.array([member.scale for member in job.members])
        for first, end, rows in kernels.matrices(part, _changes(job), scales):
            yield first, end, combine(job.rules, rows)
        return
    whole = sum(member.weight for member in job.members)
    terms = [Term(member.update, member.weight * member.scale) for member in job.members]
    total, spare = updates.buffers(2)
    mean = kernels.mean_of(part, terms, whole)
    for first, end in updates.runs(part):
        out = mean.run(first, end, total, spare)
        if job.rules.noise_multiplier:
            place = f"{part.name}\0{first}"
            deviation = job.rules.noise_multiplier * (job.rules.clip_norm or 0.0) / whole
            out += deviation * noise.normal(job.seed, place, end - first)
        yield first, end, out


_BY_VALUE: dict[str, Callable[[Rules, Array], Array]] = {
    training_rules.MEDIAN: lambda _, rows: robust.median(rows),
    training_rules.TRIMMED: lambda rules, rows: robust.trimmed_mean(rows, rules.parameters["trim"]),
}


class _Review:
    """Adds a part to the norm of the mean, and to each member's inner product with the mean."""

    def __init__(self, job: Round, part: Part, figures: _Figures) -> None:
        self._differences = [member.update.difference(part) for member in job.members]
        self._figures = figures
        self._into, self._spare = updates.buffers(2)

    def take(self, first: int, mean: Array) -> None:
        end = first + len(mean)
        self._figures.mean += float(np.dot(mean, mean))
        for at, difference in enumerate(self._differences):
            run = difference.run(first, end, self._into, self._spare)
            self._figures.along[at] += float(np.dot(run, mean))


class _Memory:
    """The state of the optimiser, such as moments, read from one file and written to the next."""

    def __init__(self, job: Round, folder: Path) -> None:
        self._job = job
        self._path = folder / OPTIMISER
        self._slots = optimisers.slots(job.rules)
        self._places: dict[str, int] = {}

    def __enter__(self) -> Self:
        self._file = None
        if self._slots:
            rows = [
                (slot + part.name, "F32", part.shape)
                for slot in self._slots
                for part in self._job.parts
                if part.role == federated.TRAINABLE
            ]
            first, header = safetensors.make_header(rows)
            self._places = {
                tensor.name: header.data_start + tensor.start for tensor in header.tensors
            }
            self._file = self._path.open("xb")
            self._file.write(first)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def open(self, part: Part) -> dict[str, Array]:
        """The state of a part as float64."""
        values = {}
        for slot in self._slots:
            if self._job.memory is not None:
                values[slot] = self._job.memory.values(slot + part.name).astype(np.float64)
            else:
                begins = optimisers.beginning(self._job.rules, slot)
                values[slot] = np.full(part.elements, begins)
        return values

    def close(self, part: Part, tensors: dict[str, Array]) -> None:
        """Write the state of a part."""
        for slot, values in tensors.items():
            if self._file is not None:
                self._file.seek(self._places[slot + part.name])
                self._file.write(_float32(values, part))
