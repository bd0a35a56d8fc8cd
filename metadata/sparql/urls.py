"""The address of the SPARQL endpoint."""

from __future__ import annotations

from django.urls import path

from metadata.sparql import endpoint

urlpatterns = [path("sparql", endpoint.endpoint, name="sparql")]
