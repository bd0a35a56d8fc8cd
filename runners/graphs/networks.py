"""Graphs without weights: skeletons, tables of nodes and their costs, made once for each file.

All are derived files of the version, named by their SHA-256, as private as the version and deleted
with it. Their content is made by a process that has read an upload.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from hub.protocol.costs import Costs
from hub.protocol.stored import mapping
from registry.core import events
from registry.core.permissions import Actor, require_user
from registry.models import File, Variant, Version
from registry.versions import selectors as registry
from runners.engine.costs import METHOD
from runners.graphs import derived_files
from runners.models import Job
from runners.queue import services

KIND = "skeleton"
FOLDER = "graph"
SKELETON, NODES, COSTS = "skeleton.onnx", "nodes.json", "costs.json"
# Slightly more than the engine writes at most.
MOST_BYTES = 9 << 20
_URGENT, _SOON = 2, 3


@dataclass(frozen=True, slots=True)
class Network:
    """A variant's graph: the job that makes or made it, and its files."""

    job: Job | None = None
    skeleton: File | None = None
    nodes: File | None = None
    costs: File | None = None

    @property
    def left_out(self) -> dict[str, Any]:
        """Number of items that the skeleton lacks, as the engine counted them."""
        facts = self.job.typed_report.facts if self.job else {}
        return mapping(mapping(facts.get("skeleton")).get("left_out"))


def schedule_missing(version: Version, *, priority: int | None = None) -> int:
    """Queue missing graphs of a version's variants; returns the number of jobs."""
    jobs = Job.objects.filter(version=version, kind=KIND, input__method=METHOD)
    requests = set(jobs.values_list("entry", "subject"))
    queued = 0
    for variant in Variant.objects.filter(version=version).select_related("entry"):
        if (variant.entry.path, variant.entry.blob_id) not in requests:
            _enqueue(version, variant, priority or _SOON)
            queued += 1
    return queued


def request(actor: Actor, *, version: Version, variant: Variant) -> Job:
    """Queue a variant's graph, or return the job that made it.

    Any signed-in user who may read the version may request it. Raises NotAuthenticated,
    StateConflict.
    """
    require_user(actor, "read", of=version.model)
    registry.require_served(version, "files can be drawn")
    return _enqueue(version, variant, _URGENT)


def of(variant: Variant) -> Network:
    """A variant's graph."""
    job, files = derived_files.of(variant.entry, KIND)
    return Network(job, *(files.get(name) for name in (SKELETON, NODES, COSTS)))


def table(network: Network) -> dict[str, Any]:
    """The table of nodes (`runners.engine.onnx_files.nodes`); empty if there is none."""
    return derived_files.read(network.nodes, MOST_BYTES)


def costs(network: Network) -> Costs | None:
    """The costs of the nodes; None if they have not been counted."""
    return Costs.read(derived_files.read(network.costs, MOST_BYTES))


@transaction.atomic
def take(job: Job) -> None:
    """Keep the graph that a job made, and its costs for usual sizes, which lists filter by."""
    derived_files.keep(job, FOLDER)
    costs = Costs.read(job.typed_report.facts.get("costs"))
    if costs is None or job.version is None:
        return
    sizes = costs.usual_sizes
    variants = Variant.objects.filter(
        version=job.version, entry__path=job.entry, entry__blob=job.subject
    )
    # Costs without some nodes are no upper bound, so lists of cheap models leave such a model out.
    runs, is_bounded = costs.runs_at(sizes), not (costs.unknown or costs.per_iteration)
    changed = variants.update(
        macs=costs.macs.at(sizes) if runs and is_bounded else None,
        memory_bytes=costs.memory(sizes) if runs and costs.peak_is_whole else None,
    )
    if changed:
        events.record("variant.counted", job.version, actor=None, model=job.version.model)


def _enqueue(version: Version, variant: Variant, priority: int) -> Job:
    return services.enqueue(
        kind=KIND,
        version=version,
        entry=variant.entry.path,
        job_input={"sha256": variant.entry.blob_id, "method": METHOD},
        priority=priority,
        once=True,
    )
