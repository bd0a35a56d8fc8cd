"""What a round was made of as linked data, for maintainers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.views import APIView

from metadata.federated import contributions
from metadata.rdf.iris import Places
from metadata.store.dump import MEDIA_TYPE
from registry.federated import selectors
from registry.federated.selectors import Seeker

if TYPE_CHECKING:
    from rest_framework.request import Request


class RoundProvenance(APIView):
    """The contributions of a round, each as a graph of its own."""

    @extend_schema(
        operation_id="rounds_provenance", responses={(200, MEDIA_TYPE): OpenApiTypes.STR}
    )
    def get(
        self, request: Request, namespace: str, name: str, number: int, round_number: int
    ) -> StreamingHttpResponse:
        """Read the digest, signature and pseudonym of each contribution as N-Quads."""
        training = selectors.training(Seeker(request.user), namespace, name, number)
        of = selectors.round_(training, round_number)
        rows = selectors.every_contribution(request.user, of)
        graphs = contributions.graphs(Places(settings.HUB_PUBLIC_URL), of, rows)
        response = StreamingHttpResponse(graphs, content_type=MEDIA_TYPE)
        response["Cache-Control"] = "private, no-store"
        return response
