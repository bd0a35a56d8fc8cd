"""Predicted latencies of a version in words: where it was not measured, and how sure that is."""

from __future__ import annotations

from typing import Any

from frontend.parts import formatting
from frontend.presenters import measurements
from registry.catalogue import predictions
from registry.catalogue.speeds import Setup
from registry.models import Version
from runners.benchmarks import predictions as latency_predictions


def of(version: Version) -> tuple[dict[str, Any], ...]:
    """The predictions for the main variant of a version; none unless lists show that version."""
    variants = {variant.pk for variant in version.variants.all()}
    rows = [row for row in predictions.of_model(version.model_id) if row.variant in variants]
    fits = latency_predictions.fits() if rows else {}
    lines = []
    for row in rows:
        fit = fits.get(Setup(row.device, row.runtime, row.provider))
        error = fit.median_error if fit else None
        lines.append(
            {
                "setup": f"{row.device_title}, {measurements.runtime(row.runtime, row.provider)}",
                "p50": row.figure,
                "models": row.models_measured,
                "error": "unknown" if error is None else f"{formatting.rounded(100 * error)} %",
            }
        )
    return tuple(lines)
