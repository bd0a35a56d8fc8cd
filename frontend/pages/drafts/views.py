"""The draft being made: files, facts, card, checks, and the ways out of it."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from frontend.pages.cards import editor
from frontend.parts.addresses import whole
from frontend.presenters import multipart, under_way, verdicts, version_head
from frontend.presenters.forms import as_message
from frontend.presenters.version_page import context, of_version, of_whole_version
from hub.protocol import problems
from registry.cards import cards, refused_cards
from registry.core.permissions import can, require
from registry.models import Version
from registry.versions.services import files, versions
from runners.drafts import facts as draft_facts
from runners.queue import selectors as jobs


@login_required
@require_safe
@of_whole_version
def show(request: HttpRequest, version: Version) -> HttpResponse:
    """Draft page; a version that is no longer a draft shows its own, unless a page follows it."""
    if version.state not in ("draft", "submitted") and "watch" not in request.GET:
        return HttpResponseRedirect(version_head.place(version, "version"))
    require(request.user, "version.edit", version.model)
    desk = editor.opened(version, request.GET.get("card", ""))
    key = whole(request.GET.get("refused", ""), 18)
    if key is not None:
        refused = refused_cards.one(request.user, version.model, key)
        desk.text, desk.unsaved = refused_cards.text(refused), True
    return _page(request, version, desk)


def _page(
    request: HttpRequest, version: Version, desk: editor.Desk, status: int = 200
) -> HttpResponse:
    model = version.model
    files = version.files.all()
    version_jobs = jobs.of_version(request.user, version)
    return render(
        request,
        "drafts/draft.html",
        {
            **context(request, version, "overview"),
            "files": files,
            "has_model": any(file.path.lower().endswith(".onnx") for file in files),
            "checks": verdicts.read(version.checks.all()),
            "card_check": verdicts.card(version.checks.all(), published=False),
            "outcome": verdicts.overall(version.checks.all()),
            "jobs": version_jobs,
            "under_way": under_way.read(request.user, version, version_jobs),
            "is_followed": "watch" in request.GET,
            **editor.template_context(desk, version),
            "refused_cards": refused_cards.count(request.user, model),
            "may_publish": can(request.user, "version.publish", model),
            "form_bytes": multipart.FORM_BYTES,
            "file_bytes": settings.HUB_LIMITS_FILE_BYTES,
        },
        status=status,
    )


@multipart.limited
@login_required
@require_POST
@of_version
def add(request: HttpRequest, version: Version) -> HttpResponse:
    sent = request.FILES.getlist("file")
    if not sent:
        messages.error(request, "Choose at least one file.")
    for refusal in multipart.take(request.user, version, sent):
        messages.error(request, refusal)
    return _back(version)


@login_required
@require_POST
@of_version
def remove(request: HttpRequest, version: Version) -> HttpResponse:
    path = request.POST.get("path", "")
    files.remove(request.user, version=version, path=path)
    messages.success(request, f"{path} is removed from the draft.")
    return _back(version)


@multipart.limited
@login_required
@require_POST
@of_whole_version
def card(request: HttpRequest, version: Version) -> HttpResponse:
    """What the buttons of the card do: save it, or show it again changed and not saved."""
    require(request.user, "version.edit", version.model)
    typed = request.POST.get("base", request.POST.get("card", "")).replace("\r\n", "\n")
    desk = editor.Desk(typed, request.POST.get("mode", "text"), request.POST.get("seen", ""))
    try:
        desk = editor.posted(request, version)
        if request.POST.get("do", "save") != "save":
            if request.POST["do"] == "read":
                draft_facts.ask(request.user, version=version)
            editor.act(desk, request, version)
            return _page(request, version, desk)
        files.write_card(
            request.user, version=version, text=desk.text, instead_of=desk.seen or None
        )
    except problems.PreconditionFailed as problem:
        version.refresh_from_db()
        desk.error, desk.theirs = problem.detail, version.readme
        desk.seen = cards.digest(version.readme)
        return _page(request, version, desk, problem.status)
    except (problems.CardInvalid, problems.InvalidRequest, problems.ModelMissing) as problem:
        desk.error, desk.unsaved = problem.detail, True
        return _page(request, version, desk, 422)
    messages.success(request, "The card is saved.")
    mode = "?card=form" if desk.mode == "form" else ""
    return HttpResponseRedirect(f"{version_head.place(version, 'draft')}{mode}")


@login_required
@require_POST
@of_version
def submit(request: HttpRequest, version: Version) -> HttpResponse:
    publish = request.POST.get("publish") == "on"
    with as_message(request, problems.ModelMissing, problems.CardInvalid):
        versions.submit(request.user, version=version, publish=publish)
    return _back(version)


@login_required
@require_POST
@of_version
def publish(request: HttpRequest, version: Version) -> HttpResponse:
    try:
        versions.publish(request.user, version=version)
    except (problems.ChecksPending, problems.ChecksFailed) as problem:
        messages.error(request, problem.detail)
        return _back(version)
    return HttpResponseRedirect(version_head.place(version, "version"))


@login_required
@require_POST
@of_version
def delete(request: HttpRequest, version: Version) -> HttpResponse:
    versions.delete_draft(request.user, version=version)
    messages.success(request, f"The draft {version.ref} is deleted.")
    model = version.model
    return HttpResponseRedirect(reverse("model", args=[model.namespace.slug, model.name]))


def _back(version: Version) -> HttpResponse:
    return HttpResponseRedirect(version_head.place(version, "draft"))
