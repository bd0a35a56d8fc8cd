"""Addresses of git over HTTP, with and without `.git` behind the name."""

from __future__ import annotations

from django.urls import path

from registry.protocols.git import views
from registry.protocols.huggingface import converters  # noqa: F401 - registers forms

REPO = "<part:namespace>/<part:name>"

urlpatterns = [
    path(f"{repo}/{place}", view.as_view())
    for repo in (f"{REPO}.git", REPO)
    for place, view in (
        ("info/refs", views.InfoRefs),
        ("git-upload-pack", views.UploadPack),
        ("git-receive-pack", views.ReceivePack),
    )
]
