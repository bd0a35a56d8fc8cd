from __future__ import annotations

from django.apps import AppConfig


class RunnersConfig(AppConfig):
    name = "runners"

    def ready(self) -> None:
        from registry.versions import evidence  # noqa: PLC0415 - models must be loaded first
        from registry.versions.conditions import condition_kinds  # noqa: PLC0415 - as above
        from runners import consumers  # noqa: PLC0415 - as above
        from runners.proofs import conditions, verdicts  # noqa: PLC0415
        from runners.proofs import selectors as proofs  # noqa: PLC0415
        from runners.workers import (  # noqa: PLC0415
            periodic_tasks,  # noqa: F401 - registers what workers do
            storage_verification,
        )

        consumers.connect()
        verdicts.connect()
        condition_kinds.register(self.name, *conditions.KINDS)
        evidence.register(
            evidence.Evidence(
                "conformance",
                subject="conformance",
                page="/conformance/{}",
                api="/conformance/{}",
                describe=proofs.describe,
            ),
        )
        storage_verification.connect()
