"""The REST operations of cards, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from hub.client.rest.calls import Content, Group, model_path, part
from hub.client.rest.shared import CardFinding, Version


@dataclass(frozen=True, kw_only=True)
class CardSummary:
    """The fields of a card that lists show."""

    license: str
    # each licence of a list or choice by itself
    licenses: tuple[str, ...]
    task: str
    keywords: tuple[str, ...]
    summary: str
    fields: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CardCheck:
    """A checked card: it can be saved when there is no error."""

    # whether the card can be saved
    ok: bool
    findings: tuple[CardFinding, ...]
    card: CardSummary


@dataclass(frozen=True, kw_only=True)
class CardImport:
    """The fields imported from a file, and the resulting card."""

    kind: str
    # fields that change, with their complete new value
    fields: dict[str, Any]
    notes: tuple[str, ...]
    # the README with these fields
    text: str
    findings: tuple[CardFinding, ...]
    saved: bool


class CardsGroup(Group):
    """The operations of cards."""

    def check(
        self, *, content: Annotated[Content, "the content, or the path of a file"]
    ) -> CardCheck:
        """Check a card: returns its errors and warnings by line and field. Nothing is stored."""
        return self._call(CardCheck, "POST", "cards/check", body=(content, "text/markdown"))

    def import_file(
        self,
        model: str,
        number: int,
        *,
        content: Annotated[Content, "the content, or the path of a file"],
        apply: Annotated[bool | None, "write the card"] = None,
        filename: Annotated[str | None, "the kind is detected from its name"] = None,
        kind: Literal["codecarbon", "croissant", "eval-results", "citation"] | None = None,
        etag: Annotated[str | None, "ETag that you read (default: the current one)"] = None,
    ) -> CardImport:
        """Merge a file into the card and return the result.

        With `apply` and If-Match, the card is replaced.
        """
        return self._call(
            CardImport,
            "POST",
            f"models/{model_path(model)}/versions/{part(number)}/card/import",
            query={"apply": apply, "filename": filename, "kind": kind},
            body=(content, "application/octet-stream"),
            etag=etag,
            etag_of=f"models/{model_path(model)}/versions/{part(number)}/card",
        )

    def put(
        self,
        model: str,
        number: int,
        *,
        content: Annotated[Content, "the content, or the path of a file"],
        etag: Annotated[str | None, "ETag that you read (default: the current one)"] = None,
    ) -> Version:
        """Write the card of a draft. Replacing a card needs If-Match."""
        return self._call(
            Version,
            "PUT",
            f"models/{model_path(model)}/versions/{part(number)}/card",
            body=(content, "text/markdown"),
            etag=etag,
        )

    def read(self, model: str, number: int) -> str:
        """Read the card as Markdown."""
        return self._text(f"models/{model_path(model)}/versions/{part(number)}/card")
