"""The address of what a round was made of, below /api/v1."""

from __future__ import annotations

from django.urls import path

from metadata.federated import views
from registry.api import converters  # noqa: F401 - registers `number`

ROUND = "models/<str:namespace>/<str:name>/trainings/<number:number>/rounds/<number:round_number>"

urlpatterns = [
    path(f"{ROUND}/provenance", views.Provenance.as_view({"get": "read"}), name="round-provenance"),
]
