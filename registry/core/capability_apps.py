"""Django apps of capabilities: their routes, and the module that plugs them into ports."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.apps import AppConfig
from django.utils.module_loading import module_has_submodule

from registry.core.routes import Route, routes


class CapabilityApp(AppConfig):
    """An app with its ``routes``; when models are loaded, its module ``registrations`` registers.

    ``registrations.register`` takes the name of the app. Import this module and not the class into
    `apps.py`, where Django looks for one class alone.
    """

    routes: ClassVar[tuple[Route, ...]] = ()

    def ready(self) -> None:
        if self.routes:
            routes.register(self.name, *self.routes)
        if self.module is not None and module_has_submodule(self.module, "registrations"):
            import_module(f"{self.name}.registrations").register(self.name)
