"""What is to be timed: a version of a hub, fetched and verified, or a file of one's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hub.client import api
from hub.client.rest import answers
from hub.client.rest.benchmarks import Challenge
from hub.protocol import federated, problems
from hub.protocol.signatures import benchmark_statement

# What may lie beside a model of one's own: its external data and its test data, not a whole disk.
_MOST_FILES = 2000
_ENDING = ".onnx"


class NoModelError(problems.HubError):
    """What was named is no model that can be timed; the message says what is."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A model's files by their version paths, and what it is called."""

    name: str
    entry: str
    files: dict[str, str]
    variant: str = ""
    # Where its records are contributed to; empty for a file of one's own.
    address: str = ""
    # The key `inputs` of its card; empty for a file of one's own, and offline.
    inputs: dict[str, Any] = field(default_factory=dict)


def find(
    ref: str,
    *,
    opset: int | None,
    variant: str | None,
    strength: str | None,
    progress: bool | None,
) -> Subject:
    """Find what a reference or a path names; raises NoModelError and what the client raises."""
    path = Path(ref)
    if ref.endswith(_ENDING):
        if not path.is_file():
            raise NoModelError(f"File not found: {ref}.")
        return _own(path.resolve())
    hub = api.default_hub()
    resolved, blobs = hub.fetch(
        ref, opset=opset, variant=variant, strength=strength, progress=progress
    )
    if not resolved.entry:
        raise NoModelError(
            f"{resolved.ref} does not state which of its files is the model. Name a variant, such "
            "as "
            f"{resolved.ref.namespace}/{resolved.ref.model}:default."
        )
    address = f"/api/v1/models/{resolved.ref.name}/versions/{resolved.number}"
    version = {} if hub.config.offline else hub.reads.get(address)
    return Subject(
        name=str(resolved.ref),
        entry=resolved.entry,
        files={path: str(place) for path, place in blobs.items()},
        variant=resolved.variant or "",
        address=f"{address}/benchmarks",
        inputs=version.get("inputs") or {},
    )


def _own(path: Path) -> Subject:
    beside = [file for file in path.parent.iterdir() if file.is_file()]
    data = [file for file in path.parent.glob("test_data_set_*/*") if file.is_file()]
    files = {
        file.relative_to(path.parent).as_posix(): str(file)
        for file in [path, *beside[:_MOST_FILES], *data[:_MOST_FILES]]
    }
    return Subject(name=path.name, entry=path.name, files=files)


@dataclass(frozen=True, slots=True)
class Signer:
    """An enrolled worker: its name on the hub, and its private key."""

    worker: str
    key: bytes


def challenge(subject: Subject) -> dict[str, Any]:
    """Ask the hub that the model came from for a challenge, an open one if there is one.

    Gives the options that it asks for.
    """
    if not subject.address:
        raise NoModelError(
            "Only models of a hub can be contributed to it. Give a reference instead of a file."
        )
    answer = api.default_hub().transport.request(
        "POST", f"{subject.address}/challenges", query={"reuse": "true"}
    )
    document = answers.read(Challenge, answer.json())
    return {"challenge": document.challenge, "seed": document.seed}


def contribute(subject: Subject, record: dict[str, Any], signer: Signer | None = None) -> str:
    """Send a record to the hub that the model came from; gives the address of its state."""
    headers = {}
    if signer is not None:
        signature = federated.sign(benchmark_statement(record["content_sha256"]), signer.key)
        headers["Hub-Signature"] = f"{signer.worker} {signature}"
    query = {"variant": subject.variant} if subject.variant else None
    answer = api.default_hub().transport.request(
        "POST", subject.address, content=record, query=query, headers=headers
    )
    return str(answer.headers.get("Location") or subject.address)
