"""What starter models add to the queue and to the start of a hub."""

from __future__ import annotations

from runners.first_models import FirstModels, first_models
from runners.queue.job_kinds import JobKind, job_kinds
from runners.starter import imports


def register(package: str) -> None:
    """Plug into the queue, and into the start."""
    job_kinds.register(
        package,
        JobKind(imports.KIND, imports.take, fetch=imports.fetch, stage=imports.stage),
    )
    first_models.register(package, FirstModels(imports.request_first))
