"""Addresses of the distribution protocol. No namespace may be called `v2`."""

from __future__ import annotations

from django.urls import path

from registry.protocols.oci import views

REPO = "v2/<str:namespace>/<str:name>"

urlpatterns = [
    path("v2/", views.Base.as_view()),
    path("v2/token", views.Token.as_view()),
    path(f"{REPO}/tags/list", views.Tags.as_view()),
    path(f"{REPO}/manifests/<str:reference>", views.Manifest.as_view()),
    path(f"{REPO}/blobs/uploads/", views.Push.as_view()),
    path(f"{REPO}/blobs/uploads/<path:rest>", views.Push.as_view()),
    path(f"{REPO}/blobs/<str:digest>", views.Content.as_view()),
    path(f"{REPO}/referrers/<str:digest>", views.Referrers.as_view()),
    path("v2/<path:rest>", views.Other.as_view()),
]
