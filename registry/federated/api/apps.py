from __future__ import annotations

from django.apps import AppConfig

from registry.core.event_verbs import EventVerbs, event_verbs
from registry.core.routes import Route, routes

_EVENTS = (
    EventVerbs("contribution", "withdrawn"),
    EventVerbs("fleet", "created desired enrolled invited revoked rotated token-revoked uninvited"),
    EventVerbs("participant", "active certificate revoked suspended"),
    EventVerbs(
        "round",
        "aggregated cancelled closed evaluated evaluating failed opened released scored unreleased",
    ),
    EventVerbs(
        "training", "cancelled created edited finished invited open paused read refused uninvited"
    ),
)


class FederatedApiConfig(AppConfig):
    name = "registry.federated.api"
    label = "federated_api"

    def ready(self) -> None:
        from registry.catalogue import searchable  # noqa: PLC0415 - models must be loaded first
        from registry.core import outbox  # noqa: PLC0415
        from registry.core.account_uses import AccountUse, account_uses  # noqa: PLC0415
        from registry.core.periodic import HourlyTask, hourly_tasks  # noqa: PLC0415
        from registry.federated import history, selectors  # noqa: PLC0415
        from registry.federated.services import retention, trainings  # noqa: PLC0415
        from registry.versions.dependents import VersionUse, version_uses  # noqa: PLC0415

        event_verbs.register(self.name, *_EVENTS)
        routes.register(self.name, Route("registry.federated.api.urls", prefix="api/v1/"))
        verbs = ("model.deleted", "model.erased")
        outbox.subscribe("federated.deleted", verbs, trainings.on_deleted)
        account_uses.register(self.name, AccountUse("trainings", trainings.of_account))
        version_uses.register(self.name, VersionUse("trainings", selectors.of_version))
        searchable.contribute(history.searchable_facts)
        hourly_tasks.register(
            self.name, HourlyTask("trainings", "Old training results deleted", retention.forget)
        )
