"""What became of the models of the manifest on this hub."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from registry.core.permissions import Actor, require_admin
from registry.models import Version
from runners.models import Job
from runners.starter import imports, manifest
from runners.starter.manifest import Model


class StarterState(StrEnum):
    """How far the import of a model has come."""

    ABSENT = "absent"
    QUEUED = "queued"
    RUNNING = "running"
    FAILED = "failed"
    CHECKING = "checking"
    REFUSED = "refused"
    PUBLISHED = "published"


_VERSION_STATES = {
    Version.State.SUBMITTED: StarterState.CHECKING,
    Version.State.DRAFT: StarterState.REFUSED,
}
_JOB_STATES = {
    Job.State.QUEUED: StarterState.QUEUED,
    Job.State.RUNNING: StarterState.RUNNING,
    Job.State.FAILED: StarterState.FAILED,
}


@dataclass(frozen=True, slots=True)
class StarterModel:
    """A model with the state of its import; ``progress`` is in per cent, ``job`` the newest."""

    model: Model
    state: StarterState
    progress: int = 0
    detail: str = ""
    version: Version | None = None
    job: Job | None = None

    @property
    def ref(self) -> str:
        """The version as `namespace/name@number`; empty without one."""
        return self.version.ref if self.version else ""

    @property
    def may_import(self) -> bool:
        """Whether a request would import it."""
        return self.state in (StarterState.ABSENT, StarterState.FAILED)


def starter_models(actor: Actor) -> list[StarterModel]:
    """All models of the manifest in its order, for administrators."""
    require_admin(actor)
    models = manifest.models()
    jobs = imports.jobs_of(models)
    return [_state(model, jobs.get(name)) for name, model in models.items()]


def starter_model(actor: Actor, name: str) -> StarterModel:
    """A model of the manifest, for administrators; raises NotFound."""
    require_admin(actor)
    model = manifest.model(name)
    return _state(model, imports.jobs_of([name]).get(name))


def _state(model: Model, job: Job | None) -> StarterModel:
    version = imports.version_of(model)
    if version is not None:
        state = _VERSION_STATES.get(Version.State(version.state), StarterState.PUBLISHED)
        return StarterModel(model, state, version=version, job=job)
    if job is None or job.input.get("label") != model.label:
        return StarterModel(model, StarterState.ABSENT)
    if job.state == Job.State.SUCCEEDED:
        # Its files were taken out; the version follows, unless it could not be made.
        state = StarterState.FAILED if job.error_detail else StarterState.RUNNING
        if imports.was_deleted(model):
            return StarterModel(model, StarterState.ABSENT)
        return StarterModel(model, state, 100, job.error_detail, job=job)
    state = _JOB_STATES.get(Job.State(job.state), StarterState.ABSENT)
    detail = job.failure if state == StarterState.FAILED else job.phase
    return StarterModel(model, state, job.progress, detail, job=job)
