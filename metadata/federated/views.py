"""What a round was made of as linked data, for maintainers alone."""

from __future__ import annotations

from django.conf import settings
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes

from metadata.federated import contributions
from metadata.rdf.iris import Places
from metadata.store.dump import MEDIA_TYPE
from registry.api.operations import View, operation
from registry.federated import selectors
from registry.federated.selectors import Seeker


class Provenance(View):
    """The contributions of a round, each as a graph of its own."""

    @operation("rounds_provenance", responses={(200, MEDIA_TYPE): OpenApiTypes.STR})
    def read(self) -> StreamingHttpResponse:
        """Read the digest, signature and pseudonym of each contribution as N-Quads."""
        actor, place = self.request.user, map(self.part, ("namespace", "name", "number"))
        of = selectors.round_(
            selectors.training(Seeker(actor), *place), self.kwargs["round_number"]
        )
        rows = selectors.every_contribution(actor, of)
        graphs = contributions.graphs(Places(settings.HUB_PUBLIC_URL), of, rows)
        response = StreamingHttpResponse(graphs, content_type=MEDIA_TYPE)
        response["Cache-Control"] = "private, no-store"
        return response
