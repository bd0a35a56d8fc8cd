"""Addresses of the runners below /api/v1."""

from __future__ import annotations

from django.urls import path

from runners.api import views

urlpatterns = [
    path("jobs", views.JobList.as_view()),
    path("jobs/<uuid:uuid>", views.JobDetail.as_view()),
    path("jobs/<uuid:uuid>/cancel", views.JobCancel.as_view()),
]
