"""What every view of the protocol has: its errors, tokens, and access from other sites' scripts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from django.http import HttpResponse, HttpResponseBase, HttpResponseRedirect
from rest_framework.parsers import FormParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from hub.protocol import problems, refs
from registry.api import parameters
from registry.api.inputs import FilesParser
from registry.core.permissions import require
from registry.models import RegisteredModel
from registry.protocols.huggingface import errors, revisions

EXPOSED = (
    "ETag, X-Repo-Commit, X-Error-Code, X-Error-Message, X-Request-Id, X-Total-Count, Link, "
    "Accept-Ranges, Content-Range, Content-Disposition, X-Linked-Size, X-Linked-ETag, X-HF-Warning"
)
BARE_ABOVE = "/api/models/"
PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, DELETE, OPTIONS",
    "Access-Control-Allow-Headers": "Authorization, Range, Content-Type, If-None-Match, If-Range",
    "Access-Control-Max-Age": "86400",
}


class HubView(APIView):
    """A view of the Hub protocol.

    Any site's script may ask, with a token at most: no cookie comes along, since nothing here
    allows credentials.
    """

    schema = None  # the protocol is described elsewhere, not by our OpenAPI document
    parser_classes = [FilesParser, FormParser]

    @cached_property
    def model(self) -> RegisteredModel:
        """The model of the address; raises Refused, for a hidden one as for a missing one."""
        return revisions.repo(self.request.user, self.kwargs["namespace"], self.kwargs["name"])

    @cached_property
    def writable(self) -> RegisteredModel:
        """The model, which the caller may commit to; raises Refused and NotAllowed."""
        require(self.request.user, "version.edit", self.model)
        return self.model

    def get_exception_handler(self) -> Callable[..., HttpResponse]:
        """Errors in the protocol's own form."""
        return errors.handle

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:  # noqa: FBT001, FBT002 - DRF's signature
        """JSON, whatever is accepted: clients name media types that only other servers have."""
        return JSONRenderer(), "application/json"

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Who asks, and how often; a preflight is asked by the browser and carries no token."""
        if request.method != "OPTIONS":
            super().initial(request, *args, **kwargs)
        if request.method in ("GET", "HEAD"):
            parameters.expect_of(request, getattr(self, "get", None))

    def options(self, request: Request, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """The answer to a preflight (Fetch standard, CORS protocol)."""
        return HttpResponse(status=204, headers=PREFLIGHT)

    def finalize_response(
        self, request: Request, response: HttpResponseBase, *args: Any, **kwargs: Any
    ) -> Any:
        """Let scripts of other sites read the answer and the headers that matter."""
        response["Access-Control-Allow-Origin"] = "*"
        response["Access-Control-Expose-Headers"] = EXPOSED
        return super().finalize_response(request, response, *args, **kwargs)  # type: ignore[arg-type]


class BareName(HubView):
    """`resnet50` for `zoo/resnet50`: a redirect, and clients go on by the full name."""

    def get(self, request: Request, name: str, rest: str = "") -> HttpResponse:
        """Send the caller to the same thing under the full name, method and body included.

        The address is relative, since clients follow no other.
        """
        try:
            refs.check_name(name)
        except problems.InvalidName as error:
            raise errors.no_repo(request.user, name) from error
        prefix = str(request.META.get("SCRIPT_NAME", "")).rstrip("/")
        here = request.get_full_path().removeprefix(prefix)
        above = BARE_ABOVE if here.startswith(BARE_ABOVE) else "/"
        full = f"{prefix}{above}{refs.DEFAULT_NAMESPACE}/{here.removeprefix(above)}"
        response = HttpResponseRedirect(full)
        response.status_code = 307
        return response

    post = get


class Unsupported(HubView):
    """What clients of the protocol ask for and this hub does not have, refused in ``words``."""

    words = ""

    def get(self, request: Request, namespace: str = "", name: str = "", **_: str) -> HttpResponse:
        """Say so; of a model, only where the caller may see it."""
        if namespace:
            revisions.repo(request.user, namespace, name)
        raise errors.Refused(self.words, status=400)

    post = put = delete = get


class OtherKind(HubView):
    """Data sets, spaces and the like: this hub keeps models only."""

    def get(self, request: Request, **_: str) -> HttpResponse:
        """No such repository."""
        raise errors.no_repo(request.user, "this hub keeps models only")

    post = put = delete = get
