from __future__ import annotations

from django.apps import AppConfig

from registry.core.event_verbs import EventVerbs, event_verbs

_EVENTS = (
    EventVerbs("benchmark", "added compared contributed refused removed revoked slower"),
    EventVerbs("conformance", "added"),
    EventVerbs("evaluation", "added"),
    EventVerbs("job", "finished"),
    EventVerbs("pool", "draining paused resumed"),
    EventVerbs("variant", "counted"),
)


class RunnersConfig(AppConfig):
    name = "runners"

    def ready(self) -> None:
        from registry.core.event_subjects import (  # noqa: PLC0415 - models must be loaded first
            EventSubject,
            describe_version,
            event_subjects,
        )
        from registry.versions import evidence  # noqa: PLC0415 - models must be loaded first
        from registry.versions.conditions import condition_kinds  # noqa: PLC0415 - as above
        from registry.versions.results import result_kinds  # noqa: PLC0415
        from runners import consumers  # noqa: PLC0415 - as above
        from runners.proofs import conditions, verdicts  # noqa: PLC0415
        from runners.proofs import result_kinds as own_results  # noqa: PLC0415
        from runners.proofs import selectors as proofs  # noqa: PLC0415
        from runners.workers import (  # noqa: PLC0415
            periodic_tasks,  # noqa: F401 - registers what workers do
            storage_verification,
        )

        event_verbs.register(self.name, *_EVENTS)
        event_subjects.register(
            self.name,
            EventSubject(
                ("benchmark", "conformance", "evaluation"),
                describe_version,
                silent=("contributed", "refused"),
            ),
        )
        consumers.connect()
        verdicts.connect()
        condition_kinds.register(self.name, *conditions.KINDS)
        result_kinds.register(self.name, *own_results.RESULT_KINDS)
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
