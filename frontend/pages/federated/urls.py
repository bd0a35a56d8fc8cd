"""The addresses of trainings and fleets."""

from __future__ import annotations

from django.urls import path

from frontend.pages.federated import enrolments, fleets, invitations, views, wizard
from frontend.parts.caching import page
from frontend.parts.patterns import MODEL

TRAINING = f"{MODEL}/trainings/<number:number>"

urlpatterns = [
    path("trainings", page(views.every), name="trainings"),
    path(f"{MODEL}/trainings", page(views.of_model), name="model-trainings"),
    path(f"{MODEL}/trainings/new", wizard.new, name="training-new"),
    path(f"{MODEL}/fleets", page(fleets.every), name="fleets"),
    path(f"{MODEL}/fleets/<str:fleet>", page(fleets.show), name="fleet"),
    path(f"{MODEL}/fleets/<str:fleet>/devices", page(enrolments.index), name="fleet-devices"),
    path(f"{MODEL}/fleets/<str:fleet>/revoke", enrolments.revoke, name="fleet-revoke"),
    path(TRAINING, page(views.show), name="training"),
    path(f"{TRAINING}/live", views.live_mark, name="training-live"),
    path(f"{TRAINING}/act", views.act, name="training-act"),
    path(f"{TRAINING}/invite", invitations.invite, name="training-invite"),
    path(f"{TRAINING}/uninvite", invitations.revoke, name="training-uninvite"),
    path(f"{TRAINING}/join", invitations.join, name="training-join"),
    path(f"{TRAINING}/rounds/<number:round_number>", page(views.round_), name="training-round"),
]
