"""What a measurement asks of its processes: how to open and feed models, and how to time them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Self


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
