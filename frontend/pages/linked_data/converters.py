"""The endings of addresses that ask for RDF."""

from __future__ import annotations

from django.urls import register_converter
from django.urls.converters import StringConverter

from metadata.store.negotiation import FORMATS


class Ending(StringConverter):
    """The ending of an address that asks for RDF, as metadata.store.negotiation has them."""

    regex = "|".join(FORMATS)


register_converter(Ending, "ending")
