"""Trainings: all of them, one with its rounds, and a round with its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from frontend.pages.federated import trainings as told
from frontend.pages.federated.forms import TrainingForm
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
    before = _number(request.GET.get("before", ""))
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
    before = _number(request.GET.get("before", ""))
    found = selectors.trainings(request.user, model).defer("layout").order_by("-number")
    rows = list((found.filter(number__lt=before) if before else found)[: LISTED + 1])
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
        given = form.cleaned_data
        try:
            made = trainings.create(
                request.user,
                version=registry.version(request.user, namespace, name, given["version"]),
                title=given["title"],
                base_data=given["base_data"],
                rules=form.rules,
                schedule=form.schedule,
            )
            return HttpResponseRedirect(reverse("training", args=[namespace, name, made.number]))
        except problems.Problem as problem:
            _explain(form, problem)
    return render(
        request,
        "trainings/new.html",
        {
            "section": "trainings",
            "model": model,
            "form": form,
            "has_versions": bool(versions),
            "attacks": attacks.measured(),
            "withstands": told.withstands(),
            "caveat": attacks.CAVEAT,
        },
        status=422 if form.errors else 200,
    )


def _explain(form: TrainingForm, problem: problems.Problem) -> None:
    """Put what services refuse beside its field: the last part of the pointer."""
    for error in problem.errors or [{"pointer": "", "detail": problem.detail}]:
        field = error.get("pointer", "").rpartition("/")[2]
        form.add_error(field if field in form.fields else None, error["detail"])


@require_safe
def fleet(request: HttpRequest, namespace: str, name: str, fleet: str) -> HttpResponse:
    """One fleet, for maintainers: what its devices shall run, how many do, and which fail."""
    model = registry.model(request.user, namespace, name)
    found = selectors.fleet(request.user, model, fleet)
    after = _number(request.GET.get("after", "")) or 0
    rows = list(selectors.devices(found)[after : after + LISTED + 1])
    desired = found.desired
    tally = fleets.tally(found, desired.manifest_sha256) if desired else {"ok": 0, "failed": 0}
    return render(
        request,
        "trainings/fleet.html",
        {
            "section": "trainings",
            "model": model,
            "fleet": found,
            "tally": tally,
            "devices": found.devices.count(),
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
    found = selectors.round_(training, round_number)
    made = getattr(found, "aggregate", None)
    given = told.given(selectors.contributions(request.user, found))
    may_manage = can(request.user, "training.manage", training.model)
    return render(
        request,
        "trainings/round.html",
        {
            "section": "trainings",
            "training": training,
            "model": training.model,
            "round": found,
            "row": told.rows([found], may_manage=may_manage)[0],
            "made": made,
            "examples": told.examples(made, may_manage=may_manage),
            "asked": told.asked(found),
            "left_out": told.left_out(found).items(),
            "given": given,
            "spread": told.spread(given),
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
            made = trainings.set_state(request.user, training=training, state=ACTIONS[action])
            messages.success(request, f"The training is {made.state}.")
    except problems.TrainingConflict as problem:
        messages.error(request, problem.detail)
    return HttpResponseRedirect(reverse("training", args=[namespace, name, number]))


@require_POST
def invite(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """Make an invitation and show its code, for the only time."""
    training = _training(request, namespace, name, number)
    uses = _number(request.POST.get("uses", "")) or 1
    try:
        made, code = participants.invite(request.user, training=training, uses=uses)
    except (problems.InvalidRequest, problems.TrainingOver) as problem:
        messages.error(request, problem.detail)
        return HttpResponseRedirect(reverse("training", args=[namespace, name, number]))
    shown = _context(request, training) | {"code": code, "uses": made.uses}
    response = render(request, "trainings/training.html", shown)
    response["Cache-Control"] = "no-store"
    return response


def _training(request: HttpRequest, namespace: str, name: str, number: int) -> Training:
    return selectors.training(Seeker(request.user), namespace, name, number)


def _context(request: HttpRequest, training: Training) -> dict[str, Any]:
    may_manage = can(request.user, "training.manage", training.model)
    before = _number(request.GET.get("before", ""))
    rows = list(selectors.rounds(training, before=before)[: LISTED + 1])
    shown = told.rows(rows[:LISTED], may_manage=may_manage)
    active = Participant.objects.filter(training=training, state=Participant.State.ACTIVE)
    return {
        "section": "trainings",
        "training": training,
        "model": training.model,
        "rounds": shown,
        "first": request.path if before else "",
        "next": f"{request.path}?before={shown[-1].number}" if len(rows) > LISTED else "",
        "chart": told.chart(shown),
        "scores": told.scores(shown),
        "has_scores": any(row.score is not None for row in shown),
        "rules": told.rules(training),
        "privacy": privacy.words(privacy.of_training(training)),
        "active": active.count(),
        "live": selectors.live_round(training),
        "roles": _roles(training),
        "may_manage": may_manage,
        "participants": selectors.participants(request.user, training)[:LISTED]
        if may_manage
        else [],
    }


def _roles(training: Training) -> list[tuple[str, int]]:
    found: dict[str, int] = {}
    for part in training.layout:
        found[part["role"]] = found.get(part["role"], 0) + 1
    return sorted(found.items(), reverse=True)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
