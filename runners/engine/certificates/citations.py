"""Certificates of the nodes that an upgrade changes, cited by its proof.

A child reads the model and gives the keys; nodes whose certificates do not come with the hub are
searched, each key in a child of its own that gets the node alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from hub.protocol import strict
from hub.protocol.node_certificates import EQUAL, NodeCertificate, SearchOutcome
from runners.engine.certificates import certificate, keys, search
from runners.engine.certificates.certificate import Certificate
from runners.engine.certificates.conversion import converted
from runners.engine.certificates.keys import NodeKey
from runners.engine.confine.children import EndingKind
from runners.engine.jobs import Job
from runners.engine.opsets import normal, weights
from runners.engine.runs import answers

_T = TypeVar("_T")
# Processor seconds for the searches of one job.
MOST_SECONDS = 20.0
# A proof has as many rows; a model has rarely more than twenty different changed nodes.
MOST_KEYS = 200
_REASON_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class ChangedNodes:
    """Nodes of one key: how many, and the sizes that the model fixes for them, by size class.

    `digest` is that of their certificate. Without a key, `reason` says why there is none.
    """

    op: str
    digest: str = ""
    nodes: int = 1
    sizes: tuple[dict[str, int], ...] = ()
    key: NodeKey | None = None
    reason: str = ""


def changed_nodes(path: Path, target: int) -> list[dict[str, Any]]:
    """The nodes that a conversion to `target` changes, as JSON of `ChangedNodes`; for a child."""
    model = weights.read(path)
    source = normal.normalise(model)
    rows: dict[NodeKey | tuple[str, str], ChangedNodes] = {}
    for key, op in keys.keys_of(model, source, target):
        if isinstance(key, str):
            row = rows.setdefault((op, key), ChangedNodes(op, nodes=0, reason=key))
            rows[op, key] = replace(row, nodes=row.nodes + 1)
            continue
        row = rows.setdefault(key, ChangedNodes(op, nodes=0))
        sizes = {str(number): size for number, size in key.sizes}
        distinct = row.sizes if sizes in row.sizes else (*row.sizes, sizes)
        rows[key] = replace(row, nodes=row.nodes + 1, sizes=distinct, key=row.key or key)
    return list(_answers(list(rows.values())))


def _answers(rows: list[ChangedNodes]) -> Iterator[dict[str, Any]]:
    for place, row in enumerate(rows):
        answer = {"op": row.op, "nodes": row.nodes, "sizes": row.sizes, "reason": row.reason}
        if row.key is None:
            yield answer
        elif place >= MOST_KEYS:
            yield answer | {"reason": f"the model has more than {MOST_KEYS} different nodes"}
        else:
            yield answer | {"digest": converted(row.key).digest, "key": row.key.to_json()}


class Citations:
    """Certificates for the nodes of the model of one job, each searched once."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._seconds = MOST_SECONDS
        self.searched: dict[str, Certificate] = {}

    def task(self, target: int) -> dict[str, Callable[[], list[dict[str, Any]]]]:
        """The task that looks for the nodes that a conversion changes, by the name of its stage."""
        return {f"keys to {target}": partial(changed_nodes, self._job.model, target)}

    def of(self, target: int, largest: float | None) -> tuple[NodeCertificate, ...] | str:
        """What certifies each node that the conversion to `target` changes.

        `largest` is the greatest absolute value inside the model, None where it is not measured. A
        text says why nothing is known. Raises JobError if a child answers something else.
        """
        job = self._job
        [(name, task)] = self.task(target).items()
        ending = job.stage(name, task, writes=False)
        if ending.kind != EndingKind.ANSWERED:
            return f"looking for the changed nodes {job.cause(ending)}"
        rows = _read(lambda: _READER.read(list[ChangedNodes], ending.answer))
        return tuple(self._cite(row, largest) for row in rows)

    def _cite(self, row: ChangedNodes, largest: float | None) -> NodeCertificate:
        if row.key is None:
            return NodeCertificate(row.op, "", row.nodes, SearchOutcome.NO_KEY, row.reason)
        certified = certificate.shipped(row.digest) or self._search(row.digest, row.key)
        if isinstance(certified, str):
            return NodeCertificate(row.op, row.digest, row.nodes, SearchOutcome.NOT_RUN, certified)
        if certified.outcome not in EQUAL:
            reason = certified.reason[:_REASON_CHARACTERS]
            return NodeCertificate(row.op, row.digest, row.nodes, certified.outcome, reason)
        sizes = ({int(place): size for place, size in fixed.items()} for fixed in row.sizes)
        gap = certified.uncovered(sizes, largest)
        by = [f"run by {certified.runtime} alone"] if certified.runtime else []
        limits = gap or ", ".join([*certified.limits, *by])
        return NodeCertificate(
            row.op,
            row.digest,
            row.nodes,
            certified.outcome,
            limits[:_REASON_CHARACTERS],
            covers=not gap,
            # The kernels of the runtime that the model runs in may round otherwise.
            exact=certified.is_exact and not certified.runtime,
        )

    def _search(self, digest: str, key: NodeKey) -> Certificate | str:
        if digest in self.searched:
            return self.searched[digest]
        if self._seconds <= 0:
            return "no time was left to search it"
        job = self._job
        ending = job.stage("search", lambda: search.search(key, folder=job.work).to_json())
        # Not the time that passed: a busy host must not search less.
        self._seconds -= ending.cpu_seconds
        if ending.kind != EndingKind.ANSWERED:
            return f"the search {job.cause(ending)}"
        answer = _read(lambda: Certificate.from_json(ending.answer))
        self.searched[digest] = replace(answer, key=digest)
        return self.searched[digest]


def _read(answer: Callable[[], _T]) -> _T:
    """Read the answer of a child, which has held an upload."""
    try:
        return answer()
    except strict.UnreadableError as error:
        raise answers.unreadable(str(error)) from error


_READER = strict.Reader({int: strict.count, NodeKey: lambda value, _: NodeKey.from_json(value)})
