"""The REST operations of trainings, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from hub.client.rest.calls import Group, json_of, model_path, part


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The layout of a training: tensors that are exchanged, and tensors that stay unchanged."""

    # name, dtype, shape and role of each tensor
    layout: Any
    layout_digest: str
    graph_digest: str


@dataclass(frozen=True, kw_only=True)
class Training:
    """A training with its rules, schedule, participants and progress."""

    # name used in manifests
    id: str
    model: str
    number: int
    title: str
    state: str
    reason: str
    # why a draft cannot be opened
    refusal: Any
    base: int
    # what an uploaded base was trained on, as maintainers declare it
    base_data: str
    entry: str
    layout_digest: str
    graph_digest: str
    # requested patterns of tensor names by role
    roles: Any
    # number of tensors by role
    tensors: dict[str, int]
    rules: Any
    schedule: Any
    hyperparameters: Any
    release_every: int
    # highest or lowest score; empty for none
    release_best: str
    release_publishes: bool
    # digest of the seed of all draws, plus the seed itself once the training has ended; null
    # without draws
    selection: dict[str, str] | None
    # differential privacy of the weights it has now, composed over all rounds of the versions they
    # derive from: a sentence, epsilon for one participant added or removed and for one replaced,
    # delta, and the accounting terms; guarantee `none` with its cause
    privacy: dict[str, Any]
    participants: int
    created_at: datetime
    opened_at: datetime | None
    ended_at: datetime | None
    # the current round, or the latest one
    round: dict[str, Any] | None
    url: str


@dataclass(frozen=True, kw_only=True)
class TrainingSummary:
    """A training, as shown in lists."""

    number: int
    title: str
    state: str
    base: int
    created_at: datetime
    ended_at: datetime | None
    url: str


class TrainingsGroup(Group):
    """The operations of trainings."""

    def cancel(self, model: str, number: int, *, reason: str | None = None) -> Training:
        """Open, pause, finish or cancel a training."""
        return self._call(
            Training,
            "POST",
            f"models/{model_path(model)}/trainings/{part(number)}/cancel",
            content=json_of({"reason": reason}),
        )

    def create(
        self,
        model: str,
        *,
        version: int,
        title: str | None = None,
        rules: Annotated[Mapping[str, Any] | None, "how contributions are aggregated"] = None,
        schedule: Annotated[Mapping[str, Any] | None, "see docs/federated.md"] = None,
        hyperparameters: Annotated[Mapping[str, Any] | None, "passed to devices unchanged"] = None,
        release_every: Annotated[
            int | None, "release after this number of rounds; 0 releases on request"
        ] = None,
        release_best: Annotated[
            Literal["highest", "lowest", ""] | None,
            "score that selects the round to release when the training is finished; empty for none",
        ] = None,
        release_publishes: bool | None = None,
        base_data: Annotated[
            Literal["unknown", "untrained", "public"] | None,
            "what an uploaded version was trained on: untrained for initial weights, public for data that belong to no participant. With unknown, no ε is stated regardless of the noise",
        ] = None,
        entry: str | None = None,
        roles: Annotated[
            Mapping[str, Any] | None, "patterns of tensor names by role; see docs/federated.md"
        ] = None,
        open: Annotated[bool | None, "open the training as soon as its schema is known"] = None,
    ) -> Training:
        """Create a training from a published version. A job reads its schema first."""
        return self._call(
            Training,
            "POST",
            f"models/{model_path(model)}/trainings",
            content=json_of(
                {
                    "title": title,
                    "rules": rules,
                    "schedule": schedule,
                    "hyperparameters": hyperparameters,
                    "release_every": release_every,
                    "release_best": release_best,
                    "release_publishes": release_publishes,
                    "version": version,
                    "base_data": base_data,
                    "entry": entry,
                    "roles": roles,
                    "open": open,
                }
            ),
        )

    def edit(
        self,
        model: str,
        number: int,
        *,
        title: str | None = None,
        rules: Annotated[Mapping[str, Any] | None, "how contributions are aggregated"] = None,
        schedule: Annotated[Mapping[str, Any] | None, "see docs/federated.md"] = None,
        hyperparameters: Annotated[Mapping[str, Any] | None, "passed to devices unchanged"] = None,
        release_every: Annotated[
            int | None, "release after this number of rounds; 0 releases on request"
        ] = None,
        release_best: Annotated[
            Literal["highest", "lowest", ""] | None,
            "score that selects the round to release when the training is finished; empty for none",
        ] = None,
        release_publishes: bool | None = None,
    ) -> Training:
        """Change the fields that can still be changed."""
        return self._call(
            Training,
            "PATCH",
            f"models/{model_path(model)}/trainings/{part(number)}",
            content=json_of(
                {
                    "title": title,
                    "rules": rules,
                    "schedule": schedule,
                    "hyperparameters": hyperparameters,
                    "release_every": release_every,
                    "release_best": release_best,
                    "release_publishes": release_publishes,
                }
            ),
        )

    def finish(self, model: str, number: int, *, reason: str | None = None) -> Training:
        """Open, pause, finish or cancel a training."""
        return self._call(
            Training,
            "POST",
            f"models/{model_path(model)}/trainings/{part(number)}/finish",
            content=json_of({"reason": reason}),
        )

    def list(
        self,
        model: str,
        *,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[TrainingSummary]:
        """List a model's trainings, newest first."""
        return self._pages(TrainingSummary, f"models/{model_path(model)}/trainings", limit=limit)

    def open(self, model: str, number: int, *, reason: str | None = None) -> Training:
        """Open, pause, finish or cancel a training."""
        return self._call(
            Training,
            "POST",
            f"models/{model_path(model)}/trainings/{part(number)}/open",
            content=json_of({"reason": reason}),
        )

    def pause(self, model: str, number: int, *, reason: str | None = None) -> Training:
        """Open, pause, finish or cancel a training."""
        return self._call(
            Training,
            "POST",
            f"models/{model_path(model)}/trainings/{part(number)}/pause",
            content=json_of({"reason": reason}),
        )

    def read(self, model: str, number: int) -> Training:
        """Read a training with its rules, schedule and current round."""
        return self._call(Training, "GET", f"models/{model_path(model)}/trainings/{part(number)}")

    def schema(self, model: str, number: int) -> Schema:
        """Read the layout of a training: the name, type, shape and role of each tensor."""
        return self._call(
            Schema, "GET", f"models/{model_path(model)}/trainings/{part(number)}/schema"
        )

    def skeleton(
        self, model: str, number: int, *, to: Annotated[Path | str, "file to write"]
    ) -> Path:
        """Download the graph without weights.

        It refers to `weights.safetensors` in the same folder.
        """
        return self._file(f"models/{model_path(model)}/trainings/{part(number)}/skeleton", to=to)
