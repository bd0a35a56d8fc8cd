"""Addresses of the metadata below /api/v1."""

from __future__ import annotations

from django.urls import path

from metadata.api import annotated_files, croissant, shapes
from registry.api import converters  # noqa: F401 - registers `number`

VERSION = "models/<str:namespace>/<str:name>/versions/<number:number>"

urlpatterns = [
    path(
        "datasets/<slug:slug>/versions/<number:number>/croissant",
        croissant.DatasetCroissant.as_view({"get": "read"}),
        name="dataset-croissant",
    ),
    path(f"{VERSION}/checks/mldcat-ap", shapes.ShapeReports.as_view({"get": "read"})),
    path(
        f"{VERSION}/variants/<str:variant>/with-metadata",
        annotated_files.Copies.as_view({"get": "read", "post": "create"}),
        name="variant-with-metadata",
    ),
]
