"""Addresses of the metadata below /api/v1."""

from __future__ import annotations

from django.urls import path

from metadata.api import copies, shapes
from registry.api import converters  # noqa: F401 - registers `number`

VERSION = "models/<str:namespace>/<str:name>/versions/<number:number>"

urlpatterns = [
    path(f"{VERSION}/checks/mldcat-ap", shapes.ShapeReportDetail.as_view()),
    path(
        f"{VERSION}/variants/<str:variant>/with-metadata",
        copies.CopyDetail.as_view(),
        name="variant-with-metadata",
    ),
]
