"""What is asked in addresses: of lists of models, and of references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rest_framework import serializers

from hub.protocol.cards import PERSONAL_DATA
from hub.protocol.vocabularies import TASKS_OF
from registry.catalogue.facets import GROUPS
from registry.catalogue.search import ACCURACY, FASTEST, SORTS
from registry.catalogue.searchable import EVIDENCE, PIXEL_FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable


def _any(help_text: str = "") -> serializers.ListField:
    """A group of words; repeating it asks for alternatives."""
    return serializers.ListField(
        child=serializers.CharField(), default=list, help_text=help_text or None
    )


def _of(values: Iterable[str], help_text: str) -> serializers.ListField:
    """A group whose words are among ``values``."""
    return serializers.ListField(
        child=serializers.ChoiceField(list(values)), default=list, help_text=help_text
    )


def _bound(what: str) -> serializers.IntegerField:
    """The most of something that a model may have."""
    return serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=0,
        max_value=2**63 - 1,
        help_text=f"maximum {what}",
    )


def _named(help_text: str) -> serializers.CharField:
    """A part of a setup's name."""
    return serializers.CharField(
        required=False, allow_blank=True, default="", max_length=96, help_text=help_text
    )


class ModelsQuery(serializers.Serializer[Any]):
    """What a list of models is asked for; repeat a group for alternatives."""

    q = serializers.CharField(required=False, allow_blank=True, default="", max_length=200)
    understand = serializers.BooleanField(
        required=False,
        default=False,
        help_text="read `q` as a question, such as fast image classifier under 20 MB: "
        "its filters are applied beside those given, what is left is searched for as text",
    )
    sort = serializers.ChoiceField(
        [*SORTS, FASTEST, ACCURACY],
        required=False,
        help_text="default: `fastest` with `max_p50`, else `accuracy` with `min` or `max`, else "
        "the order of the only `max_` filter, else `updated`; `accuracy` goes by the first `min`, "
        "else the first `max`",
    )
    namespace = _any()
    license = _any()
    task = _any()
    keyword = _any()
    precision = _any()
    contains = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=200,
        help_text="text that the name or summary contains, ignoring case",
    )
    domain = _of(sorted(TASKS_OF), "tasks in these domains")
    operator = _any("uses one of these ONNX operators; outside ai.onnx write `domain.Name`")
    pixel_format = _of(PIXEL_FORMATS, "pixel format stated in the model file")
    personal_data = _of(
        PERSONAL_DATA, "personal-data status that the card declares for some training data"
    )
    passes_on = _any("passes on each of these runtimes: at least one check passed and none failed")
    fails_on = _any("at least one variant fails a check on one of these runtimes")
    evidence = _of(
        EVIDENCE,
        "has all of these: carbon (training emissions are declared), federated (made by "
        "federated training), upgrade (a variant with a higher opset is available)",
    )
    measured_on = _any("benchmarked by a worker of this hub on one of these device classes")
    facets = _of(GROUPS, "facet groups to count")
    opset = serializers.IntegerField(required=False, allow_null=True, default=None)
    opset_max = serializers.IntegerField(required=False, allow_null=True, default=None)
    max_bytes = _bound("total size of the files in bytes")
    max_parameters = _bound("number of parameters")
    max_macs = _bound("multiply-accumulate operations of a run, for usual sizes")
    max_memory = _bound("bytes of weights and activations, for usual sizes")
    max_p50 = serializers.FloatField(
        required=False,
        allow_null=True,
        default=None,
        min_value=0,
        help_text="maximum median latency in milliseconds of an accepted result in the setup that "
        "`device`, `runtime` and `provider` name",
    )
    min = _any(
        "minimum accuracy that this hub measured of the main variant, as metric=value or "
        "metric@dataset:split=value, such as accuracy@digits=0.9; each one must hold"
    )
    max = _any("maximum of a metric of which less is better, such as rmse@prices=3.5")
    predicted = serializers.BooleanField(
        required=False,
        default=False,
        help_text="with `max_p50` and `fastest`: also models that were not measured in the setup, "
        "by the upper end of their prediction",
    )
    device = _named(
        "device class whose speeds are shown and sorted by; filters only with `max_p50`"
    )
    runtime = _named("runtime of these speeds (default: the most used one)")
    provider = _named("execution provider of these speeds (default: the most used one)")


class ResolveQuery(serializers.Serializer[Any]):
    """A reference, and what its variant must be."""

    ref = serializers.CharField(max_length=512)
    opset = serializers.IntegerField(required=False, default=None, allow_null=True, min_value=1)
    variant = serializers.CharField(required=False, default=None, allow_null=True)
    precision = serializers.CharField(required=False, default=None, allow_null=True)
