"""What packages add to the pages of a version and of a job."""

from __future__ import annotations

from typing import Any

from django.template import Context

from frontend.presenters.code_snippets import Language, languages
from frontend.presenters.job_outcomes import JobPage, job_pages
from frontend.presenters.page_parts import PagePart, Place, page_parts
from hub.protocol.packages import GENAI_CONFIG, Layout, Package, may_be_one
from registry.packages import selectors as stored
from runners.packages import selectors


def register(package: str) -> None:
    """Plug into the pages."""
    page_parts.register(
        package,
        PagePart(Place.FACTS, "packages/fact.html", _fact),
        PagePart(Place.CHECKS, "packages/checks.html", _checks),
    )
    languages.register(
        package,
        Language("genai", "GenAI", "code/genai.txt", is_for_derived=False, needs=GENAI_CONFIG),
    )
    job_pages.register(
        package,
        JobPage("package", "version-checks", "package"),
        JobPage("generation", "version-checks", "generation"),
    )


def _fact(context: Context) -> dict[str, Any]:
    version = context["version"]
    # The page has these rows already; a version that is a single model needs no further query.
    if not may_be_one(file.path for file in version.files.all() if not file.derived):
        return {"package": None}
    row = stored.of(version)
    measured = stored.generation_of(version) if row and row.package.decoder else None
    return {
        "package": row.package if row and _has_parts(row.package) else None,
        "generation": measured.generation if measured else None,
    }


def _has_parts(package: Package) -> bool:
    """Whether there is more to a package than its only ONNX file."""
    return package.layout != Layout.MODELS or len(package.components) > 1


def _checks(context: Context) -> dict[str, Any]:
    return {"checked": selectors.of(context["version"])}
