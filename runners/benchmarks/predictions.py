"""Predicted latencies of listed models in setups in which they were not measured.

A fit is made of what this hub's workers measured of public models alone, so that no private model's
timing shows in another's prediction; it then predicts private models, too, for their members. Reads
compute nothing: a periodic task keeps up with new results and new models.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from django.db import transaction
from django.db.models import F, OuterRef, Subquery
from django.db.models.fields.json import KeyTransform

from hub.protocol.facts import read_ports
from registry.catalogue import predictions
from registry.catalogue.predictions import Prediction
from registry.catalogue.speeds import Setup
from registry.models import DocumentSpeed, PredictedSpeed, SearchDocument, Variant, Version
from registry.models.search import EVERYBODY
from runners.benchmarks import cost_features, regression
from runners.benchmarks.cost_features import Features
from runners.benchmarks.regression import Fit
from runners.graphs import networks
from runners.models import LatencyFit, Measurement, VariantWork

# Graphs whose costs one round reads, and models that a fit is made from: the last measured.
MOST_GRAPHS = 200
MOST_MODELS = 400
_BATCH = 500


class _Result(NamedTuple):
    """An accepted result of a public model in a setup."""

    document: int
    measurement: int
    device_title: str
    p50_ms: float


def keep_up() -> int:
    """Follow new results and new models; returns how many predictions were added or replaced."""
    _read_graphs()
    results = _results()
    count = sum(_keep_setup(setup, rows) for setup, rows in results.items())
    for fit in LatencyFit.objects.all():
        setup = Setup(fit.device, fit.runtime, fit.provider)
        if setup not in results:
            fit.delete()
            PredictedSpeed.objects.filter(**setup._asdict()).delete()
    return count


def fits() -> dict[Setup, LatencyFit]:
    """The fits that predictions come from, by setup."""
    rows = LatencyFit.objects.exclude(factor=None)
    return {Setup(row.device, row.runtime, row.provider): row for row in rows}


@transaction.atomic
def _keep_setup(setup: Setup, results: list[_Result]) -> int:
    title = results[-1].device_title
    ids = ",".join(str(row.measurement) for row in results)
    digest = hashlib.sha256(ids.encode()).hexdigest()
    row = LatencyFit.objects.filter(**setup._asdict()).first()
    is_new = row is None or row.training_sha256 != digest
    if row is None or is_new:
        row = _fitted(setup, digest, results)
        PredictedSpeed.objects.filter(**setup._asdict()).delete()
    fit = _stored(row)
    if fit is None:
        return 0
    samples = [
        Prediction(document, variant, *predicted)
        for document, variant, work in _unpredicted(setup)
        if (predicted := fit.predict(work)) is not None
    ]
    predictions.add(setup, title, samples, fit.models)
    return len(samples)


def _results() -> dict[Setup, list[_Result]]:
    """The accepted results of public models in each setup, of graphs whose work is known."""
    rows = DocumentSpeed.objects.filter(
        status=DocumentSpeed.Status.ACCEPTED, document__audience=EVERYBODY
    )
    columns = ("document", "result", "device_title", "p50_ms")
    by_setup: dict[Setup, list[_Result]] = defaultdict(list)
    for *setup, document, result, title, p50_ms in rows.order_by("result").values_list(
        "device", "runtime", "provider", *columns
    ):
        by_setup[Setup(*setup)].append(_Result(document, result, title, p50_ms))
    usable = _with_work(row.measurement for rows in by_setup.values() for row in rows)
    with_work = {
        setup: [row for row in rows if row.measurement in usable][-MOST_MODELS:]
        for setup, rows in by_setup.items()
    }
    return {setup: rows for setup, rows in with_work.items() if rows}


def _with_work(results: Iterable[int]) -> set[int]:
    """Those of these results of whose variants the work is known."""
    pks = list(results)
    usable: set[int] = set()
    for start in range(0, len(pks), _BATCH):
        rows = Measurement.objects.filter(
            pk__in=pks[start : start + _BATCH], variant__work__entry_sha256=F("entry_sha256")
        )
        usable |= set(rows.values_list("pk", flat=True))
    return usable


def _fitted(setup: Setup, digest: str, results: Iterable[_Result]) -> LatencyFit:
    features = _of_measurements(row.measurement for row in results)
    by_file = {
        sha256: (work, row.p50_ms)
        for row in results
        for sha256, work in [features.get(row.measurement, ("", None))]
        if work is not None
    }
    pairs = list(by_file.values())
    fit = regression.fit([work for work, _ in pairs], [p50_ms for _, p50_ms in pairs])
    row, _ = LatencyFit.objects.update_or_create(
        **setup._asdict(),
        defaults={
            "training_sha256": digest,
            "models_measured": len(pairs),
            "weights": list(fit.weights) if fit else [],
            "operators": sorted(fit.operators) if fit else [],
            "factor": fit.factor if fit else None,
            "median_error": fit.median_error if fit else None,
            "shortest_ms": fit.shortest if fit else None,
            "longest_ms": fit.longest if fit else None,
        },
    )
    return row


def _stored(row: LatencyFit) -> Fit | None:
    """A stored fit; None where there were too few models, or of an older release."""
    if row.factor is None or len(row.weights) != len(cost_features.COLUMNS):
        return None
    return Fit(
        weights=tuple(row.weights),
        operators=frozenset(row.operators),
        factor=row.factor,
        median_error=row.median_error or 0.0,
        models=row.models_measured,
        shortest=row.shortest_ms or 0.0,
        longest=row.longest_ms or 0.0,
    )


def _of_measurements(pks: Iterable[int]) -> dict[int, tuple[str, Features | None]]:
    """The file and the work of each result, at the sizes that it was measured with."""
    rows = Measurement.objects.filter(pk__in=list(pks)).annotate(
        inputs=KeyTransform("inputs", KeyTransform("config", "record"))
    )
    rows = rows.select_related("variant__version", "variant__entry").defer("record")
    works = VariantWork.objects.in_bulk(rows.values_list("variant", flat=True))
    features_by_pk: dict[int, tuple[str, Features | None]] = {}
    for row in rows:
        work = works.get(row.variant_id)
        if work is None or work.entry_sha256 != row.entry_sha256:
            continue
        features = Features.read(work.columns, work.operators)
        if features is not None and work.has_free_sizes:
            features = _at_measured_sizes(row.variant, row.inputs)
        features_by_pk[row.pk] = (row.entry_sha256, features)
    return features_by_pk


def _at_measured_sizes(variant: Variant, inputs: object) -> Features | None:
    costs = networks.costs(networks.of(variant))
    if costs is None:
        return None
    ports = read_ports(variant.facts.get("inputs"))
    return cost_features.of(costs, cost_features.measured_sizes(costs, ports, inputs))


def _mains() -> Mapping[int, int]:
    """The main variant of each listed model whose operations are counted, by its document."""
    newest = Version.objects.filter(
        model=OuterRef("pk"), state=Version.State.PUBLISHED, branch="main"
    ).order_by("-number")
    first = Variant.objects.filter(version=OuterRef("newest")).order_by("pk")
    rows = SearchDocument.objects.filter(macs__isnull=False).annotate(
        newest=Subquery(newest.values("pk")[:1])
    )
    pairs = rows.annotate(main=Subquery(first.values("pk")[:1])).order_by()
    return dict(pairs.exclude(main=None).values_list("pk", "main"))


def _read_graphs() -> None:
    """Note the work of main variants that have none, from the costs of their graphs."""
    noted = VariantWork.objects.filter(entry_sha256=F("variant__entry__blob"))
    current = set(noted.values_list("variant", flat=True))
    lacking = [main for main in _mains().values() if main not in current][:MOST_GRAPHS]
    for variant in Variant.objects.filter(pk__in=lacking).select_related("version", "entry"):
        costs = networks.costs(networks.of(variant))
        work = None
        if costs is not None:
            ports = read_ports(variant.facts.get("inputs"))
            work = cost_features.of(costs, cost_features.default_sizes(costs, ports))
        VariantWork.objects.update_or_create(
            variant=variant,
            defaults={
                "entry_sha256": variant.entry.blob_id,
                "columns": list(work.columns) if work else [],
                "operators": sorted(work.operators) if work else [],
                "has_free_sizes": bool(costs and costs.symbols),
            },
        )


def _unpredicted(setup: Setup) -> Iterable[tuple[int, int, Features]]:
    """Documents without a result or a prediction in a setup, with their main variants' work."""
    mains = _mains()
    documents = set()
    for table in (DocumentSpeed, PredictedSpeed):
        rows = table.objects.filter(**setup._asdict())
        documents |= set(rows.values_list("document", flat=True))
    waiting = {main: document for document, main in mains.items() if document not in documents}
    pks = list(waiting)
    for start in range(0, len(pks), _BATCH):
        works = VariantWork.objects.filter(
            variant__in=pks[start : start + _BATCH], entry_sha256=F("variant__entry__blob")
        )
        for variant, columns, operators in works.values_list("variant", "columns", "operators"):
            if (work := Features.read(columns, operators)) is not None:
                yield waiting[variant], variant, work
