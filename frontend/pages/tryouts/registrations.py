"""What try-outs add to the pages of a version and of a job."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.template import Context

from frontend.pages.tryouts import browser_support
from frontend.presenters import version_head
from frontend.presenters.job_outcomes import JobPage, Output, job_pages
from frontend.presenters.page_parts import PagePart, Place, page_parts
from frontend.presenters.version_head import Tab, tabs
from registry.models import Version
from runners.models import Job
from runners.tryouts import tryouts


def register(package: str) -> None:
    """Plug into the ports of the pages."""
    tabs.register(package, Tab("try", "Try it", "version-try", order=15))
    page_parts.register(
        package,
        PagePart(Place.ACTIONS, "tryouts/action.html"),
        PagePart(Place.USE, "tryouts/use.html", _in_browser),
        PagePart(Place.REPEAT, "tryouts/repeat.html"),
    )
    job_pages.register(package, JobPage(tryouts.KIND, rows=_outputs, place=_place))


def _in_browser(context: Context) -> dict[str, Any]:
    """Whether the browser's runtime can run the variant of the page, and the hub for guests."""
    variant = context["variant"]
    if variant is None:
        return {"in_browser": False, "for_guests": False}
    weight = sum(file.blob.size for file in version_head.own_model(context["version"], variant))
    return {
        "in_browser": not browser_support.obstacles(variant.typed_facts, weight),
        "for_guests": tryouts.runs_for_guests(weight),
    }


def _place(job: Job, version: Version) -> str:
    """The page with the variant of a run."""
    url = version_head.place(version, "version-try")
    variant = job.input.get("variant")
    return f"{url}?{urlencode({'variant': variant})}" if variant else url


def _outputs(job: Job) -> list[Output]:
    if job.version is None or job.state != job.State.SUCCEEDED:
        return []
    url = _place(job, job.version)
    joint = "&" if "?" in url else "?"
    return [Output("outputs", f"{url}{joint}run={job.uuid}#server")]
