"""Fleets on the web: making one, rolling a version out to it, and how far that is."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from frontend.pages.federated.forms import FleetForm, RolloutForm
from frontend.parts.addresses import whole
from frontend.presenters import forms
from registry.api.parameters import accepts
from registry.core.permissions import require
from registry.federated import selectors
from registry.federated.models import Fleet
from registry.federated.services import fleets
from registry.models import RegisteredModel, Version
from registry.versions import selectors as registry

PAGE = 50
VERSIONS_OFFERED = 100


@require_http_methods(["GET", "HEAD", "POST"])
def every(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """The fleets of a model and the form that makes one; its devices' token is shown once."""
    model = registry.model(request.user, namespace, name)
    require(request.user, "training.manage", model)
    form = FleetForm(request.POST or None, versions=_offered(request, model))
    created: Fleet | None = None
    token = ""
    if request.method == "POST" and form.is_valid():
        with forms.explained(form):
            created, token = _create(request, model, form.cleaned_data)
    context = {
        "section": "trainings",
        "model": model,
        "fleets": selectors.fleets(request.user, model)[:PAGE],
        "created": created,
        "effects": _effects(created, created.desired) if created and created.desired else "",
        "token": token,
        "snippet": _snippet(created, token) if created else "",
    }
    response = forms.page(request, "trainings/fleets.html", form, context)
    response["Cache-Control"] = "no-store"
    return response


@transaction.atomic
def _create(
    request: HttpRequest, model: RegisteredModel, fields: dict[str, Any]
) -> tuple[Fleet, str]:
    fleet, token = fleets.create(
        request.user, model=model, name=fields["name"], halt_percent=fields["halt_percent"]
    )
    if fields["version"]:
        fleet = _desire(request, fleet, fields)
    return fleet, token


@accepts("after")
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest, namespace: str, name: str, fleet: str) -> HttpResponse:
    """One fleet, for maintainers: its target, how many devices run it, which fail, a new target."""
    model = registry.model(request.user, namespace, name)
    row = selectors.fleet(request.user, model, fleet)
    desired = row.desired
    initial = {"version": desired.number, "percent": row.percent} if desired else {}
    form = RolloutForm(request.POST or None, versions=_offered(request, model), initial=initial)
    if request.method == "POST" and form.is_valid():
        with forms.explained(form):
            changed = _desire(request, row, form.cleaned_data)
            messages.success(request, _effects(changed, changed.desired))
            return HttpResponseRedirect(reverse("fleet", args=[namespace, name, fleet]))
    after = whole(request.GET.get("after", "")) or 0
    rows = list(selectors.devices(row)[after : after + PAGE + 1])
    tally = fleets.tally(row, desired.manifest_sha256) if desired else {"ok": 0, "failed": 0}
    context = {
        "section": "trainings",
        "model": model,
        "fleet": row,
        "tally": tally,
        "devices": row.devices.count(),
        "rows": rows[:PAGE],
        "snippet": _snippet(row, "ff_…"),
        "first": request.path if after else "",
        "next": f"{request.path}?after={after + PAGE}" if len(rows) > PAGE else "",
    }
    return forms.page(request, "trainings/fleet.html", form, context)


def _offered(request: HttpRequest, model: RegisteredModel) -> list[int]:
    published = registry.versions(request.user, model).filter(state=Version.State.PUBLISHED)
    return list(published.values_list("number", flat=True)[:VERSIONS_OFFERED])


def _desire(request: HttpRequest, fleet: Fleet, fields: dict[str, Any]) -> Fleet:
    model = fleet.model
    version = registry.version(request.user, model.namespace.slug, model.name, fields["version"])
    required_by: datetime | None = fields["required_by"]
    return fleets.desire(
        request.user,
        fleet=fleet,
        version=version,
        percent=fields["percent"],
        required_by=required_by,
    )


def _effects(fleet: Fleet, desired: Version | None) -> str:
    """What devices get now."""
    number = desired.number if desired else 0
    stable = fleets.runnable(fleet.stable)
    rest = f"the others keep version {stable.number}" if stable else "the others get no version"
    if fleet.percent == 100:
        return f"All devices get version {number}."
    return f"{fleet.percent} % of the devices get version {number}; {rest}."


def _snippet(fleet: Fleet, token: str) -> str:
    """Python that a device of a fleet runs, with the address of this hub."""
    ref, url = fleet.model.ref, settings.HUB_PUBLIC_URL
    return (
        "import hub\n\n"
        'device = "camera-7"  # a name for each device\n'
        f'fleet = hub.Hub("{url}", token="{token}").fleets\n'
        f'desired = fleet.desired("{ref}", "{fleet.name}", device=device)\n'
        "if desired:\n"
        f'    model = hub.Hub("{url}").load(f"{ref}@{{desired.version}}")\n'
        f'    fleet.report("{ref}", "{fleet.name}", device,\n'
        '                 running=desired.manifest_digest, result="ok")  # or "failed"\n'
    )
