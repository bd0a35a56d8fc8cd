"""Addresses of pages, of the API's resources and of files, as its answers name them."""

from __future__ import annotations

from urllib.parse import quote

from django.conf import settings

from registry.models import Version


def page_url(*parts: str) -> str:
    """The address of a page."""
    return "/".join([settings.HUB_PUBLIC_URL, "models", *parts])


def api_url(*parts: str) -> str:
    """The address of a resource of the API."""
    return "/".join([settings.HUB_PUBLIC_URL, "api/v1", *parts])


def file_url(version: Version, path: str) -> str:
    """The address of a file's bytes."""
    model = version.model
    return (
        api_url(
            "models", model.namespace.slug, model.name, "versions", str(version.number), "files"
        )
        + "/"
        + quote(path)
    )
