"""Trainings: all of them, one with its rounds, and a round with its figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from frontend.pages.federated import trainings as presenter
from frontend.parts import live
from frontend.parts.addresses import whole
from frontend.presenters.forms import as_message
from hub.protocol import problems
from registry.api.parameters import accepts
from registry.core.permissions import can
from registry.federated import privacy, selectors
from registry.federated.api.views import ACTIONS
from registry.federated.models import Contribution, Participant, Round, Training
from registry.federated.selectors import Seeker
from registry.federated.services import rounds, trainings
from registry.versions import selectors as registry
from runners.evaluations import selectors as evaluations

PAGE = 50


@accepts("before")
@require_safe
def every(request: HttpRequest) -> HttpResponse:
    """The trainings of all models that the reader may see, newest first."""
    before = whole(request.GET.get("before", ""))
    rows = selectors.every(request.user, before=before)[: PAGE + 1]
    page = list(rows[:PAGE])
    return render(
        request,
        "trainings/list.html",
        {
            "section": "trainings",
            "rows": page,
            "first": request.path if before else "",
            "next": f"{request.path}?before={page[-1].pk}" if len(rows) > PAGE else "",
        },
    )


@accepts("before")
@require_safe
def of_model(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """The trainings of one model, and for maintainers its fleets."""
    model = registry.model(request.user, namespace, name)
    may_manage = can(request.user, "training.manage", model)
    before = whole(request.GET.get("before", ""))
    trainings = selectors.trainings(request.user, model).defer("layout").order_by("-number")
    rows = list((trainings.filter(number__lt=before) if before else trainings)[: PAGE + 1])
    return render(
        request,
        "trainings/model.html",
        {
            "section": "trainings",
            "model": model,
            "rows": rows[:PAGE],
            "may_manage": may_manage,
            "fleets": selectors.fleets(request.user, model)[:PAGE] if may_manage else None,
            "first": request.path if before else "",
            "next": f"{request.path}?before={rows[-2].number}" if len(rows) > PAGE else "",
        },
    )


@require_safe
def show(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """One training: where it stands, its rules, its rounds."""
    training = find(request, namespace, name, number)
    return render(request, "trainings/training.html", _context(request, training))


@require_safe
def round_(
    request: HttpRequest, namespace: str, name: str, number: int, round_number: int
) -> HttpResponse:
    """One round: counts for everyone, each contribution for maintainers."""
    training = find(request, namespace, name, number)
    row = selectors.round_(training, round_number)
    aggregate = getattr(row, "aggregate", None)
    contributions = presenter.contributions(selectors.contributions(request.user, row))
    may_manage = can(request.user, "training.manage", training.model)
    evaluation = selectors.evaluations([row]).get(row.pk)
    if evaluation is not None:
        evaluation.round = row
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
            "asked": presenter.selection_words(row),
            "left_out": presenter.left_out(row).items(),
            "contributions": contributions,
            "spread": presenter.spread(contributions),
            "evaluation": evaluation,
            "scores": presenter.groups(evaluation, may_manage=may_manage),
            "reports": selectors.reports(request.user, evaluation) if evaluation else [],
            "may_manage": may_manage,
        },
    )


@require_safe
def live_mark(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponseBase:
    """The mark of a training's state, which its page follows."""
    training = find(request, namespace, name, number)
    return live.answer(request, _watch(training, list(selectors.rounds(training)[:PAGE])))


def _watch(training: Training, rounds: Sequence[Round]) -> live.Watch:
    """What a training's page follows until the training ends: rounds and number of participants."""
    model = training.model
    contributions = Contribution.objects.filter(round__training=training).order_by()
    states = list(contributions.values_list("round", "state").annotate(n=Count("pk")))
    active = Participant.objects.filter(training=training, state=Participant.State.ACTIVE).count()
    rows = [(row.number, row.state, row.ended_at, row.score, row.version_id) for row in rounds]
    versions = [row.version for row in rounds if row.version]
    measured = list(evaluations.rows_of(*versions).values_list("pk", flat=True))
    return live.Watch(
        reverse("training-live", args=[model.namespace.slug, model.name, training.number]),
        live.mark(training.state, training.layout_sha256, rows, sorted(states), active, measured),
        is_over=training.is_over,
        message=f"Training {training.state}" + (f", round {rounds[0].number}" if rounds else ""),
    )


@require_POST
def act(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """Open, pause, finish or cancel a training, or close its round; then back to its page."""
    training = find(request, namespace, name, number)
    action = request.POST.get("action", "")
    with as_message(request, problems.TrainingConflict):
        if action == "close" and (live := selectors.live_round(training)):
            rounds.close_by_hand(request.user, of=live)
            messages.success(request, f"Round {live.number} is closing.")
        elif action in ACTIONS:
            changed = trainings.set_state(request.user, training=training, state=ACTIONS[action])
            messages.success(request, f"The training is {changed.state}.")
    return HttpResponseRedirect(reverse("training", args=[namespace, name, number]))


def find(request: HttpRequest, namespace: str, name: str, number: int) -> Training:
    """The training of an address, as the reader may see it; raises NotFound."""
    return selectors.training(Seeker(request.user), namespace, name, number)


def _context(request: HttpRequest, training: Training) -> dict[str, Any]:
    may_manage = can(request.user, "training.manage", training.model)
    before = whole(request.GET.get("before", ""))
    rows = list(selectors.rounds(training, before=before)[: PAGE + 1])
    page = presenter.rows(rows[:PAGE], may_manage=may_manage)
    active = Participant.objects.filter(training=training, state=Participant.State.ACTIVE)
    return {
        "section": "trainings",
        "training": training,
        "model": training.model,
        "rounds": page,
        "first": request.path if before else "",
        "next": f"{request.path}?before={rows[PAGE - 1].number}" if len(rows) > PAGE else "",
        "chart": presenter.chart(page),
        "scores": presenter.scores(page),
        "participation": presenter.participation(page),
        "accuracies": presenter.accuracies(page),
        "changes": presenter.changes(page),
        "has_scores": any(row.round.score is not None for row in page),
        "rules": presenter.rules(training),
        "privacy": privacy.words(privacy.of_training(training)),
        "active": active.count(),
        "watch": None if before else _watch(training, rows[:PAGE]),
        "live": selectors.live_round(training),
        "roles": sorted(Counter(part["role"] for part in training.layout).items(), reverse=True),
        "may_manage": may_manage,
        "participants": selectors.participants(request.user, training)[:PAGE] if may_manage else [],
    }
