"""Addresses of the runners below /api/v1."""

from __future__ import annotations

from django.urls import path

from registry.api import converters  # noqa: F401 - registers `number`
from runners.api import (
    benchmarks,
    comparisons,
    conformance,
    costs,
    enrolled_workers,
    evaluations,
    scoreboard,
    standings,
    variants,
    views,
)

VERSION = "models/<str:namespace>/<str:name>/versions/<number:number>"
BENCHMARK = f"{VERSION}/benchmarks/<number:pk>"
SCORE = "scoreboard/<str:runtime>/<str:version>"

urlpatterns = [
    path(f"{VERSION}/variants", variants.VariantList.as_view()),
    path(f"{VERSION}/variants/<str:variant>", variants.VariantDetail.as_view()),
    path(f"{VERSION}/costs", costs.CostsDetail.as_view()),
    path(f"{VERSION}/conformance", conformance.ConformanceList.as_view()),
    path(f"{VERSION}/conformance/<number:pk>", conformance.ConformanceDetail.as_view()),
    path(f"{VERSION}/evaluations", evaluations.EvaluationList.as_view()),
    path(f"{VERSION}/benchmarks", benchmarks.BenchmarkList.as_view()),
    path(f"{VERSION}/benchmarks/challenges", benchmarks.BenchmarkChallenges.as_view()),
    path(f"{VERSION}/benchmarks/runs", benchmarks.BenchmarkRuns.as_view()),
    path(BENCHMARK, benchmarks.BenchmarkDetail.as_view()),
    path(f"{BENCHMARK}/record.json", benchmarks.BenchmarkRecord.as_view()),
    path(f"{BENCHMARK}/samples.json", benchmarks.BenchmarkSamples.as_view()),
    path(f"{BENCHMARK}/samples.csv", benchmarks.BenchmarkTable.as_view()),
    path(f"{VERSION}/comparisons", comparisons.ComparisonList.as_view()),
    path(f"{VERSION}/comparisons/<number:pk>", comparisons.ComparisonDetail.as_view()),
    path("enrolled-workers", enrolled_workers.EnrolledWorkerList.as_view()),
    path("enrolled-workers/<str:name>", enrolled_workers.EnrolledWorkerDetail.as_view()),
    path("benchmarks", standings.Standings.as_view()),
    path("devices", standings.DeviceList.as_view()),
    path("environments", standings.EnvironmentList.as_view()),
    path("environments/<str:digest>", standings.EnvironmentDetail.as_view()),
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
