"""How often the intervals of the hub hold the true value, by method.

    python benchmarks/interval_coverage.py [--rounds 1000] [--pseudo-rows 2]

Shares are computed exactly; the rest is simulated with fixed seeds, so that the same NumPy gives
the same figures. One line is one true distribution and number of rows: the share of rounds in which
the interval held the true value, among those that had an interval, and the share of those without
one. What a page says of a method (`hub.protocol.intervals`) is the range of its lines. Without
pseudo-rows the bootstrap is that of percentiles alone.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hub.protocol import intervals
from runners.engine.evaluation import metrics, resampling, scoring
from runners.engine.evaluation.resampling import Agreement, Error

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]

# Rows, and true shares of right rows.
SHARES = [(rows, share) for rows in (10, 45, 360, 1000) for share in (0.5, 0.9, 0.983, 0.999)]
# Classes, rows, share of wrong rows, shares of the classes (equal ones if empty).
CLASSES = (
    (3, 45, 0.02, ()),
    (3, 45, 0.1, ()),
    (3, 45, 0.3, ()),
    (2, 171, 0.05, (0.37, 0.63)),
    (3, 100, 0.1, (0.8, 0.15, 0.05)),
    (10, 150, 0.02, ()),
    (10, 360, 0.02, ()),
    (10, 1000, 0.1, ()),
)
# Rows, distance of two normal distributions of scores, share of the positive class.
CURVES = (
    (45, 3.5, 0.33),
    (45, 2.0, 0.33),
    (45, 1.0, 0.5),
    (100, 1.0, 0.1),
    (171, 3.0, 0.37),
    (200, 2.0, 0.1),
    (1000, 2.0, 0.5),
)
# Name, skew, draw of errors, true mean.
ERRORS: tuple[tuple[str, float, Callable[[np.random.Generator, int], Array], float], ...] = (
    ("half-normal", 1.0, lambda draw, n: np.abs(draw.normal(size=n)), math.sqrt(2 / math.pi)),
    ("exponential", 2.0, lambda draw, n: draw.exponential(size=n), 1.0),
    ("squared normal", 2.8, lambda draw, n: draw.normal(size=n) ** 2, 1.0),
    ("gamma 0.25", 4.0, lambda draw, n: draw.gamma(0.25, size=n), 0.25),
    ("log-normal", 6.2, lambda draw, n: np.exp(draw.normal(size=n)), math.exp(0.5)),
)
ROWS = (20, 45, 100, 400)
# Noise of the logarithms of the medians of processes, about a mean of 0.
NOISE: dict[str, Callable[[random.Random], float]] = {
    "log-normal": lambda draw: draw.gauss(0, 0.05),
    "log-uniform": lambda draw: draw.uniform(-0.05, 0.05),
    "exponential": lambda draw: 0.05 * (draw.expovariate(1) - 1),
    "one of ten slower by a tenth": lambda draw: (
        draw.gauss(0, 0.01) + 0.1 * (draw.random() < 0.1) - 0.01
    ),
}
PROCESSES = (5, 10, 20)
# Devices, and mean shares of right answers over all that there are.
DEVICES = [(devices, share) for devices in (5, 10, 30, 100) for share in (0.5, 0.9, 0.98)]


def of_share(rows: int, share: float) -> float:
    """The exact coverage of the interval of a share: the sum over all counts that hold it."""
    held = 0.0
    for count in range(rows + 1):
        chance = intervals.binomial_tail(count, rows, share)
        chance -= intervals.binomial_tail(count - 1, rows, share) if count else 0.0
        if chance > 1e-12:
            of = intervals.proportion(count, rows)
            held += chance if of.low <= share <= of.high else 0.0
    return held


def of_f1(
    classes: int, rows: int, wrong: float, shares: tuple[float, ...], rounds: int, seed: int = 1
) -> tuple[float, float]:
    """Coverage of the interval of macro F1, where wrong answers are any other class."""
    weights = np.asarray(shares or [1 / classes] * classes)
    table = np.where(np.eye(classes, dtype=bool), 1 - wrong, wrong / (classes - 1))
    table = table * weights[:, np.newaxis]
    truth = float(np.mean(2 * np.diag(table) / (table.sum(axis=0) + table.sum(axis=1))))
    draw = np.random.default_rng(seed)

    def sample() -> Agreement:
        cells = draw.choice(classes * classes, size=rows, p=table.ravel())
        return Agreement(metrics.macro_f1, cells // classes, cells % classes)

    return _coverage(sample, rows, truth, rounds)


def of_area(
    rows: int, distance: float, positive: float, rounds: int, seed: int = 2
) -> tuple[float, float]:
    """Coverage of the interval of the area under a ROC curve of normal scores."""
    truth = statistics.NormalDist().cdf(distance / math.sqrt(2))
    draw = np.random.default_rng(seed)

    def sample() -> Agreement:
        targets = draw.random(rows) < positive
        scores = draw.normal(size=rows) + distance * targets
        return Agreement(metrics.mean_area, targets[:, np.newaxis], scores[:, np.newaxis])

    return _coverage(sample, rows, truth, rounds)


def of_mean(
    errors: Callable[[np.random.Generator, int], Array],
    rows: int,
    truth: float,
    rounds: int,
    seed: int = 3,
) -> tuple[float, float]:
    """Coverage of the interval of a mean of errors; that of the root of one is the same."""
    draw = np.random.default_rng(seed)
    return _coverage(lambda: scoring.mean_of(errors(draw, rows)), rows, truth, rounds)


def of_r2(rows: int, truth: float, rounds: int, seed: int = 4) -> tuple[float, float]:
    """Coverage of the interval of R² with normal targets and Laplace errors."""
    draw = np.random.default_rng(seed)

    def sample() -> Error:
        values = math.sqrt(truth) * draw.normal(size=rows)
        errors = math.sqrt((1 - truth) / 2) * draw.laplace(size=rows)
        return scoring.determination_of(values + errors, values)

    return _coverage(sample, rows, truth, rounds)


def of_perplexity(rows: int, spread: float, rounds: int, seed: int = 6) -> tuple[float, float]:
    """Coverage of the interval of a perplexity of 8 to 128 tokens a row, with exponential losses.

    The mean loss of a row is log-normal about 3 nats with this ``spread`` of its logarithm.
    """
    draw = np.random.default_rng(seed)

    def sample() -> Error:
        tokens = draw.integers(8, 129, rows)
        means = 3 * np.exp(spread * draw.normal(size=rows) - spread**2 / 2)
        return scoring.perplexity_of(means * draw.gamma(tokens), tokens.astype(float))

    return _coverage(sample, rows, math.exp(3), rounds)


def of_medians(noise: Callable[[random.Random], float], processes: int, rounds: int) -> float:
    """Coverage of the interval of the geometric mean of the medians of processes."""
    draw, held = random.Random(5), 0  # noqa: S311 - a seeded simulation
    for _ in range(rounds):
        estimate = intervals.geometric_mean([math.exp(noise(draw)) for _ in range(processes)])
        assert estimate is not None
        held += estimate[1] <= 1 <= estimate[2]
    return held / rounds


def of_devices(devices: int, share: float, rounds: int) -> tuple[float, float]:
    """Coverage of the interval of the share of right answers on devices, weighted by examples.

    Each has 20 to 400 examples, log-uniform, and a share of its own from a beta distribution of ten
    pseudo-examples. Also the share of rounds without an interval.
    """
    draw, held, absent = np.random.default_rng(6), 0, 0
    for _ in range(rounds):
        counts = np.exp(draw.uniform(math.log(20), math.log(400), devices)).astype(int)
        right = draw.binomial(counts, draw.beta(10 * share, 10 * (1 - share), devices))
        of = intervals.weighted_share(right.tolist(), counts.tolist())
        absent += of is None
        held += of is not None and of.low <= share <= of.high
    return held / max(rounds - absent, 1), absent / rounds


def of_median(devices: int) -> float:
    """The exact coverage of the interval of a median, whatever the continuous distribution."""
    of = intervals.median(range(devices))
    return 1 - 2 * intervals.binomial_tail(int(of.low), devices, 0.5) if of else 1.0


def _coverage(
    sample: Callable[[], Agreement | Error], rows: int, truth: float, rounds: int
) -> tuple[float, float]:
    """The share of intervals that hold the truth, of all rounds, and the share without any."""
    held = absent = 0
    for seed in range(rounds):
        estimates = resampling.estimates({"figure": sample()}, rows, seed)
        if "figure" not in estimates or (of := estimates["figure"].interval) is None:
            absent += 1
        else:
            held += of.low <= truth <= of.high
    return held / max(rounds - absent, 1), absent / rounds


def _print_errors(rounds: int) -> None:
    """Print the coverage of the studentised bootstrap."""
    for name, skew, errors, truth in ERRORS:
        for rows in ROWS:
            held, absent = of_mean(errors, rows, truth, rounds)
            print(f"mean of errors, {name} (skew {skew}), {rows} rows: {held:.3f}, none "
                  f"{absent:.3f}", flush=True)  # fmt: skip
    for spread in (0.2, 0.6):
        for rows in ROWS:
            held, absent = of_perplexity(rows, spread, rounds)
            print(f"perplexity, spread {spread}, {rows} rows: {held:.3f}, none {absent:.3f}",
                  flush=True)  # fmt: skip
    for truth in (0.3, 0.9):
        for rows in ROWS:
            held, absent = of_r2(rows, truth, rounds)
            print(f"r2 {truth}, {rows} rows: {held:.3f}, none {absent:.3f}", flush=True)


def main() -> None:
    """Print the coverage of each method."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1000, help="simulations (default: 1000)")
    parser.add_argument(
        "--pseudo-rows",
        type=int,
        default=resampling.PSEUDO_ROWS,
        help="weight of the pseudo-rows (default: that of the hub)",
    )
    args = parser.parse_args()
    rounds, resampling.PSEUDO_ROWS = args.rounds, args.pseudo_rows
    for rows, share in SHARES:
        print(f"accuracy {share}, {rows} rows: {of_share(rows, share):.3f}")
    for one in CLASSES:
        held, absent = of_f1(*one, rounds)
        print(f"f1-macro, {one[0]} classes, {one[1]} rows, {one[2]:.0%} wrong"
              f"{f', classes {one[3]}' if one[3] else ''}: {held:.3f}, none {absent:.3f}",
              flush=True)  # fmt: skip
    for rows, distance, positive in CURVES:
        held, absent = of_area(rows, distance, positive, rounds)
        print(f"roc_auc, distance {distance}, {rows} rows, {positive:.0%} positive: "
              f"{held:.3f}, none {absent:.3f}", flush=True)  # fmt: skip
    _print_errors(rounds)
    for noise, draw in NOISE.items():
        for processes in PROCESSES:
            held = of_medians(draw, processes, 20 * rounds)
            print(f"p50, {noise}, {processes} processes: {held:.3f}")
    _print_devices(rounds)


def _print_devices(rounds: int) -> None:
    for devices, share in DEVICES:
        held, absent = of_devices(devices, share, 2 * rounds)
        print(f"share {share} on {devices} devices: {held:.3f}, none {absent:.3f}")
    for devices in (6, 10, 30, 100):
        print(f"median of {devices} devices: {of_median(devices):.3f}")


if __name__ == "__main__":
    main()
