"""Checking a card before it is committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.response import Response

from hub.protocol import problems
from registry.cards import cards
from registry.protocols.huggingface.views import HubView

if TYPE_CHECKING:
    from rest_framework.request import Request


class ValidateYaml(HubView):
    """The front matter of a card."""

    def post(self, request: Request) -> Response:
        """What is wrong with it: 200 where a commit would take it, else 400 and why.

        Clients show `errors` only of a 400, and commit nothing after any status but 200.
        """
        content = request.data.get("content") if isinstance(request.data, dict) else None
        if not isinstance(content, str):
            raise problems.InvalidRequest("Send `content`, the text of README.md.")
        checked = cards.check(content)
        told = {
            "errors": [{"message": finding.detail} for finding in checked.errors],
            "warnings": [{"message": finding.detail} for finding in checked.warnings],
        }
        return Response(told, status=400 if checked.errors else 200)
