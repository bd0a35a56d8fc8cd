"""The command that clones a version with git."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frontend.presenters.code_snippets import Language

if TYPE_CHECKING:
    from collections.abc import Iterator

    from frontend.presenters.code_snippets import Target


def _clone(of: Target) -> Iterator[str]:
    yield f"git clone --branch v{of.number} {of.hub}/{of.repository}"


LANGUAGE = Language("git", "git", _clone, is_for_derived=False)
