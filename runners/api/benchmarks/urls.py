"""Addresses of benchmarks below /api/v1."""

from __future__ import annotations

from django.urls import path

from registry.api import converters  # noqa: F401 - registers `number`
from runners.api.benchmarks import comparisons, enrolled_workers, results, standings

VERSION = "models/<str:namespace>/<str:name>/versions/<number:number>"
BENCHMARK = f"{VERSION}/benchmarks/<number:pk>"

urlpatterns = [
    path(f"{VERSION}/benchmarks", results.BenchmarkList.as_view()),
    path(f"{VERSION}/benchmarks/challenges", results.BenchmarkChallenges.as_view()),
    path(f"{VERSION}/benchmarks/runs", results.BenchmarkRuns.as_view()),
    path(BENCHMARK, results.BenchmarkDetail.as_view()),
    path(f"{BENCHMARK}/record.json", results.BenchmarkRecord.as_view()),
    path(f"{BENCHMARK}/samples.json", results.BenchmarkSamples.as_view()),
    path(f"{BENCHMARK}/samples.csv", results.BenchmarkTable.as_view()),
    path(f"{VERSION}/comparisons", comparisons.ComparisonList.as_view()),
    path(f"{VERSION}/comparisons/<number:pk>", comparisons.ComparisonDetail.as_view()),
    path("enrolled-workers", enrolled_workers.EnrolledWorkerList.as_view()),
    path("enrolled-workers/<str:name>", enrolled_workers.EnrolledWorkerDetail.as_view()),
    path("benchmarks", standings.Standings.as_view()),
    path("devices", standings.DeviceList.as_view()),
    path("environments", standings.EnvironmentList.as_view()),
    path("environments/<str:digest>", standings.EnvironmentDetail.as_view()),
]
