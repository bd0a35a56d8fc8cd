"""Versions of data sets as Croissant documents over HTTP."""

from __future__ import annotations

import json

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes

from hub.protocol import problems
from metadata.exports import croissant
from registry.api.dataset_versions import version_url
from registry.api.operations import View, operation, resource
from registry.datasets import selectors

JSON_LD = "application/ld+json"


class DatasetCroissant(View):
    """A version of a data set in Croissant."""

    targets = ("dataset",)
    dataset = resource(selectors.dataset, "slug", needs_actor=False)

    @operation(
        "dataset_versions_croissant",
        responses={(200, JSON_LD): OpenApiTypes.OBJECT},
    )
    def read(self) -> HttpResponse:
        """Read a version as Croissant 1.0, for data loaders of machine learning frameworks."""
        dataset = self.dataset
        if dataset.withdrawn_at is not None:
            raise problems.Withdrawn(f"The data set {dataset.slug} was withdrawn: {dataset.reason}")
        version = selectors.version(dataset, self.kwargs["number"])
        version.dataset = dataset
        page = f"{settings.HUB_PUBLIC_URL}/datasets/{dataset.slug}/v{version.number}"
        document = croissant.document(version, page=page, address=version_url(version))
        text = json.dumps(document, indent=2, ensure_ascii=False)
        return HttpResponse(text, content_type=JSON_LD)
