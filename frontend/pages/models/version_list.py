"""The list of a model's versions with its aliases and downloads, and moving an alias."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from frontend.parts.addresses import whole
from frontend.presenters import differences, version_speeds
from frontend.presenters.access_forms import AliasForm
from frontend.presenters.version_page import context
from hub.protocol import problems
from registry.api.parameters import accepts
from registry.core.permissions import can
from registry.core.usage import WEEKS_KEPT
from registry.models import RegisteredModel, Version
from registry.versions import alias_rules, aliases, conditions, download_counts, selectors
from registry.versions.services import refs
from runners.benchmarks import selectors as benchmark_selectors

PAGE = 50
MOVES = 20
WEEKS = 12
# How many versions of a week are named.
VERSIONS_OF_WEEK = 5


@accepts("before", "variant")
@require_safe
def every(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """All versions, newest first."""
    model = selectors.model(request.user, namespace, name)
    return _page(request, model)


@login_required
@require_POST
def move_alias(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """Create an alias, or let it name another version."""
    model = selectors.model(request.user, namespace, name)
    form = AliasForm(request.POST, numbers=_numbers(request, model))
    if not form.is_valid():
        return _page(request, model, form)
    fields = form.cleaned_data
    alias, number = fields.pop("alias").strip(), fields["number"]
    try:
        refs.put(request.user, model=model, name=alias, kind="alias", **fields)
    except (
        problems.ConditionsUnmet,
        problems.InvalidName,
        problems.NameTaken,
        problems.StateConflict,
    ) as problem:
        form.add_error("alias", problem.detail)
        return _page(request, model, form)
    messages.success(request, f"The alias {alias} is version {number}.")
    return HttpResponseRedirect(reverse("model-versions", args=[namespace, name]))


def _numbers(request: HttpRequest, model: RegisteredModel) -> list[int]:
    """The versions that an alias may name, newest first."""
    rows = selectors.versions(request.user, model).filter(state=Version.State.PUBLISHED)
    return list(rows.values_list("number", flat=True)[:PAGE])


def _page(
    request: HttpRequest, model: RegisteredModel, form: AliasForm | None = None
) -> HttpResponse:
    before = request.GET.get("before", "")
    rows = selectors.sized_versions(request.user, model, before=whole(before), limit=PAGE + 1)
    if not rows:
        return HttpResponseRedirect(reverse("model", args=[model.namespace.slug, model.name]))
    latest = selectors.latest(request.user, model) or rows[0]
    comparisons = benchmark_selectors.comparisons_of(*rows[:PAGE])
    moves = list(aliases.moves(model)[: MOVES + 1])
    version = selectors.whole(latest)
    address = reverse("model-versions", args=[model.namespace.slug, model.name])
    template_context: dict[str, Any] = {
        **context(request, version, "versions"),
        "rows": rows[:PAGE],
        "earlier": differences.earlier(rows),
        "slower": version_speeds.by_version(comparisons),
        "first": address if before else "",
        "next": f"{address}?before={rows[PAGE - 1].number}" if len(rows) > PAGE else "",
        "rules": [
            (rule.alias, [row.sentence for row in conditions.stored(rule.conditions)])
            for rule in alias_rules.rules(request.user, model)
        ],
        "moves": moves[:MOVES],
        "more_moves": len(moves) > MOVES,
        "history_url": f"/api/v1/models/{model.ref}/alias-history",
        "weeks": [
            (
                week,
                week.by_version[:VERSIONS_OF_WEEK],
                max(0, len(week.by_version) - VERSIONS_OF_WEEK),
            )
            for week in download_counts.weeks(request.user, model, most=WEEKS)
        ],
        "weeks_kept": WEEKS_KEPT,
        "downloads_url": f"/api/v1/models/{model.ref}/downloads",
        "may_draft": can(request.user, "version.draft", model),
        "may_yank": can(request.user, "version.yank", model),
        "may_deprecate": can(request.user, "version.deprecate", model),
        "may_withdraw": can(request.user, "version.withdraw", model),
    }
    if can(request.user, "ref.move", model):
        numbers = [row.number for row in rows[:PAGE] if row.state == Version.State.PUBLISHED]
        template_context["alias_form"] = form or AliasForm(numbers=numbers)
    status = 422 if form is not None else 200
    return render(request, "models/versions.html", template_context, status=status)
