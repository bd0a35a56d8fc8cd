"""Batch scoring in Ray Data: a model of a hub as the class that `map_batches` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.bridges import scoring
from hub.client import api
from hub.client.hub import Hub
from hub.protocol import problems, refs

if TYPE_CHECKING:
    import numpy as np


class Predictor:
    """A model, opened once for each actor; a call scores a batch of columns by their names.

        dataset.map_batches(
            hub.ray.Predictor, fn_constructor_args=("zoo/resnet50@1",), concurrency=4, num_cpus=1
        )

    `columns` names the column of each input where they are not called alike. Outputs become columns
    of their own names, beside `hub_ref` and `hub_sha256`, which say which version a row is of.
    `url` is the hub's address where the nodes' own HUB_URL is not to be used; HUB_TOKEN and
    HUB_CACHE are those of the nodes. `threads` are those of one actor (`num_cpus`); `memory_bytes`
    bounds what it needs to run a batch, which is split for that. A reference must be pinned, since
    actors start at different times: raise `InvalidReference` for any other, and what
    `hub.bridges.scoring.pin` raises.
    """

    def __init__(
        self,
        ref: str,
        *,
        columns: Mapping[str, str] | None = None,
        url: str | None = None,
        variant: str | None = None,
        memory_bytes: int = scoring.MEMORY_BYTES,
        threads: int = 1,
    ) -> None:
        hub = Hub(url) if url else api.default_hub()
        if not refs.parse(ref).is_pinned:
            resolved = hub.resolve(ref, variant=variant)
            raise problems.InvalidReference(
                f"{ref!r} may name another version when the next actor starts. Pin it: it is "
                f"{resolved.ref} now."
            )
        self.model = scoring.pin(hub, ref, variant=variant, memory_bytes=memory_bytes)
        self._columns = [(columns or {}).get(port.name, port.name) for port in self.model.inputs]
        self._scorer = self.model.open(threads)

    def __call__(self, batch: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
        """Return the batch with the model's outputs; raise `InvalidRequest` for lacking columns."""
        import numpy as np  # noqa: PLC0415  (optional)

        lacking = [name for name in self._columns if name not in batch]
        if lacking:
            raise problems.InvalidRequest(
                f"The batch has no column {', '.join(lacking)}; {self.model.ref} needs "
                f"{', '.join(self._columns)}. Name them with columns={{input: column}}."
            )
        outputs = self._scorer.run([np.asarray(batch[name]) for name in self._columns])
        count = len(batch[self._columns[0]])
        lineage = {"hub_ref": str(self.model.ref), "hub_sha256": self.model.sha256}
        return {**batch, **outputs} | {
            name: np.full(count, value) for name, value in lineage.items()
        }
