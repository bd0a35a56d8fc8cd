"""Versions of data sets as Croissant documents over HTTP."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.views import APIView

from hub.protocol import problems
from metadata.exports import croissant
from registry.api.dataset_versions import version_url
from registry.datasets import selectors

if TYPE_CHECKING:
    from rest_framework.request import Request

JSON_LD = "application/ld+json"


class DatasetCroissant(APIView):
    """A version of a data set in Croissant."""

    @extend_schema(
        operation_id="dataset_versions_croissant",
        responses={(200, JSON_LD): OpenApiTypes.OBJECT},
    )
    def get(self, request: Request, slug: str, number: int) -> HttpResponse:
        """Read a version as Croissant 1.0, for data loaders of machine learning frameworks."""
        dataset = selectors.dataset(slug)
        if dataset.withdrawn_at is not None:
            raise problems.Withdrawn(f"The data set {dataset.slug} was withdrawn: {dataset.reason}")
        version = selectors.version(dataset, number)
        version.dataset = dataset
        page = f"{settings.HUB_PUBLIC_URL}/datasets/{dataset.slug}/v{number}"
        document = croissant.document(version, page=page, address=version_url(version))
        text = json.dumps(document, indent=2, ensure_ascii=False)
        return HttpResponse(text, content_type=JSON_LD)
