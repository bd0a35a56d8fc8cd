"""Parts of addresses that must have a certain form to be addresses at all."""

from __future__ import annotations

from django.urls import register_converter
from django.urls.converters import IntConverter, StringConverter


class Hex64(StringConverter):
    """A SHA-256 in lower-case hex."""

    regex = "[0-9a-f]{64}"


class Number(IntConverter):
    """A row's number, as small as every database can hold it."""

    regex = "[0-9]{1,9}"


register_converter(Hex64, "sha256")
register_converter(Number, "number")
