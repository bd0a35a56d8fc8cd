from __future__ import annotations

from django.apps import AppConfig

from registry.core.routes import Route, routes


class CompliancePagesConfig(AppConfig):
    name = "frontend.pages.compliance"
    label = "compliance_pages"

    def ready(self) -> None:
        from frontend.presenters.version_head import Tab, tabs  # noqa: PLC0415 - models come first

        routes.register(self.name, Route("frontend.pages.compliance.urls"))
        tabs.register(
            self.name,
            Tab("compliance", "Compliance", "version-compliance", "Provenance", order=52),
        )
