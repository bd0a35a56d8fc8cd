"""The REST API for writing cards: checking one as it is typed, and reading files into one."""

from __future__ import annotations

from typing import Any, cast

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import problems
from hub.protocol.cards import Card
from registry.api import etags
from registry.api.inputs import Input, parse
from registry.api.operations import VersionView, operation
from registry.api.outputs import Column, Columns, Output, Shape
from registry.cards import cards, edits, imports, licences, merges
from registry.cards.findings import Finding
from registry.core.permissions import require
from registry.versions.services import files


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


class CardSummaryOutput(Output[Card]):
    """The fields of a card that lists show."""

    columns = Columns(
        Column("license", kind=str),
        Column(
            "licenses",
            kind=list[str],
            help_text="each licence of a list or choice by itself",
        ),
        "task",
        "keywords",
        "summary",
        Column("fields", kind=list[str]),
    )


class CardCheckOutput(Shape[Any]):
    """A checked card: it can be saved when there is no error."""

    columns = Columns(
        Column("ok", kind=bool, help_text="whether the card can be saved"),
        Column("findings", field=CardFindingOutput, many=True),
        Column("card", field=CardSummaryOutput),
    )


class CardImportQuery(Input):
    """What to do with a file that is sent."""

    columns = Columns(
        Column(
            "filename", max_length=512, default="", help_text="the kind is detected from its name"
        ),
        Column("kind", choices=list(imports.KINDS), default=""),
        Column("apply", kind=bool, default=False, help_text="write the card"),
    )


class CardImportOutput(Shape[Any]):
    """The fields imported from a file, and the resulting card."""

    columns = Columns(
        Column("kind", choices=list(imports.KINDS)),
        Column(
            "fields",
            kind=dict,
            help_text="fields that change, with their complete new value",
        ),
        Column("notes", kind=list[str]),
        Column("text", kind=str, help_text="the README with these fields"),
        Column("findings", field=CardFindingOutput, many=True),
        Column("saved", kind=bool),
    )


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


class Cards(VersionView):
    """Checking a card that is stored nowhere, and reading another tool's file into a draft's."""

    parser_classes = [BoundedParser]

    @operation(
        "card_check",
        CardCheckOutput,
        targets=(),
        request={"text/markdown": OpenApiTypes.STR},
        headers={"Cache-Control": "no-store"},
    )
    def check(self) -> dict[str, Any]:
        """Check a card: returns its errors and warnings by line and field. Nothing is stored."""
        content = cast("bytes", self.request.data or b"")
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise problems.CardInvalid("The card is not UTF-8. Save it as UTF-8 text.") from error
        checked = cards.check(text)
        card = checked.card
        return {
            "ok": not checked.errors,
            "findings": checked.findings,
            "card": {
                "license": licences.text(*card.licenses),
                "licenses": licences.named(*card.licenses),
                "task": card.task,
                "keywords": card.keywords,
                "summary": cards.summary(card.summary, checked.body),
                "fields": list(checked.front),
            },
        }

    @extend_schema(
        operation_id="card_import",
        parameters=[CardImportQuery],
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses=CardImportOutput,
    )
    def merge(self, request: Request, **_: Any) -> Response:
        """Merge a file into the card and return the result.

        With `apply` and If-Match, the card is replaced.
        """
        version = self.version
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
        row = {
            "kind": proposal.kind,
            "fields": changes,
            "notes": proposal.notes,
            "text": text,
            "findings": cards.check(text).findings,
            "saved": query["apply"],
        }
        response = Response(self.data(CardImportOutput, row))
        response["ETag"] = etags.of(version.readme)
        return response
