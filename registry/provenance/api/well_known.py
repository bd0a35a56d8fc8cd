"""The well-known address of the log's keys (RFC 8615)."""

from __future__ import annotations

from django.urls import path
from django.views.decorators.http import require_safe

from registry.provenance.api import views

urlpatterns = [path(".well-known/model-hub-log-keys", require_safe(views.keys))]
