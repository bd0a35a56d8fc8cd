"""Addresses of benchmarks below /api/v1."""

from __future__ import annotations

from django.urls import path

from registry.api import converters  # noqa: F401 - registers `number`
from runners.api.benchmarks import comparisons, enrolled_workers, results, standings

VERSION = "models/<str:namespace>/<str:name>/versions/<number:number>"
BENCHMARK = f"{VERSION}/benchmarks/<number:pk>"

urlpatterns = [
    path(
        f"{VERSION}/benchmarks",
        results.Benchmarks.as_view(
            {"get": "index", "post": "contribute"}, parser_classes=[results.RecordParser]
        ),
    ),
    path(f"{VERSION}/benchmarks/challenges", results.Benchmarks.as_view({"post": "challenge"})),
    path(
        f"{VERSION}/benchmarks/contributions",
        results.Benchmarks.as_view({"get": "contributions"}),
    ),
    path(
        f"{VERSION}/benchmarks/contributions/<number:pk>",
        results.Benchmarks.as_view({"get": "contribution"}),
    ),
    path(f"{VERSION}/benchmarks/runs", results.Benchmarks.as_view({"post": "run"})),
    path(BENCHMARK, results.Benchmarks.as_view({"get": "read", "delete": "remove"})),
    path(f"{BENCHMARK}/record.json", results.Benchmarks.as_view({"get": "record"})),
    path(f"{BENCHMARK}/samples.json", results.Benchmarks.as_view({"get": "samples"})),
    path(f"{BENCHMARK}/samples.csv", results.Benchmarks.as_view({"get": "table"})),
    path(
        f"{VERSION}/comparisons", comparisons.Comparisons.as_view({"get": "index", "post": "run"})
    ),
    path(f"{VERSION}/comparisons/<number:pk>", comparisons.Comparisons.as_view({"get": "read"})),
    path(
        "enrolled-workers",
        enrolled_workers.EnrolledWorkers.as_view({"get": "index", "post": "enrol"}),
    ),
    path(
        "enrolled-workers/<str:name>",
        enrolled_workers.EnrolledWorkers.as_view({"delete": "revoke"}),
    ),
    path("benchmarks", standings.Standings.as_view({"get": "index"})),
    path("devices", standings.Standings.as_view({"get": "devices"})),
    path("environments", standings.Standings.as_view({"get": "environments"})),
    path("environments/<str:digest>", standings.Standings.as_view({"get": "read_environment"})),
]
