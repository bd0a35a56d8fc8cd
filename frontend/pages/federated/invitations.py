"""Invitations to a training: maintainers make links, and holders of one see what it asks for."""

from __future__ import annotations

from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from frontend.pages.federated import consequences
from frontend.pages.federated import trainings as presenter
from frontend.pages.federated.forms import InviteForm
from frontend.pages.federated.views import find
from frontend.parts import client_wheel
from frontend.parts.addresses import whole
from frontend.presenters import forms
from hub.protocol import problems
from registry.api.parameters import accepts
from registry.federated import privacy, selectors
from registry.federated.models import Training
from registry.federated.services import participants
from registry.models import RegisteredModel

PAGE = 50
_UNKNOWN = (
    "Unknown, used, expired or revoked invitation. Ask the maintainers of the training for a new "
    "link."
)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def invite(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """The invitations of a training; a new one's link is shown once."""
    training = find(request, namespace, name, number)
    invitations = selectors.invites(request.user, training)
    form = InviteForm(request.POST or None)
    link = code = ""
    if request.method == "POST" and form.is_valid():
        with forms.explained(form):
            _, code = participants.invite(request.user, training=training, **form.cleaned_data)
            place = reverse("training-join", args=[namespace, name, number])
            link = f"{settings.HUB_PUBLIC_URL}{place}?{urlencode({'code': code})}"
    context = {
        "section": "trainings",
        "training": training,
        "model": training.model,
        "invitations": invitations[:PAGE],
        "link": link,
        "snippet": _snippet(training, code),
        "uses": form.cleaned_data["uses"] if link else 0,
    }
    response = forms.page(request, "trainings/invite.html", form, context)
    response["Cache-Control"] = "no-store"
    return response


@require_POST
def revoke(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """Revoke an invitation; devices that joined with it stay."""
    training = find(request, namespace, name, number)
    key = whole(request.POST.get("invitation", "")) or 0
    participants.revoke_invite(request.user, training=training, key=key)
    messages.success(request, "The invitation is revoked. Devices that joined with it stay.")
    return HttpResponseRedirect(reverse("training-invite", args=[namespace, name, number]))


@accepts("code")
@require_safe
def join(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """What a training is, what it sends, and how to join it; for holders of an invitation.

    Without a valid code the same is shown of a training that the reader may see.
    """
    code = request.GET.get("code", "")
    training = selectors.admitted(namespace, name, number)
    is_admitted = training is not None and participants.admits(training, code)
    if training is None or not is_admitted:
        try:
            training = find(request, namespace, name, number)
        except problems.NotFound as error:
            raise problems.NotFound(_UNKNOWN) from error
    base = training.base
    facts = consequences.facts_of(base, training.entry)
    response = render(
        request,
        "trainings/join.html",
        {
            "section": "trainings",
            "training": training,
            "model": training.model,
            "code": code if is_admitted else "",
            "secret_parameters": True,
            "refusal": _UNKNOWN if code and not is_admitted else "",
            "is_visible": selectors.trainings(request.user, training.model)
            .filter(pk=training.pk, model__in=RegisteredModel.objects.visible_to(request.user))
            .exists(),
            "facts": facts,
            "trained": consequences.trained(training.roles),
            "bytes": consequences.bytes_of(facts),
            "rules": presenter.rules(training),
            "privacy": privacy.words(privacy.of_training(training)),
            "retention_days": training.typed_schedule.retention_days,
            "install": f"pip install '{client_wheel.requirement('federated')}'",
            "snippet": _snippet(training, code if is_admitted else "fi_…"),
        },
    )
    # The code is in the address: no cache keeps it, and no other page learns it.
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = "no-referrer"
    response["X-Robots-Tag"] = "noindex"
    return response


def _snippet(training: Training, code: str) -> str:
    """Python that joins and takes part, with the address of this hub."""
    return (
        "import hub\n\n"
        f'training = hub.Hub("{settings.HUB_PUBLIC_URL}").training(\n'
        f'    "{training.model.ref}/trainings/{training.number}"\n)\n'
        f'training.join("{code}")\n'
        "for task in training.tasks():  # until the training has ended\n"
        "    tensors = train(task.tensors)  # your code: arrays by name in, arrays by name out\n"
        "    training.push(tensors, examples=279)  # the number that you trained with\n"
    )
