"""What the routes that write have in common: their bodies, permissions and warnings."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import problems, stored
from registry.api.inputs import FilesParser
from registry.models import Check, RegisteredModel, Version
from registry.protocols.huggingface import errors
from registry.versions import history

HEADS = "refs/heads/"


class AnyJson(FilesParser):
    """JSON under any name: git-lfs has its own, DELETE often none at all."""

    media_type = "*/*"

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The body as an object; raises InvalidRequest."""
        value = super().parse(stream, media_type, parser_context)
        if not isinstance(value, dict):
            raise problems.InvalidRequest("The body must be a JSON object.")
        return value


def body(request: Request) -> dict[str, Any]:
    """What was sent; nothing is an empty object."""
    return stored.mapping(request.data)


def branch_of(model: RegisteredModel, rest: str) -> str:
    """The branch that an address names; raises Refused."""
    branch = rest.strip("/").removeprefix(HEADS)
    if branch == "HEAD":
        branch = "main"
    if not history.has_branch(model, branch):
        raise errors.no_revision(model.ref, rest)
    return branch


def no_pull_requests(request: Request) -> None:
    """Refuse requests for pull requests with a message."""
    if request.query_params.get("create_pr", "").lower() in ("1", "true"):
        raise errors.Refused(
            "This hub has no pull requests. Commit to a branch of your own instead: "
            "create_branch, then upload with revision=<branch>.",
            status=400,
        )


def text(values: Mapping[str, Any], name: str, preset: str = "") -> str:
    """A field that must be text, or be absent; raises InvalidRequest."""
    value = values.get(name)
    if value is None:
        return preset
    if not isinstance(value, str):
        raise problems.InvalidRequest(f"{name} must be text.")
    return value


def file(value: Mapping[str, Any]) -> tuple[str, bytes]:
    """The path and the bytes of a file that came as text or base64; raises InvalidRequest."""
    path, content = text(value, "path"), text(value, "content")
    if text(value, "encoding", "utf-8") != "base64":
        return path, content.encode()
    try:
        return path, base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise problems.InvalidRequest(f"{path}: its content is not valid base64.") from error


def warn(response: Response, model: RegisteredModel) -> Response:
    """Say, in a header that clients print once, that the last version failed its checks."""
    refused = (
        Version.objects.filter(model=model, state=Version.State.DRAFT, commits__isnull=False)
        .filter(checks__outcome__in=[Check.Outcome.FAILED, Check.Outcome.ERRORED])
        .order_by("-number")
        .first()
    )
    if refused is not None:
        page = f"{settings.HUB_PUBLIC_URL}/models/{model.ref}/v/{refused.number}"
        response["X-HF-Warning"] = errors.one_line(
            f"checks; Version {refused.number} of {model.ref} did not pass its checks and is not "
            f"published: {page} says why. Commit a fix, and it is checked again."
        )
    return response
