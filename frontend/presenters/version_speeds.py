"""The speed of a version against batch sizes and against other versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from frontend.parts import formatting, labels
from frontend.parts.svg import charts, latency_strips
from frontend.presenters import figures, measurements
from hub.protocol.benchmark_metrics import THROUGHPUT
from registry.core.permissions import Actor
from registry.models import Version
from runners.benchmarks import timelines
from runners.models import Comparison, Measurement

# Verdict of a comparison -> the state that colours its glyph, and its words.
VERDICTS = {
    "slower": ("failed", "slower"),
    "faster": ("passed", "faster"),
    "same": ("passed", "as fast"),
    "inconclusive": ("can't tell", "inconclusive"),
}
_MOST_SERIES = 6


def batches(results: Sequence[Measurement]) -> list[dict[str, Any]]:
    """Throughput by batch, where the same variant was timed with several."""
    by_setup: dict[tuple[Any, ...], dict[int, Measurement]] = {}
    for row in results:
        if row.throughput_per_s and row.is_trusted:
            setup = (
                row.variant.name,
                row.device_label,
                measurements.runtime_of(row),
                row.threads,
                row.scenario,
                row.call_style,
            )
            by_setup.setdefault(setup, {}).setdefault(row.batch, row)
    series = []
    for setup, by_batch in by_setup.items():
        if len(by_batch) > 1:
            ordered = [by_batch[batch] for batch in sorted(by_batch)]
            points = [
                charts.Point(row.batch, row.throughput_per_s or 0, _mark(row)) for row in ordered
            ]
            rows = tuple(
                (
                    str(row.batch),
                    figures.sentence(row.figure(THROUGHPUT)),
                    figures.text(row.p50),
                    measurements.address(row),
                )
                for row in ordered
            )
            title = f"{setup[0]} on {setup[1]}, {setup[2]}"
            series.append(
                {
                    "title": title,
                    "chart": charts.line(points),
                    "rows": rows,
                }
            )
    return series[:_MOST_SERIES]


def _mark(row: Measurement) -> str:
    return f"of-{latency_strips.tone(row)}"


def over_versions(
    actor: Actor, version: Version, results: Sequence[Measurement]
) -> list[dict[str, Any]]:
    """p50 of each version under one key, for the keys of this version's first results."""
    keys = list(dict.fromkeys(row.comparability_key for row in results if row.is_ranked))
    series = []
    for key in keys[:_MOST_SERIES]:
        timeline = timelines.over_versions(actor, version.model, key)
        if len({row.variant.version.number for row in timeline}) < 2:
            continue
        by_variant: dict[str, list[Measurement]] = {}
        for row in timeline:
            row.variant.version.model = version.model
            by_variant.setdefault(row.variant.name, []).append(row)
        series += [_over_versions(name, rows) for name, rows in by_variant.items() if len(rows) > 1]
    return series[:_MOST_SERIES]


def _over_versions(variant: str, results: Sequence[Measurement]) -> dict[str, Any]:
    points = [
        charts.Point(row.variant.version.number, row.p50_ms or 0, _mark(row)) for row in results
    ]
    rows = tuple(
        (
            f"version {row.variant.version.number}",
            figures.sentence(row.p50),
            figures.interval(row.p50),
            measurements.address(row),
        )
        for row in results
    )
    title = f"{variant} on {results[0].device_label}, {measurements.runtime_of(results[0])}"
    return {
        "title": title,
        "chart": charts.line(points, logarithmic=False),
        "rows": rows,
    }


def compared(row: Comparison) -> dict[str, Any]:
    """One comparison with an earlier version in words; an inconclusive one says so."""
    state, words = VERDICTS[row.verdict]
    if state != "can't tell":
        words += f" {'as' if row.verdict == 'same' else 'than'} version "
        words += str(row.baseline.version.number)
    ratio = ""
    if row.ratio is not None:
        ratio = f"{formatting.rounded(row.ratio)} times"
        if interval := figures.interval(row.figure):
            ratio += f" ({interval})"
    runtime = f"{labels.runtime(row.runtime)} {row.runtime_version}"
    provider = measurements.PROVIDERS.get(row.provider, "")
    return {
        "state": state,
        "words": words,
        "on": f"{row.device_title}, {runtime} {provider}".rstrip(),
        "ratio": ratio,
        "reason": figures.reasons(filter(None, row.reason.split(", "))),
        "at": row.at,
    }


def by_version(comparisons: Iterable[Comparison]) -> dict[int, dict[str, Any]]:
    """For each version its newest comparison with an earlier one; a slower one comes first."""
    by_number: dict[int, Comparison] = {}
    for row in comparisons:
        number = row.candidate.version.number
        if row.verdict == "slower" and by_number.get(number, row).verdict != "slower":
            by_number[number] = row
        by_number.setdefault(number, row)
    return {number: compared(row) for number, row in by_number.items()}
