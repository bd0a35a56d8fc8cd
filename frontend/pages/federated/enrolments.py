"""The devices of a fleet that have keys of their own, and how others enrol; for maintainers."""

from __future__ import annotations

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from frontend.presenters.forms import as_message, page
from hub.protocol import problems
from registry.federated import selectors
from registry.federated.models import Fleet
from registry.federated.services import enrolments, fleets
from registry.federated.services.participants import LONGEST_DAYS
from registry.versions import selectors as registry

PAGE = 200
MOST_DEVICES = 100_000


class InviteForm(forms.Form):
    """An invitation to enrol."""

    uses = forms.IntegerField(
        label="Devices", min_value=1, max_value=MOST_DEVICES, initial=1,
        help_text="How many devices can enrol with it.",
    )  # fmt: skip
    expires_days = forms.IntegerField(
        label="Expires after (days)", min_value=1, max_value=LONGEST_DAYS, initial=30
    )


@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest, namespace: str, name: str, fleet: str) -> HttpResponse:
    """Enrolled devices, invitations, and the form for one more, whose code is shown once."""
    row = _fleet(request, namespace, name, fleet)
    form = InviteForm(request.POST or None)
    code = ""
    if request.method == "POST" and form.is_valid():
        _, code = enrolments.invite(request.user, fleet=row, **form.cleaned_data)
        form = InviteForm()
    context = {
        "section": "trainings",
        "model": row.model,
        "fleet": row,
        "devices": selectors.enrolled_devices(request.user, row)[:PAGE],
        "invites": selectors.fleet_invites(request.user, row)[:PAGE],
        "code": code,
        "snippet": snippet(row, code or "fe_…"),
    }
    response = page(request, "trainings/enrolments.html", form, context)
    response["Cache-Control"] = "no-store"
    return response


@require_POST
def revoke(request: HttpRequest, namespace: str, name: str, fleet: str) -> HttpResponse:
    """Revoke a device, an invitation, or the token that all devices share."""
    row = _fleet(request, namespace, name, fleet)
    device, invite = request.POST.get("device", ""), request.POST.get("invite", "")
    with as_message(request, problems.NotFound):
        if device:
            enrolments.revoke(request.user, fleet=row, device=device)
            messages.success(request, f"{device} is revoked.")
        elif invite.isdecimal():
            enrolments.revoke_invite(request.user, fleet=row, key=int(invite[:18]))
            messages.success(request, "The invitation is revoked.")
        else:
            fleets.revoke_shared_token(request.user, fleet=row)
            messages.success(request, "The shared token is revoked.")
    return HttpResponseRedirect(reverse("fleet-devices", args=[namespace, name, fleet]))


def snippet(fleet: Fleet, code: str) -> str:
    """Python that a device of a fleet runs, with the address of this hub."""
    return (
        "import hub\n\n"
        f'device = hub.Hub("{settings.HUB_PUBLIC_URL}").fleet_device(\n'
        f'    "{fleet.model.ref}", "{fleet.name}", device="camera-7"  # a name for each device\n'
        ")\n"
        f'device.enrol("{code}")  # once; its key stays on this machine\n'
        'if device.pull("model"):  # the version that it should run\n'
        '    device.report("ok")  # or "failed"\n'
    )


def _fleet(request: HttpRequest, namespace: str, name: str, fleet: str) -> Fleet:
    return selectors.fleet(request.user, registry.model(request.user, namespace, name), fleet)
