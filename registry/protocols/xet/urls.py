"""Addresses of chunk stores, beside those of the Hub protocol."""

from __future__ import annotations

from django.urls import path

from registry.protocols.huggingface import converters  # noqa: F401 - registers forms
from registry.protocols.xet import views

STORE = "api/xet/<str:place>"

urlpatterns = [
    path(
        "api/models/<part:namespace>/<part:name>/xet-write-token/<path:rest>",
        views.WriteToken.as_view(),
    ),
    path(f"{STORE}/v1/xorbs/<str:prefix>/<str:name>", views.Xorbs.as_view()),
    path(f"{STORE}/v1/shards", views.Shards.as_view()),
    path(STORE, views.Nothing.as_view()),
    path(f"{STORE}/<path:rest>", views.Nothing.as_view()),
]
