from __future__ import annotations

from django.apps import AppConfig


class RunnersConfig(AppConfig):
    name = "runners"
    label = "runners"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from registry.versions import evidence  # noqa: PLC0415 - models must be loaded first
        from runners import consumers  # noqa: PLC0415 - as above
        from runners.benchmarks import selectors as benchmarks  # noqa: PLC0415
        from runners.benchmarks import speed_index  # noqa: PLC0415
        from runners.evaluations import accuracy_index  # noqa: PLC0415
        from runners.evaluations import selectors as evaluations  # noqa: PLC0415
        from runners.proofs import selectors as proofs  # noqa: PLC0415
        from runners.proofs import verdicts  # noqa: PLC0415
        from runners.workers import (  # noqa: PLC0415
            periodic_tasks,  # noqa: F401 - registers what workers do
            storage_verification,
        )

        consumers.connect()
        verdicts.connect()
        speed_index.connect()
        accuracy_index.connect()
        evidence.register(
            evidence.Evidence("conformance", "conformance", "/conformance/{}", proofs.describe),
            evidence.Evidence("benchmark", "latency", "/benchmarks/{}", benchmarks.describe),
            evidence.Evidence("evaluation", "accuracy", "#accuracy", evaluations.describe),
        )
        storage_verification.connect()
