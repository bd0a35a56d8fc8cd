"""The record of a benchmark: one JSON object that holds all that was measured, and its sums.

MEASURED names what was seen, DERIVED what `summary.summarise` makes of it and nothing else. A
reading that the machine hides is NOT_EXPOSED, one that has no meaning there NOT_APPLICABLE; nothing
is left blank. docs/benchmarks.md tells every field.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from hub.protocol import devices

# The JSON document of a record, and one of its processes, in the shape that `record_shape` checks.
# It keeps that shape for its digests. `typed_record` reads it.
Document = dict[str, Any]
Process = dict[str, Any]

FORMAT = "onnx-model-hub/benchmark"
FORMAT_VERSION = 5
# Format 4 holds no elements of the outputs. Such records stay readable; none is taken any more.
READABLE_VERSIONS = frozenset({4, FORMAT_VERSION})
# Each changes whenever figures made before and after could not be compared: those of one stream
# are what they were when server and offline became what they are.
METHOD_VERSION = "4"
LOAD_METHOD_VERSION = "6"
# Of comparisons, and of the records in them: both models in one process, in turns.
COMPARISON_METHOD_VERSION = "5"

NOT_EXPOSED = devices.NOT_EXPOSED
NOT_APPLICABLE = devices.NOT_APPLICABLE
GPU_PROVIDERS = devices.GPU_PROVIDERS

SINGLE_STREAM, MULTI_STREAM, SERVER, OFFLINE = "single_stream", "multi_stream", "server", "offline"
SCENARIOS = (SINGLE_STREAM, MULTI_STREAM, SERVER, OFFLINE)
CALL_STYLES = ("run", "io_binding")
REPEATS = ("yes", "no", NOT_EXPOSED, NOT_APPLICABLE)
ACCEPTED, NOISY, REJECTED, FAILED = "accepted", "noisy", "rejected", "failed"
STATUSES = (ACCEPTED, NOISY, REJECTED, FAILED)

MOST_PROCESSES = 64
MOST_SAMPLES = 200_000
MOST_SWEEPS = 32
# Elements of each output that a record holds, outputs of which it holds some, and what it holds of
# all their elements, by numpy's names.
SAMPLED_ELEMENTS, DESCRIBED_OUTPUTS = 32, 32
STATISTICS = ("mean", "std", "min", "max")

MEASURED = frozenset(
    {
        "format",
        "format_version",
        "challenge",
        "method",
        "engine",
        "started_at",
        "ended_at",
        "model",
        "config",
        "provider",
        "environment",
        "gate",
        "quiet",
        "processes",
        "per_operator",
        "power",
        "grid",
        "failure",
        "sweeps",
    }
)
DERIVED = frozenset(
    {
        "environment_digest",
        "accounting",
        "stats",
        "energy",
        "carbon",
        "comparability",
        "comparability_key",
        "status",
        "reasons",
        "content_sha256",
    }
)
# What a process says of itself that follows from its readings and the gate.
DERIVED_OF_PROCESS = frozenset({"rejected", "reasons"})


class InvalidRecordError(ValueError):
    """The data is not a record; the message names the first field that is wrong."""


def canonical(data: Any) -> bytes:
    """Write data in the one way whose SHA-256 is its digest: sorted keys, no spaces, ASCII."""
    return json.dumps(
        data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode("ascii")


def digest(data: Any) -> str:
    """The SHA-256 of the canonical JSON, as hexadecimal digits."""
    return hashlib.sha256(canonical(data)).hexdigest()


def measured(record: Document) -> Document:
    """The part of a record that is not derived from another part of it."""
    fields = {name: record[name] for name in sorted(MEASURED)}
    fields["processes"] = [
        {name: value for name, value in process.items() if name not in DERIVED_OF_PROCESS}
        for process in record["processes"]
    ]
    return fields


def seed_of(challenge: str) -> int:
    """The seed of the inputs of a record with this challenge: its first 31 bits."""
    return int(challenge[:8], 16) >> 1


def method_of(scenario: str) -> str:
    """The version of the method that a scenario is measured by."""
    return LOAD_METHOD_VERSION if scenario in (SERVER, OFFLINE) else METHOD_VERSION


def without_samples(record: Document) -> Document:
    """The record as it is queried and shown: all but the samples, of which only the number stays.

    Whoever needs them takes the whole record, which is a file of its own.
    """
    slim = dict(record)
    slim["processes"] = [
        {**process, "samples_ns": [], "samples": len(process["samples_ns"])}
        for process in record["processes"]
    ]
    slim["sweeps"] = [
        {**sweep, "record": without_samples(sweep["record"])} for sweep in record["sweeps"]
    ]
    return slim
