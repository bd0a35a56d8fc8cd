"""Where this hub speaks SCIM."""

from __future__ import annotations

from urllib.parse import urljoin

from django.conf import settings
from django.urls import reverse


def base_url() -> str:
    """The address that administrators enter at the identity provider."""
    return urljoin(settings.HUB_PUBLIC_URL, reverse("scim")).rstrip("/")
