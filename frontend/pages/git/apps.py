from __future__ import annotations

from django.apps import AppConfig


class GitPagesConfig(AppConfig):
    name = "frontend.pages.git"
    label = "git_pages"

    def ready(self) -> None:
        from frontend.presenters.code_snippets import (  # noqa: PLC0415 - models come first
            Language,
            languages,
        )

        languages.register(self.name, Language("git", "git", "code/git.txt", is_for_derived=False))
