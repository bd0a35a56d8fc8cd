"""Django apps of capabilities: their routes, and the module that plugs them into ports."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.apps import AppConfig
from django.utils.module_loading import module_has_submodule

from registry.core.event_verbs import EventVerbs, event_verbs
from registry.core.routes import Route, routes


class CapabilityApp(AppConfig):
    """An app with its ``routes`` and ``events``; its module ``registrations`` registers the rest.

    That happens when models are loaded; ``registrations.register`` takes the name of the app.
    Import this module and not the class into `apps.py`, where Django looks for one class alone.
    """

    routes: ClassVar[tuple[Route, ...]] = ()
    events: ClassVar[tuple[EventVerbs, ...]] = ()

    def ready(self) -> None:
        if self.routes:
            routes.register(self.name, *self.routes)
        if self.events:
            event_verbs.register(self.name, *self.events)
        if self.module is not None and module_has_submodule(self.module, "registrations"):
            import_module(f"{self.name}.registrations").register(self.name)
