"""What trainings and fleets add to pages of the core."""

from __future__ import annotations

from frontend.pages.federated import trainings
from frontend.presenters.job_outcomes import JobPage, job_pages
from frontend.presenters.page_parts import PagePart, Place, page_parts
from registry.core.routes import Route, routes
from runners.federated import jobs


def register(package: str) -> None:
    """Plug into the ports of the pages."""
    routes.register(package, Route("frontend.pages.federated.urls"))
    job_pages.register(package, JobPage(jobs.SCHEMA, "version"))
    page_parts.register(
        package,
        PagePart(Place.ABOUT, "federated/about.html"),
        PagePart(
            Place.NOTES,
            "federated/privacy.html",
            lambda context: {"privacy": trainings.privacy_of(context["version"])},
        ),
        PagePart(Place.VERSIONS, "federated/versions.html"),
        PagePart(Place.FOOTER, "federated/footer.html"),
    )
