from __future__ import annotations

from django.apps import AppConfig

from registry.core.event_verbs import EventVerbs, event_verbs
from registry.core.routes import Route, routes


class MirrorsConfig(AppConfig):
    name = "registry.mirrors"

    def ready(self) -> None:
        from registry.core.account_uses import AccountUse, account_uses  # noqa: PLC0415
        from registry.mirrors.services import mirrors, pull_through  # noqa: PLC0415
        from registry.versions.dependents import VersionUse, version_uses  # noqa: PLC0415
        from registry.versions.finders import Finder, finders  # noqa: PLC0415

        event_verbs.register(self.name, EventVerbs("mirror", "added edited removed"))
        routes.register(self.name, Route("registry.api.mirrors.urls", prefix="api/v1/"))
        account_uses.register(self.name, AccountUse("mirrors", mirrors.of_account))
        version_uses.register(self.name, VersionUse("mirrors", mirrors.of_version))
        finders.register(self.name, Finder(pull_through.model))
