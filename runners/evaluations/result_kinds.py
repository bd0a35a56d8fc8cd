"""What signed statements say of measured accuracies."""

from __future__ import annotations

from collections.abc import Iterator

from registry.models import Version
from registry.versions.results import Result, ResultKind
from runners.models import Evaluation


def accuracies(version: Version) -> Iterator[Result]:
    """Every measured figure; a repeated evaluation has another run."""
    rows = Evaluation.objects.filter(variant__version=version)
    for row in rows.select_related("variant", "dataset_version__dataset").order_by("pk"):
        data = f"{row.dataset_version.dataset.slug}@{row.dataset_version.number}"
        parts = (row.variant.name, data, row.split, row.metric, row.method, row.runtime)
        yield Result(
            f"accuracy/{':'.join(parts)}:{row.runtime_version}:{row.entry_sha256[:8]}",
            str(row.job_id),
            {
                "variant": row.variant.name,
                "dataset": data,
                "dataset_manifest": f"sha256:{row.dataset_version.sha256}",
                "split": row.split,
                "metric": row.metric,
                "value": row.value,
                "low": row.low,
                "high": row.high,
                "interval_method": row.interval_method,
                "rows": row.rows,
                "method": row.method,
                "runtime": row.runtime,
                "runtime_version": row.runtime_version,
                "predictions": f"sha256:{row.predictions_sha256}",
            },
            {
                "environment": row.environment,
                "seed": row.seed,
                "right_rows": None if row.right_rows is None else bytes(row.right_rows).hex(),
                "at": row.at.isoformat(),
            },
            {row.variant.name: row.entry_sha256},
        )


ACCURACY = ResultKind("accuracy", ("evaluation.added",), accuracies)
