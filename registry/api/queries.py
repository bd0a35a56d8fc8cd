"""What is asked in addresses: of lists of models, and of references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rest_framework import serializers

from hub.protocol.vocabularies import TASKS_OF
from registry.catalogue.facets import GROUPS
from registry.catalogue.search import FASTEST, SORTS
from registry.catalogue.searchable import EVIDENCE, PERSONAL_DATA, PIXEL_FORMATS

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
        help_text=f"at most so many {what}",
    )


def _named(help_text: str) -> serializers.CharField:
    """A part of a setup's name."""
    return serializers.CharField(
        required=False, allow_blank=True, default="", max_length=96, help_text=help_text
    )


class ModelsQuery(serializers.Serializer[Any]):
    """What a list of models is asked for; repeat a group for alternatives."""

    q = serializers.CharField(required=False, allow_blank=True, default="", max_length=200)
    sort = serializers.ChoiceField([*SORTS, FASTEST], default="updated")
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
        help_text="characters that the name or the summary holds, ignoring case",
    )
    domain = _of(sorted(TASKS_OF), "tasks of these domains")
    operator = _any("uses one of these ONNX operators; others than ai.onnx's as `domain.Name`")
    pixel_format = _of(PIXEL_FORMATS, "what its file says of pixels")
    personal_data = _of(PERSONAL_DATA, "status of some training data, as told")
    passes_on = _any("passes on each of these runtimes: a check passed, none failed")
    fails_on = _any("some variant fails a check on one of these runtimes")
    evidence = _of(
        EVIDENCE,
        "has each of these; carbon: the emissions of training are told; federated: rounds made it; "
        "upgrade: a variant of a higher opset is ready",
    )
    measured_on = _any("a worker of this hub timed some variant on one of these device classes")
    facets = _of(GROUPS, "groups whose values are to be counted")
    opset = serializers.IntegerField(required=False, allow_null=True, default=None)
    opset_max = serializers.IntegerField(required=False, allow_null=True, default=None)
    max_bytes = _bound("bytes of its files together")
    max_parameters = _bound("parameters")
    device = _named("the device class whose speeds are shown and sorted by; narrows nothing")
    runtime = _named("the runtime that they were measured with; the most used one if left out")
    provider = _named("its execution provider; the most used one if left out")


class ResolveQuery(serializers.Serializer[Any]):
    """A reference, and what its variant must be."""

    ref = serializers.CharField(max_length=512)
    opset = serializers.IntegerField(required=False, default=None, allow_null=True, min_value=1)
    variant = serializers.CharField(required=False, default=None, allow_null=True)
    precision = serializers.CharField(required=False, default=None, allow_null=True)
