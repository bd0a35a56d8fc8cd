"""The REST operations of models, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Literal

from hub.client.rest.calls import Group, json_of, model_path
from hub.client.rest.shared import Deprecation, Ref


@dataclass(frozen=True, kw_only=True)
class DownloadWeek:
    """The downloads of a version in one week."""

    # Monday of the week, in UTC
    week: date
    # number of the version
    version: int
    downloads: int


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """What was evaluated; see `GET …/evaluations` of the version for details."""

    metric: str
    dataset: str
    # version of the data set
    version: int
    split: str
    # number of evaluated rows
    rows: int


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A constraint of the request, and the model's value for it."""

    # name of the parameter
    constraint: str
    limit: float | str
    value: float | str
    # `ms`, `B`, `MAC`, or empty
    unit: str
    basis: str
    # lower end of the interval
    low: float | None
    # upper end of the same
    high: float | None
    # level of the interval in per cent; null without an interval
    interval_level: int | None = None
    # how the interval was computed; null without an interval
    interval_method: str | None = None
    # only with `min` and `max`
    evaluated: Evaluated | None


@dataclass(frozen=True, kw_only=True)
class Latest:
    """Summary of the newest published version."""

    number: int
    label: str
    published_at: str
    opset: int | None
    ir_version: int | None
    precision: str
    # number of stored values (elements) that outputs are computed with, those in attributes
    # included, and no settings such as scales or shapes; null if they were not counted
    parameters: int | None
    # multiply-accumulate operations of a run for usual sizes; null if they were not counted
    macs: int | None = None
    # bytes of weights and activations for usual sizes; null if they were not counted
    memory_bytes: int | None = None
    # total size of the uploaded files in bytes
    size: int
    entry: str | None
    # kilograms of CO2e, as declared by the card
    training_carbon_kg: float | None = None


@dataclass(frozen=True, kw_only=True)
class Speed:
    """How fast a model's main variant ran, or is predicted to run, in a setup, with its input."""

    # noisy results are not ranked
    status: str
    predicted: bool
    device: str
    p50_ms: float
    # lower end of the interval of p50
    low_ms: float | None
    # upper end of the same
    high_ms: float | None
    # level of the interval in per cent; null without an interval
    interval_level: int | None = None
    # how the interval was computed; null without an interval
    interval_method: str | None = None
    # measured models that a prediction is based on
    models_measured: int | None
    # URL of the result
    url: str | None


