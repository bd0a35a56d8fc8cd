"""What a measurement asks of its processes, and what they answer of a session.

How to open and feed models, and how to time them; what a profiled session is, and did.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Self

from runners.engine.benchmark.record import NOT_APPLICABLE, NOT_EXPOSED

# A row of a profile; and how often the kernels of a provider ran, and how long.
Row = dict[str, Any]
Kernels = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequest:
    """How one model is opened, fed and warmed up."""

    model: str
    # The folder of its stored inputs.
    inputs: str = ""
    # The folder in which TensorRT keeps its engines.
    engine_cache: str = ""
    runtime: str = "onnxruntime"
    # The execution provider of ONNX Runtime; empty for other runtimes.
    provider: str = ""
    provider_options: dict[str, Any] = field(default_factory=dict)
    strict_provider: bool = False
    call_style: str = "run"
    threads: int = 1
    spinning: bool = True
    concurrency: int = 1
    batch: int = 1
    # Sizes of dimensions by name, and shapes of inputs by name.
    shapes: dict[str, int] = field(default_factory=dict)
    input_shapes: dict[str, list[int]] = field(default_factory=dict)
    # The key `inputs` of the card.
    declared: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    warmup_seconds: float = 0.0
    warmup_cap_seconds: float = 0.0
    # How long a turn is that it takes with another model; 0 for a model alone.
    turn_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRequest:
    """One process, which profiles ``leading`` or times ``models``: one, or two in turns."""

    mode: str
    ordinal: int
    leading: SessionRequest
    scenario: str
    samples_per_query: int
    timed_seconds: float
    timed_cap_seconds: float
    # How many samples the percentiles need of this process, and how many it may answer.
    samples: int
    most_samples: int
    rate_per_s: float
    profile_seconds: float
    models: tuple[SessionRequest, ...] = ()

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Read what `to_json` gave."""
        return cls(
            **data
            | {
                "leading": SessionRequest(**data["leading"]),
                "models": tuple(SessionRequest(**row) for row in data["models"]),
            }
        )

    def to_json(self) -> dict[str, Any]:
        """The request as the process gets it."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """How a model is run; ``affinity`` are the processors of its process."""

    runtime_version: str = ""
    runtime_build: str = NOT_EXPOSED
    ep_version: str = NOT_APPLICABLE
    claimed: str = ""
    graph_opt_level: str = NOT_EXPOSED
    execution_mode: str = NOT_EXPOSED
    optimised_model_sha256: str = NOT_EXPOSED
    affinity: list[int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Which provider holds each node, and how long operators and nodes took, as records have it."""

    nodes_by_provider: dict[str, int] = field(default_factory=dict)
    operators_by_provider: dict[str, list[str]] = field(default_factory=dict)
    kernels_by_provider: dict[str, Kernels] = field(default_factory=dict)
    runs: int = 0
    operators: list[Row] = field(default_factory=list)
    nodes: list[Row] = field(default_factory=list)
    nodes_left_out: int = 0
