"""Addresses of the registry below /api/v1."""

from __future__ import annotations

from django.urls import path, register_converter

from registry.api import accounts, uploads, views


class Hex64:
    """A SHA-256 in lower-case hex."""

    regex = "[0-9a-f]{64}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(Hex64, "sha256")

MODEL = "models/<str:namespace>/<str:name>"
VERSION = f"{MODEL}/versions/<int:number>"

urlpatterns = [
    path("models", views.ModelList.as_view()),
    path(MODEL, views.ModelDetail.as_view()),
    path(f"{MODEL}/versions", views.VersionList.as_view()),
    path(VERSION, views.VersionDetail.as_view()),
    path(f"{VERSION}/card", views.CardDetail.as_view()),
    path(f"{VERSION}/files/<path:path>", views.FileDetail.as_view()),
    *[path(f"{VERSION}/{name}", view.as_view()) for name, view in views.ACTIONS.items()],
    path(f"{MODEL}/refs/<path:ref>", views.RefDetail.as_view()),
    path("resolve", views.Resolve.as_view()),
    path("blobs/<sha256:sha256>", views.BlobDetail.as_view()),
    path("uploads", uploads.UploadList.as_view()),
    path("uploads/<uuid:uuid>", uploads.UploadDetail.as_view()),
    path("whoami", accounts.Whoami.as_view()),
    path("namespaces", accounts.NamespaceList.as_view()),
    path("tokens", accounts.TokenList.as_view()),
    path("tokens/<int:token_id>", accounts.TokenDetail.as_view()),
]
