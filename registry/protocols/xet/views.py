"""Large files the Xet way: what hf_xet asks for, and nothing more.

Clients find out what a store can do by its 404s, so every unknown address answers 404 to anyone.
Nothing is ever downloaded this way.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.core import signing
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import problems
from registry.api.uploads import RawParser
from registry.core.permissions import require_user
from registry.models import AccessToken, User, XetStore
from registry.protocols.huggingface import addresses, errors, writing
from registry.protocols.huggingface.views import HubView
from registry.storage.xet import chunks
from registry.storage.xet import services as xet

SALT = "xet"
LIFETIME_SECONDS = 1_800


class WriteToken(HubView):
    """Where clients learn where a model's chunks go, and get a token for it."""

    def get(self, request: Request, namespace: str, name: str, rest: str) -> Response:
        """Address, token and end of the token, in the body for some clients, in headers for others.

        The revision says nothing here: a store belongs to a model.
        """
        writing.no_pull_requests(request)
        row = xet.open_store(request.user, model=self.writable)
        ends = int(time.time()) + LIFETIME_SECONDS
        user = require_user(request.user, of=self.writable)
        access_token = user.access_token
        data = {
            "place": str(row),
            "model": self.writable.pk,
            "user": user.pk,
            "token": access_token.pk if access_token else None,
            # A session's ends with the password, as the session does.
            "session": None if access_token else user.get_session_auth_hash(),
            "ends": ends,
        }
        token = signing.dumps(data, salt=SALT)
        address = addresses.absolute(request, f"/api/xet/{row}")
        answer = Response({"casUrl": address, "accessToken": token, "exp": ends})
        answer["X-Xet-Cas-Url"] = address
        answer["X-Xet-Access-Token"] = token
        answer["X-Xet-Token-Expiration"] = str(ends)
        return writing.warn(answer, self.writable)


class StoreAuthentication(BaseAuthentication):
    """The token that ``WriteToken`` gave; it ends with the hub's token that it was got by."""

    def authenticate(self, request: Request) -> tuple[User, AccessToken | None]:
        """Who got the token; raises NotAuthenticated."""
        secret = request.headers.get("Authorization", "").partition(" ")[2].strip()
        try:
            claims: dict[str, Any] = signing.loads(secret, salt=SALT, max_age=LIFETIME_SECONDS)
        except signing.BadSignature as error:
            raise problems.NotAuthenticated("This token has expired. Request a new one.") from error
        user = User.objects.filter(pk=claims["user"], is_active=True).first()
        token = None
        if claims["token"] is not None:
            live = AccessToken.objects.filter(expires_at__gt=timezone.now())
            token = live.select_related("namespace").filter(pk=claims["token"]).first()
        place = request.parser_context["view"].kwargs["place"]
        is_over = (
            user is None or claims["session"] != user.get_session_auth_hash()
            if claims["token"] is None
            else token is None
        )
        if user is None or is_over or claims["place"] != place:
            raise problems.NotAuthenticated("This token is not for this chunk store.")
        user.access_token = token
        if request.method == "POST" and not XetStore.objects.filter(model=claims["model"]).exists():
            xet.make_store(claims["model"])
        return user, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="xet"'


class StoreView(HubView):
    """A route of a chunk store."""

    authentication_classes = [StoreAuthentication]
    parser_classes = [RawParser]

    def get_exception_handler(self) -> Callable[..., HttpResponse]:
        """What is wrong with what was sent is 400, whatever it is called elsewhere."""
        return _handle

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        """Another method is another route: one that is not there."""
        raise errors.Refused("There is no such route.")


class Xorbs(StoreView):
    """Where xorbs go."""

    def post(self, request: Request, place: str, prefix: str, name: str) -> Response:
        """Keep a xorb, if its bytes are what its name says."""
        to = _store(place)
        is_new = xet.put_xorb(
            request.user,
            to=to,
            name=name,
            stream=request._request,  # noqa: SLF001 - the body itself, unread
            length=_length(request),
        )
        return Response({"was_inserted": is_new})


class Shards(StoreView):
    """Where shards go."""

    def post(self, request: Request, place: str) -> Response:
        """Make the files that a shard describes; afterwards a commit may name them."""
        to = _store(place)
        is_new = xet.take_shard(request.user, to=to, stream=request._request)  # noqa: SLF001
        return Response({"result": int(is_new)})


def _length(request: Request) -> int | None:
    """The bytes that a body announces; None where it comes in chunks."""
    text = request.headers.get("Content-Length", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


class Nothing(HubView):
    """Every other route of a chunk store."""

    authentication_classes: list[Any] = []
    throttle_classes: list[Any] = []
    parser_classes = [RawParser]

    def get(self, request: Request, **_: str) -> Response:
        """There is nothing; clients then do without it."""
        raise errors.Refused("There is no such route.")

    post = put = patch = delete = get


def _handle(error: Exception, context: dict[str, Any]) -> HttpResponse:
    if isinstance(error, problems.DigestMismatch):
        error = problems.InvalidRequest(error.detail)
    if isinstance(error, chunks.Lost):
        error = errors.Refused(error.detail, status=400)
    return errors.handle(error, context)


def _store(place: str) -> XetStore:
    """The chunk store at an address; raises Refused where its epoch has ended."""
    uuid, _, epoch = place.partition("-")
    row = None
    if len(uuid) == 32 and epoch.isdigit() and len(epoch) < 9:
        rows = XetStore.objects.select_related("model__namespace")
        row = rows.filter(uuid=uuid, epoch=int(epoch), model__deleted_at=None).first()
    if row is None:
        raise errors.Refused("The address of this chunk store has changed. Start the upload again.")
    return row
