"""Trainings: all of them, one with its rounds, and a round with its figures."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from frontend.pages.federated import trainings as presenter
from frontend.pages.federated.forms import TrainingForm
from frontend.parts.addresses import whole
from frontend.presenters import forms
from hub.protocol import problems
from registry.api.parameters import accepts
from registry.core.permissions import can, require
from registry.federated import attacks, privacy, selectors
from registry.federated.api.views import ACTIONS
from registry.federated.models import Participant
from registry.federated.selectors import Seeker
from registry.federated.services import fleets, participants, rounds, trainings
from registry.models import Version
from registry.versions import selectors as registry

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from registry.federated.models import Training

LISTED = 50
VERSIONS_OFFERED = 100


@accepts("before")
@require_safe
def every(request: HttpRequest) -> HttpResponse:
    """The trainings of all models that the reader may see, newest first."""
    before = whole(request.GET.get("before", ""))
    rows = selectors.every(request.user, before=before)[: LISTED + 1]
    shown = list(rows[:LISTED])
    return render(
        request,
        "trainings/list.html",
        {
            "section": "trainings",
            "rows": shown,
            "first": request.path if before else "",
            "next": f"{request.path}?before={shown[-1].pk}" if len(rows) > LISTED else "",
        },
    )


@accepts("before")
@require_safe
def of_model(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """The trainings of one model, and for maintainers its fleets."""
    model = registry.model(request.user, namespace, name)
    may_manage = can(request.user, "training.manage", model)
    before = whole(request.GET.get("before", ""))
    listed = selectors.trainings(request.user, model).defer("layout").order_by("-number")
    rows = list((listed.filter(number__lt=before) if before else listed)[: LISTED + 1])
    return render(
        request,
        "trainings/model.html",
        {
            "section": "trainings",
            "model": model,
            "rows": rows[:LISTED],
            "may_manage": may_manage,
            "fleets": selectors.fleets(request.user, model)[:LISTED] if may_manage else None,
            "first": request.path if before else "",
            "next": f"{request.path}?before={rows[-2].number}" if len(rows) > LISTED else "",
        },
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """The form that begins a training; beside each rule stands what it withstands."""
    model = registry.model(request.user, namespace, name)
    require(request.user, "training.manage", model)
    published = registry.versions(request.user, model).filter(state=Version.State.PUBLISHED)
    versions = list(published.values_list("number", flat=True)[:VERSIONS_OFFERED])
    form = TrainingForm(request.POST or None, versions=versions)
    if request.method == "POST" and form.is_valid():
        fields = form.cleaned_data
        try:
            training = trainings.create(
                request.user,
                version=registry.version(request.user, namespace, name, fields["version"]),
                title=fields["title"],
                base_data=fields["base_data"],
                rules=form.rules,
                schedule=form.schedule,
            )
            return HttpResponseRedirect(
                reverse("training", args=[namespace, name, training.number])
            )
        except problems.Problem as problem:
            forms.explain(form, problem)
    context = {
        "section": "trainings",
        "model": model,
        "has_versions": bool(versions),
        "attacks": attacks.measured(),
        "withstands": presenter.withstands(),
        "caveat": attacks.CAVEAT,
    }
    return forms.page(request, "trainings/new.html", form, context)


@require_safe
def fleet(request: HttpRequest, namespace: str, name: str, fleet: str) -> HttpResponse:
    """One fleet, for maintainers: what its devices shall run, how many do, and which fail."""
    model = registry.model(request.user, namespace, name)
    row = selectors.fleet(request.user, model, fleet)
    after = whole(request.GET.get("after", "")) or 0
    rows = list(selectors.devices(row)[after : after + LISTED + 1])
    desired = row.desired
    tally = fleets.tally(row, desired.manifest_sha256) if desired else {"ok": 0, "failed": 0}
    return render(
        request,
        "trainings/fleet.html",
        {
            "section": "trainings",
            "model": model,
            "fleet": row,
            "tally": tally,
            "devices": row.devices.count(),
            "rows": rows[:LISTED],
            "first": request.path if after else "",
            "next": f"{request.path}?after={after + LISTED}" if len(rows) > LISTED else "",
        },
    )


@require_safe
def show(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """One training: where it stands, its rules, its rounds."""
    training = _training(request, namespace, name, number)
    return render(request, "trainings/training.html", _context(request, training))


@require_safe
def round_(
    request: HttpRequest, namespace: str, name: str, number: int, round_number: int
) -> HttpResponse:
    """One round: counts for everybody, each contribution for maintainers."""
    training = _training(request, namespace, name, number)
    row = selectors.round_(training, round_number)
    aggregate = getattr(row, "aggregate", None)
    contributions = presenter.contributions(selectors.contributions(request.user, row))
    may_manage = can(request.user, "training.manage", training.model)
    return render(
        request,
        "trainings/round.html",
        {
            "section": "trainings",
            "training": training,
            "model": training.model,
            "round": row,
            "row": presenter.rows([row], may_manage=may_manage)[0],
            "made": aggregate,
            "examples": presenter.examples(aggregate, may_manage=may_manage),
            "asked": presenter.asked(row),
            "left_out": presenter.left_out(row).items(),
            "contributions": contributions,
            "spread": presenter.spread(contributions),
            "may_manage": may_manage,
        },
    )


@require_POST
def act(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """Open, pause, finish or cancel a training, or close its round; then back to its page."""
    training = _training(request, namespace, name, number)
    action = request.POST.get("action", "")
    try:
        if action == "close" and (live := selectors.live_round(training)):
            rounds.close_by_hand(request.user, of=live)
            messages.success(request, f"Round {live.number} is closing.")
        elif action in ACTIONS:
            changed = trainings.set_state(request.user, training=training, state=ACTIONS[action])
            messages.success(request, f"The training is {changed.state}.")
    except problems.TrainingConflict as problem:
        messages.error(request, problem.detail)
    return HttpResponseRedirect(reverse("training", args=[namespace, name, number]))


@require_POST
def invite(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """Make an invitation and show its code, for the only time."""
    training = _training(request, namespace, name, number)
    uses = whole(request.POST.get("uses", "")) or 1
    try:
        invitation, code = participants.invite(request.user, training=training, uses=uses)
    except (problems.InvalidRequest, problems.TrainingOver) as problem:
        messages.error(request, problem.detail)
        return HttpResponseRedirect(reverse("training", args=[namespace, name, number]))
    shown = _context(request, training) | {"code": code, "uses": invitation.uses}
    response = render(request, "trainings/training.html", shown)
    response["Cache-Control"] = "no-store"
    return response


def _training(request: HttpRequest, namespace: str, name: str, number: int) -> Training:
    return selectors.training(Seeker(request.user), namespace, name, number)


def _context(request: HttpRequest, training: Training) -> dict[str, Any]:
    may_manage = can(request.user, "training.manage", training.model)
    before = whole(request.GET.get("before", ""))
    rows = list(selectors.rounds(training, before=before)[: LISTED + 1])
    shown = presenter.rows(rows[:LISTED], may_manage=may_manage)
    active = Participant.objects.filter(training=training, state=Participant.State.ACTIVE)
    return {
        "section": "trainings",
        "training": training,
        "model": training.model,
        "rounds": shown,
        "first": request.path if before else "",
        "next": f"{request.path}?before={rows[LISTED - 1].number}" if len(rows) > LISTED else "",
        "chart": presenter.chart(shown),
        "scores": presenter.scores(shown),
        "has_scores": any(row.round.score is not None for row in shown),
        "rules": presenter.rules(training),
        "privacy": privacy.words(privacy.of_training(training)),
        "active": active.count(),
        "live": selectors.live_round(training),
        "roles": sorted(Counter(part["role"] for part in training.layout).items(), reverse=True),
        "may_manage": may_manage,
        "participants": selectors.participants(request.user, training)[:LISTED]
        if may_manage
        else [],
    }
