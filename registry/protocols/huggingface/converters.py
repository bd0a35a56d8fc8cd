"""Parts of addresses of the Hub protocol."""

from __future__ import annotations

from django.urls import register_converter
from django.urls.converters import StringConverter


class Part(StringConverter):
    """A namespace or a name as written by clients, unless it begins an address of the hub."""

    regex = "(?!(?:models|api|datasets|spaces|kernels)/)[^/]+"


class Kind(StringConverter):
    """What others keep beside models."""

    regex = "datasets|spaces|kernels|buckets"


register_converter(Part, "part")
register_converter(Kind, "kind")
