"""The forms of names in the addresses of pages, and the beginnings that addresses share."""

from __future__ import annotations

from django.urls import register_converter
from django.urls.converters import StringConverter

from registry.api import converters  # noqa: F401 - registers `number`

MODEL = "models/<name:namespace>/<name:name>"
VERSION = f"{MODEL}/v/<number:number>"


class Name(StringConverter):
    """A namespace or model name, as hub.protocol.refs has it."""

    regex = "[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?"


register_converter(Name, "name")
