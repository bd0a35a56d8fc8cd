"""Addresses of the query page."""

from __future__ import annotations

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from frontend.pages.query import views
from frontend.pages.query.page import DOWNLOADS
from frontend.parts.caching import page


class DownloadEnding(StringConverter):
    """The ending of a result that is taken away, as frontend.pages.query.page has them."""

    regex = "|".join(DOWNLOADS)


register_converter(DownloadEnding, "download")

urlpatterns = [
    path("query", page(views.ask), name="query"),
    path("query/result.<download:ending>", views.result, name="query-result"),
]
