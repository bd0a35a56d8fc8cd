"""The addresses of the page that runs a model, and of the runtime that it loads."""

from __future__ import annotations

from django.urls import path

from frontend.pages.tryouts import views
from frontend.parts.caching import page
from frontend.parts.patterns import VERSION
from frontend.presenters import multipart

urlpatterns = [
    path(f"{VERSION}/try", page(views.show), name="version-try"),
    path(f"{VERSION}/try/ask", multipart.limited(views.ask), name="version-try-ask"),
    path(f"{VERSION}/try/code", views.code, name="version-try-code"),
    path(f"{VERSION}/try/contribute", views.contribute, name="version-try-contribute"),
    path(f"{VERSION}/try/<uuid:uuid>", views.state, name="version-run"),
    path(f"{VERSION}/try/<uuid:uuid>/<str:filename>", views.output, name="version-run-output"),
    path("runtime/<str:version>/<str:filename>", views.runtime_file, name="browser-runtime"),
]
