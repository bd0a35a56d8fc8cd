"""Results of one model over its versions and over batches: what a chart of them is drawn from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.db.models import Case, F, Min, QuerySet, When

from hub.protocol.benchmark_metrics import ENERGY
from hub.protocol.figures import Kind
from registry.core.prepared_queries import Prepared
from runners.benchmarks import selectors
from runners.models import Measurement

if TYPE_CHECKING:
    from registry.core.permissions import Actor
    from registry.models import RegisteredModel, Variant

# Results of a list: those of this hub, and apart from them those that people sent.
MOST, MOST_CONTRIBUTED = 400, 100


def over_versions(actor: Actor, model: RegisteredModel, key: str) -> list[Measurement]:
    """The shown result under a key that counts of each version of a model, the oldest first."""
    rows = (
        selectors.visible(actor)
        .filter(
            variant__version__model=model,
            comparability_key=key,
            status__in=Measurement.PUBLIC,
        )
        .filter(Measurement.TRUSTED)
    )
    heavy = ("record", "variant__facts", "variant__derivation")
    counting = Measurement.objects.filter(pk__in=selectors.counting(rows))
    results = counting.select_related("variant__version", "environment").defer(*heavy)
    newest = results.order_by("-variant__version__number", "variant__name")[:MOST]
    return sorted(newest, key=lambda row: (row.variant.version.number, row.variant.name))


def inputs_of(keys: Iterable[str]) -> dict[str, list[Any]]:
    """For each comparability key the types and shapes of the inputs that its results share."""
    firsts = Measurement.objects.filter(comparability_key__in=list(keys)).order_by()
    pks = firsts.values("comparability_key").annotate(one=Min("pk")).values("one")
    rows = Measurement.objects.filter(pk__in=pks).order_by()
    return {
        key: inputs if isinstance(inputs, list) else []
        for key, inputs in rows.values_list("comparability_key", "record__comparability__inputs")
    }


def with_energy(variant: Variant | None) -> Measurement | None:
    """The newest shown result of a variant that tells energy; what was measured comes first."""
    rows = _with_energy.instances(variant.pk) if variant else []
    return next(iter(rows), None)


@Prepared
def _with_energy(variant_id: int) -> QuerySet[Measurement]:
    rows = (
        Measurement.objects.filter(
            variant=variant_id,
            entry_sha256=F("variant__entry__blob"),
            status__in=Measurement.PUBLIC,
            **{f"{ENERGY.column}__isnull": False},
        )
        .filter(Measurement.TRUSTED)
        .select_related("variant")
    )
    measured_first = Case(When(**{ENERGY.provenance: Kind.MEASURED}, then=0), default=1)
    return rows.order_by(measured_first, "-pk")[:1]


# The head of every page of a version asks for it.


def of_newest(actor: Actor, **narrowed: str) -> selectors.Listing:
    """What was measured of models' newest versions on one device class or with one runtime."""
    rows = selectors.of_newest(actor).filter(status__in=Measurement.PUBLIC, **narrowed)
    results = Measurement.objects.filter(pk__in=selectors.counting(rows)).select_related(
        "variant__version__model__namespace",
        "environment",
        "contributor",
        "enrolled_worker",
    )
    heavy = ("record", "variant__facts", "variant__derivation")
    return selectors.bounded(results.defer(*heavy), most=MOST, most_contributed=MOST_CONTRIBUTED)
