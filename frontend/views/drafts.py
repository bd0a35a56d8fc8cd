"""The draft being made: files, facts, card, checks, and the ways out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from frontend import facts, heads, receiving, verdicts, words
from frontend.views.versions import context
from hub.protocol import problems
from registry import selectors
from registry.permissions import can, require
from registry.services import files, versions
from runners import selectors as jobs

if TYPE_CHECKING:
    from django.http import HttpRequest

    from registry.models import Version

CARD = """---
license: {license}
pipeline_tag: {task}
summary: {summary}
tags: []
---

# {name}

What it does, in one sentence.

## Use

## How it was made

## Limits
"""


@login_required
@require_safe
def show(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """Draft page; a version that is no longer a draft shows its own."""
    version = selectors.whole_version(request.user, namespace, name, number)
    if version.state not in ("draft", "submitted"):
        return HttpResponseRedirect(reverse("version", args=[namespace, name, number]))
    require(request.user, "version.edit", version.model)
    return _page(request, version, version.readme)


def _page(request: HttpRequest, version: Version, card: str, card_error: str = "") -> HttpResponse:
    variant = heads.main_variant(version)
    model = version.model
    rows = [(file, words.kind(file.path)) for file in version.files.all()]
    return render(
        request,
        "drafts/draft.html",
        {
            **context(request, version, "overview"),
            "files": rows,
            "has_model": any(file.path.lower().endswith(".onnx") for file, _ in rows),
            "graph": facts.read(variant.facts if variant else {}),
            "variant": variant,
            "checks": verdicts.read(version.checks.all()),
            "jobs": jobs.of_version(request.user, version),
            "card": card
            or CARD.format(
                license=model.license, task=model.task, summary=model.summary, name=model.name
            ),
            "card_error": card_error,
            "may_publish": can(request.user, "version.publish", model),
            "form_bytes": receiving.FORM_BYTES,
            "file_bytes": settings.HUB_LIMITS_FILE_BYTES,
        },
        status=422 if card_error else 200,
    )


@receiving.limited
@login_required
@require_POST
def add(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    version = selectors.version(request.user, namespace, name, number)
    sent = request.FILES.getlist("file")
    if not sent:
        messages.error(request, "Choose at least one file.")
    for refusal in receiving.take(request.user, version, sent):
        messages.error(request, refusal)
    return _back(namespace, name, number)


@login_required
@require_POST
def remove(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    version = selectors.version(request.user, namespace, name, number)
    path = request.POST.get("path", "")
    files.remove(request.user, version=version, path=path)
    messages.success(request, f"{path} is no longer part of the draft.")
    return _back(namespace, name, number)


@login_required
@require_POST
def card(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    version = selectors.whole_version(request.user, namespace, name, number)
    text = request.POST.get("card", "").replace("\r\n", "\n")
    try:
        files.write_card(request.user, version=version, text=text)
    except problems.CardInvalid as problem:
        return _page(request, version, text, problem.detail)
    messages.success(request, "The card is saved.")
    return _back(namespace, name, number)


@login_required
@require_POST
def submit(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    version = selectors.version(request.user, namespace, name, number)
    wanted = request.POST.get("publish") == "on"
    try:
        versions.submit(request.user, version=version, publish=wanted)
    except (problems.ModelMissing, problems.CardInvalid) as problem:
        messages.error(request, problem.detail)
    return _back(namespace, name, number)


@login_required
@require_POST
def publish(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    version = selectors.version(request.user, namespace, name, number)
    try:
        versions.publish(request.user, version=version)
    except (problems.ChecksPending, problems.ChecksFailed) as problem:
        messages.error(request, problem.detail)
        return _back(namespace, name, number)
    return HttpResponseRedirect(reverse("version", args=[namespace, name, number]))


@login_required
@require_POST
def delete(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    version = selectors.version(request.user, namespace, name, number)
    versions.delete_draft(request.user, version=version)
    messages.success(request, f"The draft {version.ref} is deleted.")
    return HttpResponseRedirect(reverse("model", args=[namespace, name]))


def _back(namespace: str, name: str, number: int) -> HttpResponse:
    return HttpResponseRedirect(reverse("draft", args=[namespace, name, number]))
