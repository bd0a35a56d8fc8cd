"""Addresses of the runners below /api/v1."""

from __future__ import annotations

from django.urls import path

from registry.api import converters  # noqa: F401 - registers `number`
from runners.api import (
    conformance,
    costs,
    scoreboard,
    variants,
    views,
)

VERSION = "models/<str:namespace>/<str:name>/versions/<number:number>"
SCORE = "scoreboard/<str:runtime>/<str:version>"

urlpatterns = [
    path(f"{VERSION}/variants", variants.VariantList.as_view()),
    path(f"{VERSION}/variants/<str:variant>", variants.VariantDetail.as_view()),
    path(f"{VERSION}/costs", costs.CostsDetail.as_view()),
    path(f"{VERSION}/conformance", conformance.ConformanceList.as_view()),
    path(f"{VERSION}/conformance/<number:pk>", conformance.ConformanceDetail.as_view()),
    path("runtimes", scoreboard.RuntimeList.as_view()),
    path("scoreboard", scoreboard.Scoreboard.as_view()),
    path(SCORE, scoreboard.ScoreDetail.as_view()),
    path(f"{SCORE}/cases", scoreboard.CaseList.as_view()),
    path("jobs", views.JobList.as_view()),
    path("jobs/<uuid:uuid>", views.JobDetail.as_view()),
    path("jobs/<uuid:uuid>/cancel", views.JobCancel.as_view()),
    path("jobs/<uuid:uuid>/lift", views.JobLift.as_view()),
    path("workers", views.WorkerList.as_view()),
]
