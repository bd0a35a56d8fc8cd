"""The addresses of the log and of signatures, below those of the API."""

from __future__ import annotations

from django.urls import path, register_converter

from hub.protocol.transparency.merkle import TILE_WIDTH
from registry.api import converters  # noqa: F401 - registers forms
from registry.provenance.api import signatures, views


class TileConverter:
    """A tile of C2SP's tlog-tiles, such as x001/x234/067, or 000.p/7 for its first seven."""

    regex = r"(?:x[0-9]{3}/){0,5}[0-9]{3}(?:\.p/[0-9]{1,3})?"

    def to_python(self, value: str) -> tuple[int, int]:
        """The number of the tile, and how many hashes of it."""
        digits, _, width = value.partition(".p/")
        number = int(digits.replace("x", "").replace("/", ""))
        return number, int(width or TILE_WIDTH)

    def to_url(self, value: str) -> str:
        """The text of a tile, as it is."""
        return value


register_converter(TileConverter, "tile")

urlpatterns = [
    path("log/checkpoint", views.Log.as_view({"get": "checkpoint"})),
    path("log/head", views.Log.as_view({"get": "newest"})),
    path("log/records", views.Log.as_view({"get": "records"})),
    path("log/tile/entries/<tile:tile>", views.Log.as_view({"get": "entries"})),
    path("log/tile/<number:level>/<tile:tile>", views.Log.as_view({"get": "tile"})),
    path(
        "models/<str:namespace>/<str:name>/versions/<number:number>/log",
        views.VersionLog.as_view({"get": "read"}),
    ),
    path(
        "models/<str:namespace>/<str:name>/versions/<number:number>/attestations",
        views.Attestations.as_view({"get": "read"}),
    ),
    path(
        "models/<str:namespace>/<str:name>/versions/<number:number>/attestations/<str:digest>",
        views.Attestations.as_view({"get": "envelope"}),
    ),
    path(
        "models/<str:namespace>/<str:name>/signatures",
        signatures.ModelSignatures.as_view({"get": "index"}),
    ),
    path(
        "models/<str:namespace>/<str:name>/versions/<number:number>/signatures",
        signatures.Signatures.as_view({"get": "index", "post": "create"}),
    ),
    path(
        "models/<str:namespace>/<str:name>/versions/<number:number>/signatures/<sha256:sha256>",
        signatures.Signatures.as_view({"get": "bundle"}),
    ),
    path(
        "namespaces/<str:slug>/signers",
        signatures.Signers.as_view({"get": "index", "post": "create"}),
    ),
    path(
        "namespaces/<str:slug>/signers/<number:signer_id>",
        signatures.Signers.as_view({"delete": "remove"}),
    ),
]
