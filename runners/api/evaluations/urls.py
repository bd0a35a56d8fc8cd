"""Address of evaluations below /api/v1."""

from __future__ import annotations

from django.urls import path

from registry.api import converters  # noqa: F401 - registers `number`
from runners.api.evaluations.views import Evaluations

VERSION = "models/<str:namespace>/<str:name>/versions/<number:number>"

urlpatterns = [
    path(
        f"{VERSION}/evaluations",
        Evaluations.as_view({"get": "index", "post": "create"}),
    ),
]
