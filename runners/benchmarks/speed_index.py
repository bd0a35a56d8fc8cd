"""On which devices a version was timed, and how fast, as lists of models can be asked for it."""

from __future__ import annotations

from collections.abc import Iterator

from hub.protocol import filters
from registry.catalogue import documents, speeds
from registry.catalogue.searchable import Fact
from registry.catalogue.speeds import Setup, Speed
from registry.models import Variant, Version
from runners.benchmarks import selectors
from runners.models import Measurement

# What every model is timed with unasked: one inference after another, each with one thread.
DEFAULT = {"scenario": "single_stream", "batch": 1, "threads": 1, "call_style": "run"}


def connect() -> None:
    """Update lists of devices and speeds when a result is added or removed."""
    documents.contribute("devices", ("benchmark.",), of)
    speeds.contribute(of_main)


def of(version: Version) -> set[Fact]:
    """The device classes with a trusted measurement of some variant, noisy or not."""
    rows = selectors.visible_of(version)
    measured = rows.filter(Measurement.TRUSTED, status__in=Measurement.PUBLIC)
    return {(filters.MEASURED_ON.name, name) for name in measured.values_list("device", flat=True)}


def of_main(variant: Variant) -> Iterator[Speed]:
    """What lists show of a main variant: for each setup its newest accepted result, else noisy one.

    Measured by this hub's workers in the default configuration, with the variant's own shapes. An
    enrolled worker may have chosen the shapes, which its record does not say.
    """
    rows = Measurement.objects.filter(
        variant=variant,
        entry_sha256=variant.entry.blob_id,
        trust=Measurement.Trust.HUB,
        status__in=Measurement.PUBLIC,
        **DEFAULT,
    )
    columns = (
        "device",
        "runtime",
        "provider",
        "device_title",
        "status",
        "p50_ms",
        "p50_low_ms",
        "p50_high_ms",
        "pk",
    )
    speeds: dict[Setup, Speed] = {}
    for *where, title, status, p50_ms, low_ms, high_ms, pk, shapes in rows.order_by(
        "pk"
    ).values_list(*columns, "job__input__shapes"):
        setup = Setup(*where)
        before = speeds.get(setup)
        if shapes or (before and before.status == _FIRM and status != _FIRM):
            continue
        speeds[setup] = Speed(setup, title, status, p50_ms, low_ms, high_ms, pk)
    yield from speeds.values()


_FIRM = Measurement.Status.ACCEPTED