@dataclass(frozen=True, kw_only=True)
class ListedModel:
    """A listed model, with its speed if a setup was requested, and how it meets the constraints."""

    ref: str
    namespace: str
    name: str
    visibility: str
    # who can download the files: everyone, everyone who requests access, or approved users
    gate: str
    summary: str
    # as declared; of a long list, the first
    license: str
    # each licence of a list or choice by itself
    licenses: tuple[str, ...]
    task: str
    keywords: tuple[str, ...]
    downloads: int
    created_at: datetime
    updated_at: datetime
    # when the model or its newest version was deprecated; null if neither was
    deprecated_at: datetime | None = None
    url: str
    latest: Latest | None
    speed: Speed | None = None
    # only with constraints
    fits: tuple[Fit, ...] | None = None
    # whether it was trained on withdrawn data; only with filters on its data
    withdrawn_data: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model with its refs and your role."""

    ref: str
    namespace: str
    name: str
    visibility: str
    # who can download the files: everyone, everyone who requests access, or approved users
    gate: str
    summary: str
    # as declared; of a long list, the first
    license: str
    # each licence of a list or choice by itself
    licenses: tuple[str, ...]
    task: str
    keywords: tuple[str, ...]
    downloads: int
    created_at: datetime
    updated_at: datetime
    # when the model or its newest version was deprecated; null if neither was
    deprecated_at: datetime | None = None
    url: str
    latest: Latest | None
    refs: tuple[Ref, ...]
    role: str | None
    # of the model itself; its versions have their own
    deprecation: Deprecation | None = None


class ModelsGroup(Group):
    """The operations of models."""

    def create(
        self,
        *,
        namespace: str,
        name: str,
        visibility: Literal["public", "private"] | None = None,
        summary: str | None = None,
        license: str | None = None,
        task: str | None = None,
        keywords: Sequence[str] | None = None,
    ) -> Model:
        """Create a model without versions."""
        return self._call(
            Model,
            "POST",
            "models",
            content=json_of(
                {
                    "namespace": namespace,
                    "name": name,
                    "visibility": visibility,
                    "summary": summary,
                    "license": license,
                    "task": task,
                    "keywords": keywords,
                }
            ),
        )

    def delete(
        self,
        model: str,
        *,
        reason: Annotated[str | None, "shown at the address of the model"] = None,
        tombstone: Annotated[
            bool | None,
            "keep an answer at the address of a public model with the time, the user and the reason of the deletion, and keep its licence, data and lineage in graphs",
        ] = None,
    ) -> None:
        """Delete a model; a name that was once published is never reused."""
        self._do(
            "DELETE",
            f"models/{model_path(model)}",
            query={"reason": reason, "tombstone": tombstone},
        )

    def deprecate(
        self,
        model: str,
        *,
        message: Annotated[str, "the reason, which is shown to users"],
        successor: Annotated[
            str | None, "reference of the model or version to use, such as zoo/resnet50@4"
        ] = None,
    ) -> Model:
        """Deprecate a model: it still resolves, with a warning that names its successor.

        Deprecating it again replaces message and successor.
        """
        return self._call(
            Model,
            "POST",
            f"models/{model_path(model)}/deprecate",
            content=json_of({"message": message, "successor": successor}),
        )

    def downloads(self, model: str) -> tuple[DownloadWeek, ...]:
        """List downloads of ONNX files by week and version, newest first.

        The last 53 weeks are kept; the hub stores counts alone, no address and no account.
        """
        return self._items(DownloadWeek, "GET", f"models/{model_path(model)}/downloads")

    def edit(
        self,
        model: str,
        *,
        visibility: Literal["public", "private"] | None = None,
        gate: Annotated[
            Literal["open", "auto", "manual"] | None,
            "who can download the files: everyone, everyone who requests access, or approved users",
        ] = None,
        summary: str | None = None,
        license: str | None = None,
        task: str | None = None,
        keywords: Sequence[str] | None = None,
        etag: Annotated[str | None, "ETag that you read (default: the current one)"] = None,
    ) -> Model:
        """Change the description of a model; needs If-Match."""
        return self._call(
            Model,
            "PATCH",
            f"models/{model_path(model)}",
            content=json_of(
                {
                    "visibility": visibility,
                    "gate": gate,
                    "summary": summary,
                    "license": license,
                    "task": task,
                    "keywords": keywords,
                }
            ),
            etag=etag,
        )

    def list(
        self,
        *,
        contains: Annotated[
            str | None, "text that the name or summary contains, ignoring case"
        ] = None,
        derived_from: Annotated[
            Sequence[str] | None,
            "derived from a public model of this hub, namespace/name, directly or through other public models",
        ] = None,
        device: Annotated[
            str | None,
            "device class whose speeds are shown and sorted by; filters only with max_p50",
        ] = None,
        domain: Annotated[
            Sequence[Literal["audio", "cv", "multimodal", "nlp", "other", "tabular"]] | None,
            "tasks in these domains",
        ] = None,
        evidence: Annotated[
            Sequence[Literal["carbon", "federated", "upgrade"]] | None,
            "has all of these: carbon (training emissions are declared), federated (made by federated training), upgrade (a variant with a higher opset is available)",
        ] = None,
        fails_on: Annotated[
            Sequence[str] | None, "at least one variant fails a check on one of these runtimes"
        ] = None,
        keyword: Annotated[Sequence[str] | None, "keyword of the card"] = None,
        license: Annotated[Sequence[str] | None, "SPDX identifier of the licence"] = None,
        max: Annotated[
            Sequence[str] | None,
            "maximum of a metric of which less is better, such as rmse@prices=3.5",
        ] = None,
        max_accuracy_loss: Annotated[
            float | None,
            "has a variant whose measured accuracy is at most this number of percentage points below that of the variant it was made from, on all splits on which both were measured",
        ] = None,
        max_bytes: Annotated[int | None, "maximum total size of the files in bytes"] = None,
        max_macs: Annotated[
            int | None, "maximum multiply-accumulate operations of a run, for usual sizes"
        ] = None,
        max_memory: Annotated[
            int | None, "maximum bytes of weights and activations, for usual sizes"
        ] = None,
        max_p50: Annotated[
            float | None,
            "maximum median latency in milliseconds of an accepted result on the chosen device, runtime and provider",
        ] = None,
        max_parameters: Annotated[int | None, "maximum number of parameters"] = None,
        measured_on: Annotated[
            Sequence[str] | None,
            "benchmarked by a worker of this hub on one of these device classes",
        ] = None,
        min: Annotated[
            Sequence[str] | None,
            "minimum accuracy that this hub measured of the main variant, as metric=value or metric@dataset:split=value, such as accuracy@digits=0.9; each one must hold",
        ] = None,
        namespace: Annotated[Sequence[str] | None, "namespace of the model"] = None,
        operator: Annotated[
            Sequence[str] | None,
            "uses one of these ONNX operators; outside ai.onnx write domain.Name",
        ] = None,
        opset: Annotated[int | None, "opset version"] = None,
        opset_max: Annotated[int | None, "maximum opset version"] = None,
        passes_on: Annotated[
            Sequence[str] | None,
            "passes on each of these runtimes: at least one check passed and none failed",
        ] = None,
        personal_data: Annotated[
            Sequence[Literal["yes", "no", "anonymised", "unknown"]] | None,
            "personal-data status that the card declares for some training data",
        ] = None,
        pixel_format: Annotated[
            Sequence[Literal["Gray8", "Rgb8", "Bgr8", "Rgba8", "Bgra8"]] | None,
            "pixel format stated in the model file",
        ] = None,
        precision: Annotated[
            Sequence[str] | None, "precision of the weights, such as fp32 or int8"
        ] = None,
        predicted: Annotated[
            bool | None,
            "with max_p50 and fastest: also models that were not measured in the setup, by the upper end of their prediction",
        ] = None,
        provider: Annotated[
            str | None, "execution provider of these speeds (default: the most used one)"
        ] = None,
        published_since: Annotated[
            str | None, "first day in UTC on which the newest version was published, as YYYY-MM-DD"
        ] = None,
        published_until: Annotated[
            str | None, "last day in UTC on which the newest version was published, as YYYY-MM-DD"
        ] = None,
        q: str | None = None,
        risk: Annotated[
            Sequence[
                Literal["stated", "unstated", "unmitigated", "low", "medium", "high", "critical"]
            ]
            | None,
            "risks that the card states: any (stated), none (unstated), one without mitigation (unmitigated), or one of this severity",
        ] = None,
        runtime: Annotated[
            str | None, "runtime of these speeds (default: the most used one)"
        ] = None,
        sort: Annotated[
            Literal[
                "updated",
                "downloads",
                "fastest",
                "accuracy",
                "size",
                "carbon",
                "macs",
                "memory",
                "parameters",
                "name",
            ]
            | None,
            "default: fastest with max_p50, else accuracy with min or max, else the order of the only max_ filter, else updated; accuracy goes by the first min, else the first max",
        ] = None,
        task: Annotated[
            Sequence[str] | None, "task of the model, such as image-classification"
        ] = None,
        understand: Annotated[
            bool | None,
            "read q as a question, such as fast image classifier under 20 MB: its filters are applied beside those given, what is left is searched for as text",
        ] = None,
        withdrawn_data: Annotated[
            Sequence[Literal["yes"]] | None, "trained on a data set of this hub that was withdrawn"
        ] = None,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[ListedModel]:
        """Search models: `q` ranks by name, groups narrow, `sort` orders, `cursor` goes on.

        With `sort=fastest`, `max_p50`, `device`, `runtime` or `provider` each model has its `speed`
        in the `setup` that these name. With `fastest` models are ordered by it, each with its own
        input; that is no ranking (see /benchmarks). Models without a result there may have a
        prediction. If constraints are given, `fits` has each model's value for them.
        """
        return self._pages(
            ListedModel,
            "models",
            query={
                "contains": contains,
                "derived_from": derived_from,
                "device": device,
                "domain": domain,
                "evidence": evidence,
                "fails_on": fails_on,
                "keyword": keyword,
                "license": license,
                "max": max,
                "max_accuracy_loss": max_accuracy_loss,
                "max_bytes": max_bytes,
                "max_macs": max_macs,
                "max_memory": max_memory,
                "max_p50": max_p50,
                "max_parameters": max_parameters,
                "measured_on": measured_on,
                "min": min,
                "namespace": namespace,
                "operator": operator,
                "opset": opset,
                "opset_max": opset_max,
                "passes_on": passes_on,
                "personal_data": personal_data,
                "pixel_format": pixel_format,
                "precision": precision,
                "predicted": predicted,
                "provider": provider,
                "published_since": published_since,
                "published_until": published_until,
                "q": q,
                "risk": risk,
                "runtime": runtime,
                "sort": sort,
                "task": task,
                "understand": understand,
                "withdrawn_data": withdrawn_data,
            },
            limit=limit,
        )

    def move(self, model: str, *, name: str, namespace: str | None = None) -> Model:
        """Rename or move a model; the old name redirects."""
        return self._call(
            Model,
            "POST",
            f"models/{model_path(model)}/move",
            content=json_of({"namespace": namespace, "name": name}),
        )

    def read(self, model: str) -> Model:
        """Read a model with its refs and your role."""
        return self._call(Model, "GET", f"models/{model_path(model)}")

    def undeprecate(self, model: str) -> Model:
        """Undo the deprecation of a model; those of its versions remain."""
        return self._call(Model, "POST", f"models/{model_path(model)}/undeprecate")
