"""Addresses of the runners below /api/v1."""

from __future__ import annotations

from django.urls import path, re_path

from registry.api import converters  # noqa: F401 - registers `number`
from runners.api import (
    conformance,
    costs,
    pools,
    scoreboard,
    variants,
    views,
)

VERSION = "models/<str:namespace>/<str:name>/versions/<number:number>"
SCORE = "scoreboard/<str:runtime>/<str:version>"

urlpatterns = [
    path(f"{VERSION}/variants", variants.Variants.as_view({"get": "index", "post": "create"})),
    path(f"{VERSION}/variants/<str:variant>", variants.Variants.as_view({"get": "read"})),
    path(f"{VERSION}/costs", costs.GraphCosts.as_view({"get": "read"})),
    path(
        f"{VERSION}/conformance", conformance.Conformance.as_view({"get": "index", "post": "run"})
    ),
    path(f"{VERSION}/conformance/<number:pk>", conformance.Conformance.as_view({"get": "read"})),
    path("runtimes", scoreboard.Scoreboard.as_view({"get": "runtimes"})),
    path("scoreboard", scoreboard.Scoreboard.as_view({"get": "index"})),
    path(SCORE, scoreboard.Scoreboard.as_view({"get": "read"})),
    path(f"{SCORE}/cases", scoreboard.Scoreboard.as_view({"get": "cases"})),
    path("jobs", views.Jobs.as_view({"get": "index"})),
    path("jobs/<uuid:uuid>", views.Jobs.as_view({"get": "read"})),
    path("jobs/<uuid:uuid>/cancel", views.Jobs.as_view({"post": "cancel"})),
    path("jobs/<uuid:uuid>/lift", views.Jobs.as_view({"post": "lift"})),
    path("pools", pools.Pools.as_view({"get": "index"})),
    *[
        path(f"pools/<str:name>/{action}", pools.Pools.as_view({"post": action}))
        for action in ("pause", "drain", "resume")
    ],
    re_path(r"^jobs/(?P<text>[^/]+)(?:/.*)?$", views.unknown_job),
    path("workers", views.Jobs.as_view({"get": "workers"})),
]
