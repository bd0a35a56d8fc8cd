from __future__ import annotations

from django.apps import AppConfig


class GitPagesConfig(AppConfig):
    name = "frontend.pages.git"
    label = "git_pages"

    def ready(self) -> None:
        from frontend.pages.git import snippets  # noqa: PLC0415 - models must be loaded first
        from frontend.presenters.code_snippets import languages  # noqa: PLC0415

        languages.register(self.name, snippets.LANGUAGE)
