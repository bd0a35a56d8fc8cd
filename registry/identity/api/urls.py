"""The addresses of the security log and of sessions."""

from __future__ import annotations

from django.urls import path

from registry.identity.api import views

urlpatterns = [
    path("security-events", views.SecurityEvents.as_view({"get": "index"})),
    path("sessions", views.Sessions.as_view({"get": "index", "delete": "end_others"})),
    path("sessions/<number:session_id>", views.Sessions.as_view({"delete": "end"})),
    path("users/<str:username>/erase", views.Erasure.as_view({"post": "erase"})),
    path(
        "users/<str:username>/sessions",
        views.AccountSessions.as_view({"get": "index", "delete": "end_all"}),
    ),
    path(
        "users/<str:username>/sessions/<number:session_id>",
        views.AccountSessions.as_view({"delete": "end"}),
    ),
]
