"""One file of a version as a page."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from frontend.pages.graphs import file_contents
from frontend.parts import labels, markdown
from frontend.presenters import version_head
from frontend.presenters.version_page import context, of_whole_version, redirect_to_request
from registry.models import File, Version
from registry.versions import file_history, selectors
from runners.graphs import tensors
from runners.models import Job
from runners.queue.selectors import why_waiting

CARD = "README.md"


@require_http_methods(["GET", "HEAD", "POST"])
@of_whole_version
def show(request: HttpRequest, version: Version, path: str) -> HttpResponse:
    """The page of a file; POST computes its tensor statistics.

    Raises NotFound, Withdrawn, AccessNeeded.
    """
    if elsewhere := redirect_to_request(request, version.model):
        return elsewhere
    file = selectors.file(version, path)
    if request.method == "POST":
        tensors.request(request.user, version=version, file=file)
        return HttpResponseRedirect(f"{request.path}#tensors")
    return render(
        request,
        "models/view.html",
        {
            **context(request, version, "files"),
            "file": file,
            "kind": labels.kind(file.path),
            "bytes_url": version_head.place(version, "version-file", file.path),
            "added": file_history.first_versions(request.user, version).get(file.path),
            **_content(request, version, file),
        },
    )


def _content(request: HttpRequest, version: Version, file: File) -> dict[str, Any]:
    """What is shown of a file, by its kind: a card, a picture's absence, text, weights, tensors."""
    page = request.GET.get("page", "")
    variants = version_head.variants(version)
    template_context: dict[str, Any] = {
        "weights": file_contents.weights(file.path, variants),
        "holders": file_contents.holders(file.path, variants),
        "is_card": file.path == CARD and not file.derived,
    }
    if file_contents.is_picture(file.path):
        return {**template_context, "picture": True}
    if tensors.may_hold(file.path):
        return {**template_context, **_tensors(version, file, page)}
    if template_context["is_card"] and "source" not in request.GET:
        place = [version.model.namespace.slug, version.model.name, version.number]
        files_url = reverse("version-file", args=[*place, "-"])[:-1]
        paths = frozenset(file.path for file in version.files.all())
        return {**template_context, "card": markdown.render(version.readme, files_url, paths)}
    if file_contents.may_be_text(file.path):
        return {**template_context, "text": file_contents.text(file, page)}
    return template_context


def _tensors(version: Version, file: File, page: str) -> dict[str, Any]:
    read = tensors.of(file)
    rows, count, following = file_contents.tensors(tensors.table(read), page)
    waiting = read.job is not None and read.job.state == Job.State.QUEUED
    return {
        "has_tensors": True,
        "released": version.is_served,
        "found": read,
        "tensors": rows,
        "tensor_count": count,
        "tensor_next": following,
        "waits": why_waiting(read.job) if waiting and read.job is not None else "",
    }
