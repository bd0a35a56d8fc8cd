"""The REST API for writing cards: checking one as it is typed, and reading files into one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.response import Response
from rest_framework.views import APIView

from hub.protocol import problems
from registry.api import etags
from registry.api.inputs import Input, parse
from registry.api.outputs import Column, Columns, Output, answers_of
from registry.cards import cards, edits, imports, licences, merges
from registry.cards.findings import Finding
from registry.core.permissions import require
from registry.versions import selectors
from registry.versions.services import files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rest_framework.request import Request


class CardFindingOutput(Output[Finding]):
    """One problem of a card."""

    columns = Columns(
        "severity",
        Column("line", help_text="line number in README.md, starting at 1"),
        Column(
            "field",
            help_text="for example training_data[1].personal_data; empty if the problem is with a "
            "line",
        ),
        Column("pointer", help_text="JSON pointer into the front matter, or /line/N"),
        "message",
        "cure",
    )


class CardSummaryOutput(serializers.Serializer[Any]):
    """The fields of a card that lists show."""

    license = serializers.CharField()
    licenses = serializers.ListField(
        child=serializers.CharField(), help_text="each licence of a list or choice by itself"
    )
    task = serializers.CharField()
    keywords = serializers.ListField(child=serializers.CharField())
    summary = serializers.CharField()
    fields = serializers.ListField(child=serializers.CharField())  # type: ignore[assignment]


class CardCheckOutput(serializers.Serializer[Any]):
    """A checked card: it can be saved when there is no error."""

    ok = serializers.BooleanField(help_text="whether the card can be saved")
    findings = CardFindingOutput(many=True)
    card = CardSummaryOutput()


class CardImportQuery(Input):
    """What to do with a file that is sent."""

    filename = serializers.CharField(
        max_length=512, required=False, default="", help_text="the kind is detected from its name"
    )
    kind = serializers.ChoiceField(list(imports.KINDS), required=False, default="")
    apply = serializers.BooleanField(required=False, default=False, help_text="write the card")


class CardImportOutput(serializers.Serializer[Any]):
    """The fields imported from a file, and the resulting card."""

    kind = serializers.ChoiceField(list(imports.KINDS))
    fields = serializers.DictField(help_text="fields that change, with their complete new value")  # type: ignore[assignment]
    notes = serializers.ListField(child=serializers.CharField())
    text = serializers.CharField(help_text="the README with these fields")
    findings = CardFindingOutput(many=True)
    saved = serializers.BooleanField()


class BoundedParser(BaseParser):
    """Takes a body of any type as bytes, up to the size of a file that is read into a card."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        content: bytes = stream.read(imports.LIMIT_BYTES + 1)
        if len(content) > imports.LIMIT_BYTES:
            raise problems.TooLarge(
                f"At most {imports.LIMIT_BYTES:,} bytes are accepted. Send only the part that "
                "concerns this model."
            )
        return content


def findings_data(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Findings as the API returns them."""
    return answers_of(CardFindingOutput, list(findings))


class CardCheck(APIView):
    """Checking a card that is stored nowhere."""

    parser_classes = [BoundedParser]

    @extend_schema(
        operation_id="card_check",
        request={"text/markdown": OpenApiTypes.STR},
        responses=CardCheckOutput,
    )
    def post(self, request: Request) -> Response:
        """Check a card: returns its errors and warnings by line and field. Nothing is stored."""
        content = cast("bytes", request.data or b"")
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise problems.CardInvalid("The card is not UTF-8. Save it as UTF-8 text.") from error
        checked = cards.check(text)
        card = checked.card
        data = {
            "ok": not checked.errors,
            "findings": findings_data(checked.findings),
            "card": {
                "license": licences.text(*card.licenses),
                "licenses": licences.named(*card.licenses),
                "task": card.task,
                "keywords": card.keywords,
                "summary": cards.summary(card.summary, checked.body),
                "fields": list(checked.front),
            },
        }
        return Response(data, headers={"Cache-Control": "no-store"})


class CardImport(APIView):
    """Reading another tool's file into the card of a draft."""

    parser_classes = [BoundedParser]

    @extend_schema(
        operation_id="card_import",
        parameters=[CardImportQuery],
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses=CardImportOutput,
    )
    def post(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Merge a file into the card and return the result.

        With `apply` and If-Match, the card is replaced.
        """
        version = selectors.version(request.user, namespace, name, number)
        require(request.user, "version.edit", version.model)
        query = parse(CardImportQuery, request.query_params.dict())
        content = cast("bytes", request.data or b"")
        proposal = imports.read(content, query["filename"], query["kind"])
        changes = merges.merged(cards.check(version.readme).front, proposal.fields)
        text = edits.change(version.readme, changes)
        if query["apply"]:
            if version.readme:
                etags.require(request, etags.of(version.readme))
            digest = cards.digest(version.readme)
            version = files.write_card(request.user, version=version, text=text, instead_of=digest)
        checked = cards.check(text)
        response = Response(
            {
                "kind": proposal.kind,
                "fields": changes,
                "notes": proposal.notes,
                "text": text,
                "findings": findings_data(checked.findings),
                "saved": query["apply"],
            }
        )
        response["ETag"] = etags.of(version.readme)
        return response
