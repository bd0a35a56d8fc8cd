from __future__ import annotations

from django.apps import AppConfig


class FederatedWorkConfig(AppConfig):
    name = "runners.federated"
    label = "federated_work"

    def ready(self) -> None:
        from registry.core import outbox  # noqa: PLC0415 - models must be loaded first
        from runners.background import WorkerTask, worker_tasks  # noqa: PLC0415
        from runners.federated import jobs  # noqa: PLC0415
        from runners.queue.job_kinds import JobKind, job_kinds  # noqa: PLC0415

        outbox.subscribe("runners.federated", ("training.created", "round.closed"), jobs.on_event)
        job_kinds.register(
            self.name,
            JobKind(jobs.SCHEMA, jobs.take_schema, takes_failures=True),
            JobKind(jobs.CHECK, jobs.take_check, takes_failures=True, stage=jobs.stage_check),
            JobKind(
                jobs.AGGREGATE,
                jobs.take_aggregate,
                takes_failures=True,
                stage=jobs.stage_aggregate,
            ),
        )
        worker_tasks.register(
            self.name,
            WorkerTask("rounds", lambda: jobs.ROUND_SECONDS, jobs.keep_up, jobs.QUEUES),
        )
