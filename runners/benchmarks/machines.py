"""Devices, runtimes and environments in which something was measured that a user may see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import F, Max, Min, QuerySet

from hub.protocol import problems
from registry.models import Version
from runners.benchmarks import selectors
from runners.models import Environment, Measurement

if TYPE_CHECKING:
    from datetime import datetime

    from registry.core.permissions import Actor


@dataclass(frozen=True, slots=True)
class Device:
    """A class of machines on which something was measured that its reader may see."""

    name: str
    title: str
    kind: str
    measurements: int
    models: int


@dataclass(frozen=True, slots=True)
class MeasuredRuntime:
    """A version of a runtime with which something was measured."""

    name: str
    version: str
    measurements: int
    models: int
    newest: datetime


def devices(actor: Actor) -> list[Device]:
    """The device classes of the trusted results that the actor may see, the most measured first."""
    rows = selectors.trusted(actor)
    counts: Any = (
        rows.values(name=F("device"), kind=F("device_kind"))
        .annotate(
            title=Min("device_title"),
            measurements=selectors.RESULT_COUNT,
            models=selectors.MODEL_COUNT,
        )
        .order_by("-measurements", "name")
    )
    return [Device(**row) for row in counts]


def device(actor: Actor, name: str) -> Device:
    """One device class; raises NotFound where nothing that the actor may see was measured on it."""
    for row in devices(actor):
        if row.name == name:
            return row
    unverified = selectors.visible(actor).filter(device=name, status__in=Measurement.PUBLIC).first()
    if unverified is not None:
        return Device(name, unverified.device_title, unverified.device_kind, 0, 0)
    raise problems.NotFound(f"No results found for a device {name}.")


def runtimes(actor: Actor) -> list[MeasuredRuntime]:
    """The runtimes of the trusted results that the actor may see, by name, the newest first."""
    rows = selectors.trusted(actor)
    counts: Any = (
        rows.values(name=F("runtime"), version=F("runtime_version"))
        .annotate(
            measurements=selectors.RESULT_COUNT, models=selectors.MODEL_COUNT, newest=Max("at")
        )
        .order_by("name", "-newest")
    )
    return [MeasuredRuntime(**row) for row in counts]


def environment(actor: Actor, digest: str) -> Environment:
    """An environment in which something that the actor may see was measured; raises NotFound."""
    rows = Environment.objects.filter(pk=digest)
    readable = rows.filter(measurements__in=selectors.visible(actor)) | rows.filter(
        comparisons__candidate__version__in=Version.objects.visible_to(actor)
    )
    return problems.expect(
        readable.distinct().first(), problems.NotFound("No environment with this digest found.")
    )


def environments(actor: Actor) -> QuerySet[Environment]:
    """The environments of the trusted results that the actor may see."""
    digests = selectors.trusted(actor).order_by().values("environment")
    return Environment.objects.filter(pk__in=digests).order_by("-first_seen_at", "digest")
