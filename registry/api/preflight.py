"""The API of preflights: what a push would do, asked before a byte of it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from registry.api.inputs import FilesParser, Input, Items, parse
from registry.api.outputs import Column, Columns, Output
from registry.people import selectors as people_selectors
from registry.versions.services import preflight

if TYPE_CHECKING:
    from rest_framework.request import Request


class AnnouncedFileInput(Input):
    """A file that is about to be sent."""

    path = serializers.CharField(max_length=512)
    blob = serializers.CharField()
    size = serializers.IntegerField(min_value=0, max_value=2**63 - 1)


class PreflightInput(Input):
    """The content of a push: its files without the card, the card's text, and a label."""

    files = Items(child=AnnouncedFileInput(), max_length=5000)
    card = serializers.CharField(
        required=False, allow_null=True, default=None, allow_blank=True, trim_whitespace=False
    )
    label = serializers.CharField(  # type: ignore[assignment]  # also a word of serializers
        max_length=64, allow_blank=True, default=""
    )


class PreflightOutput(Output[preflight.Preflight]):
    """The effects of a push."""

    columns = Columns(
        Column("creates", help_text="whether the model does not exist yet"),
        Column("missing", help_text="paths whose content the hub needs"),
        Column("missing_bytes", help_text="size of that content; equal files once"),
        Column(
            "identical_to",
            help_text="number of the newest version, if it has the same files, card and label",
        ),
    )


class PreflightDetail(APIView):
    """A push that is not made."""

    parser_classes = [FilesParser]

    @extend_schema(
        operation_id="models_preflight", request=PreflightInput, responses=PreflightOutput
    )
    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Check the names, permissions, card and quota of a push. Nothing is stored."""
        body = parse(PreflightInput, request.data)
        checked = preflight.check(
            request.user,
            namespace=people_selectors.namespace(namespace),
            name=name,
            files=[preflight.AnnouncedFile(**row) for row in body["files"]],
            card=body["card"],
            label=body["label"],
        )
        headers = {"Cache-Control": "no-store"}
        return Response(PreflightOutput(checked).data, headers=headers)
