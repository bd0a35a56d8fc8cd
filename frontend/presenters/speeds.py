"""What pages say beside the strips: batches, versions, comparisons, standings, facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.utils.safestring import SafeString, mark_safe

from frontend.parts import formatting
from frontend.parts import labels as words
from frontend.parts.svg import charts
from frontend.presenters import timings, version_head
from registry.catalogue import facets
from registry.catalogue.query import Query
from runners.benchmarks import timelines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from registry.core.permissions import Actor
    from registry.models import Version
    from runners.benchmarks.rankings import Key, Ranking, Standing
    from runners.models import Comparison, Measurement

# Verdict of a comparison -> the state that colours its glyph, and its words.
VERDICTS = {
    "slower": ("failed", "slower"),
    "faster": ("passed", "faster"),
    "same": ("passed", "as fast"),
    "inconclusive": ("can't tell", "inconclusive"),
}
_MOST_SERIES = 6


@dataclass(frozen=True, slots=True)
class Series:
    """Results in one order, as a chart and as rows: (words, figure, second figure, url)."""

    title: str
    chart: SafeString
    rows: tuple[tuple[str, str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A comparison in words."""

    state: str
    words: str
    before: str
    on: str
    ratio: str
    reason: str
    at: Any


@dataclass(frozen=True, slots=True)
class Place:
    """One row of a ranking across models."""

    rank: int | None
    ref: str
    url: str
    result_url: str
    precision: str
    device: str
    contributor: str
    worker: str
    p50: str
    interval: str
    throughput: str
    energy: str
    energy_kind: str
    size: str
    parameters: str
    best: bool


def batches(rows: Sequence[Measurement]) -> list[Series]:
    """Throughput against batch, where the same variant was timed so with several."""
    found: dict[tuple[Any, ...], list[Measurement]] = {}
    for row in rows:
        if row.throughput_per_s and row.is_trusted:
            about = (row.variant.name, row.device_title, timings.runtime_of(row), row.threads,
                     row.scenario, row.call_style)  # fmt: skip
            found.setdefault(about, []).append(row)
    made = []
    for about, mine in found.items():
        ordered = sorted({row.batch: row for row in reversed(mine)}.values(), key=_batch)
        if len(ordered) < 2:
            continue
        points = [charts.Point(row.batch, row.throughput_per_s or 0, _mark(row)) for row in ordered]
        made.append(
            Series(
                f"{about[0]} on {about[1]}, {about[2]}",
                charts.line(points),
                tuple(
                    (
                        str(row.batch),
                        timings.throughput(row.throughput_per_s),
                        timings.latency(row.p50_ms),
                        timings.address(row),
                    )
                    for row in ordered
                ),
            )
        )
    return made[:_MOST_SERIES]


def _batch(row: Measurement) -> int:
    return row.batch


def _mark(row: Measurement) -> str:
    return "of-noisy" if not row.is_ranked else f"of-{timings.tone(row)}"


def over_versions(actor: Actor, version: Version, rows: Sequence[Measurement]) -> list[Series]:
    """p50 of each version under one key, for the keys of this version's first results."""
    keys = list(dict.fromkeys(row.comparability_key for row in rows if row.is_ranked))
    made = []
    for key in keys[:_MOST_SERIES]:
        found = timelines.over_versions(actor, version.model, key)
        if len({row.variant.version.number for row in found}) < 2:
            continue
        by_variant: dict[str, list[Measurement]] = {}
        for row in found:
            by_variant.setdefault(row.variant.name, []).append(row)
        for name, mine in by_variant.items():
            if len(mine) < 2:
                continue
            for row in mine:
                row.variant.version.model = version.model
            points = [
                charts.Point(row.variant.version.number, row.p50_ms or 0, _mark(row))
                for row in mine
            ]
            first = mine[0]
            made.append(
                Series(
                    f"{name} on {first.device_title}, {timings.runtime_of(first)}",
                    charts.line(points, logarithmic=False),
                    tuple(
                        (
                            f"version {row.variant.version.number}",
                            timings.latency(row.p50_ms),
                            "noisy" if not row.is_ranked else timings.interval(row),
                            timings.address(row),
                        )
                        for row in mine
                    ),
                )
            )
    return made[:_MOST_SERIES]


def comparisons(found: Iterable[Comparison]) -> list[Verdict]:
    """Comparisons with an earlier version in words; inconclusive says so."""
    return [verdict(row) for row in found]


def verdict(row: Comparison) -> Verdict:
    """One comparison in words."""
    state, said = VERDICTS[row.verdict]
    ratio = ""
    if row.ratio is not None:
        ratio = f"{formatting.rounded(row.ratio)} times"
        if row.ratio_low is not None and row.ratio_high is not None:
            ends = [formatting.rounded(end) for end in (row.ratio_low, row.ratio_high)]
            ratio += f" ({ends[0]} to {ends[1]})"
    before = row.baseline.version.number
    than = "as" if row.verdict == "same" else "than"
    runtime = f"{words.runtime(row.runtime)} {row.runtime_version}"
    words_ = f"{said} {than} version {before}" if state != "can't tell" else said
    named = timings.PROVIDERS.get(row.provider, "")
    return Verdict(
        state=state,
        words=words_,
        before=str(before),
        on=f"{row.device_title}, {runtime} {named}".rstrip(),
        ratio=ratio,
        reason=timings.reasons(filter(None, row.reason.split(", "))),
        at=row.at,
    )


