"""The addresses of the signers of a namespace."""

from __future__ import annotations

from django.urls import path

from frontend.pages.signatures import views
from registry.api import converters  # noqa: F401 - registers forms

_SIGNERS = "account/namespaces/<name:slug>/signers"

urlpatterns = [
    path(_SIGNERS, views.signers, name="signers"),
    path(f"{_SIGNERS}/<number:signer_id>/remove", views.remove, name="signer-remove"),
]
