"""Parts of addresses of the Hub protocol."""

from __future__ import annotations

from django.urls import register_converter
from django.urls.converters import StringConverter


class Part(StringConverter):
    """A namespace or a name as anybody may write it, unless it begins an address of our own."""

    regex = "(?!(?:models|api|datasets|spaces|kernels)/)[^/]+"


class Kind(StringConverter):
    """What others keep beside models."""

    regex = "datasets|spaces|kernels|buckets"


register_converter(Part, "part")
register_converter(Kind, "kind")
