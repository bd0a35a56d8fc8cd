"""Having the hub evaluate a model on a split of one of its data sets."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any

from hub.client import checks, variants
from hub.client.hub import Hub
from hub.protocol import problems, refs

_DATA = re.compile(
    r"(?P<dataset>[A-Za-z0-9][\w-]{0,95})(?:@(?P<number>[1-9][0-9]{0,8}))?:(?P<split>.+)"
)


@dataclass(frozen=True, slots=True)
class Data:
    """A split of a data set: of its newest version where ``number`` is None."""

    dataset: str
    number: int | None
    split: str


def parse(written: str) -> Data:
    """Read `dataset[@version]:split`; raises InvalidRequest."""
    match = problems.expect(
        _DATA.fullmatch(written.strip()),
        problems.InvalidRequest(
            f"{written[:80]!r} names no split of a data set. Write it as dataset:split or "
            "dataset@version:split, such as digits@1:test."
        ),
    )
    number = match["number"]
    return Data(match["dataset"].lower(), int(number) if number else None, match["split"].strip())


def evaluate(
    hub: Hub, ref: str, on: str, *, wait: bool = True, progress: bool | None = None
) -> list[dict[str, Any]]:
    """Evaluate a version's variant on the split `on`; return its measurements, as the API has them.

    Without `wait` return the job alone. Raise `NotAllowed` for those who do not maintain the model,
    `InvalidRequest` for a split that is none, and `JobFailed` with the reason.
    """
    data = parse(on)
    resolved = hub.resolve(ref)
    address = f"/api/v1/models/{resolved.ref.name}/versions/{resolved.number}/evaluations"
    content: dict[str, Any] = {"dataset": data.dataset, "split": data.split}
    if data.number is not None:
        content["version"] = data.number
    if variant := refs.parse(ref).variant:
        content["variant"] = variant
    # The hub returns the live job where the same evaluation is under way.
    document = hub.transport.request("POST", address, content=content, repeatable=True).json()
    if not wait:
        return [dict(document)]
    job = variants.follow(hub.transport, document, progress=progress)
    deadline = time.monotonic() + checks.LONGEST_POLL_SECONDS
    while True:
        items: list[dict[str, Any]] = hub.transport.get(address)["items"]
        measured = [item for item in items if item.get("job") == job.uuid]
        # The job's end and its figures are two steps of the hub, moments apart.
        if measured or time.monotonic() > deadline:
            return measured
        hub.transport.sleep(checks.POLL_SECONDS)
