"""Old releases of onnx ask GitHub for models; here they are led to a hub instead.

`onnx.hub` of onnx 1.11 to 1.20.1 has fixed addresses and no setting for them. It opens them with
`urllib.request.urlopen`, and the standard library lets a program choose what that does
(`urllib.request.install_opener`); nothing of onnx is changed.
"""

from __future__ import annotations

import io
import json
import re
import sys
import urllib.request
from http import HTTPStatus
from typing import Any
from urllib.request import Request
from urllib.response import addinfourl

from hub.client import config as settings

MANIFEST = "ONNX_HUB_MANIFEST.json"
_MANIFEST = re.compile(
    rf"https://raw\.githubusercontent\.com/([^/]+/[^/]+/.+/{re.escape(MANIFEST)})"
)
# A hub names the version of a model in each path, which no path of the Model Zoo does.
_FILE = re.compile(r"https://media\.githubusercontent\.com/media/(.+/[^/@]+@[1-9][0-9]*/.+)")


class _Led(urllib.request.Request):
    """A request that was meant for GitHub and goes to a hub."""


class Rewriting(urllib.request.BaseHandler):
    """Sends what `onnx.hub` asks of GitHub to a hub; every other request goes where it went."""

    handler_order = 100  # before the request is looked at by handlers of its scheme

    def __init__(self, config: settings.Config) -> None:
        self.config = config

    def https_request(self, request: Request) -> Request:
        """Give the request to send: the same, or one for the hub, with the token if any."""
        address = self.rewritten(request.full_url)
        if address is None:
            return request
        changed = _Led(address, headers=dict(request.headers), method=request.get_method())
        changed.timeout = request.timeout
        if self.config.token:
            # Not sent along when the hub redirects elsewhere.
            changed.add_unredirected_header("Authorization", f"Bearer {self.config.token}")
        return changed

    def https_response(self, request: Request, response: Any) -> Any:
        """Leave out what the installed onnx is too old for: it would take the largest opset."""
        newest = _newest_opset()
        is_manifest = isinstance(request, _Led) and request.selector.endswith(MANIFEST)
        if not is_manifest or response.status != HTTPStatus.OK or not newest:
            return response
        with response:
            entries = json.load(response)
        supported = [entry for entry in entries if entry["opset_version"] <= newest]
        body = io.BytesIO(json.dumps(supported).encode())
        changed = addinfourl(body, response.headers, response.url, response.status)
        changed.msg = response.msg  # type: ignore[attr-defined]  # other handlers read it
        return changed

    def rewritten(self, address: str) -> str | None:
        """The hub's address for one of GitHub's that `onnx.hub` asks for, `None` for any other."""
        if match := _MANIFEST.fullmatch(address):
            return f"{self.config.url}/onnx-hub/{match.group(1)}"
        if match := _FILE.fullmatch(address):
            return f"{self.config.url}/onnx-hub/media/{match.group(1)}"
        return None


def _newest_opset() -> int:
    """The newest opset that the onnx of this process knows; 0 where there is none."""
    try:
        return int(sys.modules["onnx"].defs.onnx_opset_version())
    except (KeyError, AttributeError):
        return 0


def install(url: str | None = None, token: str | None = None) -> None:
    """Let `onnx.hub` of onnx 1.11 to 1.20.1 load from a hub, in this process.

    `url` and `token` are what HUB_URL, HUB_TOKEN and `hub login` say unless they are given. Every
    repository is then looked for on the hub, as `hub.onnx_compat.list_models` says; models of an
    opset that the installed onnx does not know are left out. Only manifests and files of models
    are led there; every other address is opened as before. It sets the opener
    of `urllib.request`, which a process has one of: one that was installed before is replaced, and
    a second call takes the place of the first. Raise `InvalidRequest` for what is no address.
    """
    config = settings.Config.from_environment(url=url, token=token)
    urllib.request.install_opener(urllib.request.build_opener(Rewriting(config)))