def by_version(found: Iterable[Comparison]) -> dict[int, Verdict]:
    """For each version its newest comparison with an earlier one; a slower one comes first."""
    shown: dict[int, tuple[bool, Verdict]] = {}
    for row in found:
        number = row.candidate.version.number
        is_slower = row.verdict == "slower"
        if number not in shown or (is_slower and not shown[number][0]):
            shown[number] = (is_slower, verdict(row))
    return {number: said for number, (_, said) in shown.items()}


def history(rows: Sequence[Measurement], shown: Measurement) -> list[timings.Timing]:
    """Other results of the same variant under the same key."""
    found = []
    for row in rows:
        if row.pk != shown.pk:
            row.variant = shown.variant
            found.append(timings.timing(row))
    return found


def facts(row: Measurement) -> list[tuple[str, str, str]]:
    """What else was measured of a result: name, value, the kind of its evidence."""
    stats = row.record.get("stats") or {}
    known = [
        ("Throughput, of all processes", timings.throughput(row.throughput_per_s), "measured"),
        ("Processor time, mean of processes", timings.latency(row.cpu_ms), "measured"),
        ("Peak memory", formatting.size(row.peak_rss_bytes) if row.peak_rss_bytes else "",
         "measured"),
        ("Loading", _typical(stats.get("session_load_ms")), "measured"),
        ("First inference", _typical(stats.get("first_inference_ms")), "measured"),
        ("Energy of 1 000 inferences", timings.energy(row), row.energy_provenance),
        ("Carbon of 1 000 inferences",
         f"{formatting.figure(row.carbon_g * 1e3)} g CO₂e" if row.carbon_g is not None else "",
         row.carbon_provenance),
    ]  # fmt: skip
    return [(name, value or timings.NOT_MEASURED, kind if value else "none")
            for name, value, kind in known]  # fmt: skip


def _typical(value: Any) -> str:
    return timings.latency(value) if isinstance(value, int | float) else ""


def chosen_key(ranking: Ranking, asked: str) -> Key | None:
    """The comparability key that a page ranks: the asked one, else the one with most results."""
    return next((key for key in ranking.keys if key.key == asked), next(iter(ranking.keys), None))


def about(key: Key, inputs: Mapping[str, list[Any]]) -> str:
    """What the results of a key share."""
    threads = formatting.plural(key.threads, "thread") if key.threads else "all threads"
    load = timings.SCENARIOS.get(key.scenario, key.scenario)
    shapes = timings.shapes(inputs.get(key.key, []))
    said = f"{_runs_on(key)}, batch {key.batch}, {threads}, {load}"
    return f"{said}, {shapes}" if shapes else said


def _runs_on(key: Key) -> str:
    named = timings.PROVIDERS.get(key.provider, "")
    said = f"{words.runtime(key.runtime)} {key.runtime_version}"
    return f"{key.device_title}, {said}" + (f" {named}" if named and named not in said else "")


def keys(ranking: Ranking, chosen: Key | None, kept: Mapping[str, str]) -> list[dict[str, Any]]:
    """The keys that there are, each as a link that ranks it."""
    inputs = timelines.inputs_of(key.key for key in ranking.keys)
    return [
        {
            "words": about(key, inputs),
            "count": key.results,
            "on": chosen is not None and key.key == chosen.key,
            "url": f"?{urlencode({**kept, 'key': key.key})}",
        }
        for key in ranking.keys
    ]


def standings(items: Sequence[Standing], sort: str) -> list[Place]:
    """A ranking as rows; the frontier of size and latency marked."""
    points = [_point(item) for item in items]
    known = [point for point in points if point is not None]
    best = dict(zip((id(point) for point in known), charts.undominated(known), strict=True))
    return [
        Place(
            rank=item.rank,
            ref=f"{item.row.variant.version.model.ref}@{item.row.variant.version.number}",
            url=model_url(item.row),
            result_url=timings.address(item.row),
            precision=item.row.variant.precision or "unknown",
            device=f"{item.row.device_title}, {timings.runtime_of(item.row)}",
            contributor=item.row.contributor.username if item.row.contributor else "",
            worker=item.row.enrolled_worker.name if item.row.enrolled_worker else "",
            p50=timings.latency(item.row.p50_ms),
            interval=timings.interval(item.row),
            throughput=timings.throughput(item.row.throughput_per_s),
            energy=timings.energy(item.row),
            energy_kind=item.row.energy_provenance,
            size=formatting.size(item.bytes) if item.bytes is not None else "",
            parameters=formatting.quantity(item.parameters) if item.parameters is not None else "",
            best=sort == "p50" and point is not None and best[id(point)],
        )
        for item, point in zip(items, points, strict=True)
    ]


def _point(item: Standing) -> charts.Point | None:
    if not item.bytes or not item.row.p50_ms:
        return None
    return charts.Point(item.bytes, item.row.p50_ms, f"of-{timings.tone(item.row)}")


def chart(items: Sequence[Standing]) -> SafeString:
    """Latency against file size, those that nothing beats in both joined."""
    points = [point for point in map(_point, items) if point is not None]
    return charts.frontier(points) if len(points) > 1 else mark_safe("")


def model_url(row: Measurement) -> str:
    """The page of the version that a result is of."""
    return version_head.place(row.variant.version)


def tasks(actor: Actor, chosen: str) -> list[tuple[str, str, bool]]:
    """The tasks of the models that the actor may see."""
    counted = facets.count(actor, Query())["task"]
    return [(task, words.task(task), task == chosen) for task, _ in counted]
