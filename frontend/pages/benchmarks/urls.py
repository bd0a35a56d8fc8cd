"""Addresses of the pages of benchmarks."""

from __future__ import annotations

from django.urls import path

from frontend.pages.benchmarks import views
from frontend.parts.caching import page
from frontend.parts.patterns import VERSION

urlpatterns = [
    path(f"{VERSION}/benchmarks", page(views.tab), name="version-benchmarks"),
    path(f"{VERSION}/benchmarks/again", views.again, name="benchmarks-again"),
    path(f"{VERSION}/benchmarks/<number:pk>", page(views.result), name="benchmark"),
    path("benchmarks", page(views.across), name="benchmarks"),
    path("runtimes/<slug:name>", page(views.runtime), name="runtime"),
]
