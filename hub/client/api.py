"""The verbs of the hub, as functions of the default `Hub`.

The default hub is what HUB_URL, HUB_TOKEN, HUB_CACHE, HUB_OFFLINE and `hub login` say at the moment
of each call.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any

from hub.client import config as settings
from hub.client.hub import Hub
from hub.protocol import problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import onnx
    import onnxruntime

    from hub.client.training.training import Training

_lock = threading.Lock()
_default: Hub | None = None


def default_hub() -> Hub:
    """Return the hub of the environment; the same object as long as the settings stay the same."""
    global _default  # noqa: PLW0603  (the one configured default)
    with _lock:
        if _default is None or _default.config != settings.Config.from_environment():
            _default = Hub()
        return _default


def load(
    ref: str,
    opset: int | None = None,
    variant: str | None = None,
    *,
    progress: bool | None = None,
) -> onnx.ModelProto:
    """Return a model as `onnx.ModelProto`, verified and cached; see `Hub.load`."""
    return default_hub().load(ref, opset, variant, progress=progress)


def session(
    ref: str,
    providers: Sequence[str | tuple[str, dict[str, Any]]] | None = None,
    **options: Any,
) -> onnxruntime.InferenceSession:
    """Return an ONNX Runtime session on a model; see `Hub.session`."""
    return default_hub().session(ref, providers, **options)


def download(
    ref: str,
    opset: int | None = None,
    variant: str | None = None,
    to: str | os.PathLike[str] | None = None,
    *,
    progress: bool | None = None,
) -> Path:
    """Return a folder with every file of a version, verified; see `Hub.download`."""
    return default_hub().download(ref, opset, variant, to, progress=progress)


def info(ref: str) -> dict[str, Any]:
    """Return what the hub says of a model and of the version a reference selects."""
    return default_hub().info(ref)


def list_models(
    query: str | None = None, *, limit: int | None = None, **filters: Any
) -> Iterator[dict[str, Any]]:
    """Iterate over models, best match first with a `query`; see `Hub.list_models`."""
    return default_hub().list_models(query, limit=limit, **filters)


def push(
    ref: str,
    *paths: str | os.PathLike[str],
    card: str | os.PathLike[str] | None = None,
    message: str | None = None,
    label: str | None = None,
    publish: bool = True,
    create: bool = True,
    visibility: str = "public",
    wait: bool = True,
    resume: bool = False,
    follow_links: bool = False,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Publish files or a folder as the next version of a model; see `Hub.push`."""
    return default_hub().push(
        ref,
        *paths,
        card=card,
        message=message,
        label=label,
        publish=publish,
        create=create,
        visibility=visibility,
        wait=wait,
        resume=resume,
        follow_links=follow_links,
        progress=progress,
    )


def make_variant(
    ref: str,
    kind: str,
    *,
    opset: int | None = None,
    variant: str | None = None,
    sample: str | os.PathLike[str] | None = None,
    wait: bool = True,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Have the hub make a variant of a version; see `Hub.make_variant`."""
    return default_hub().make_variant(
        ref, kind, opset=opset, variant=variant, sample=sample, wait=wait, progress=progress
    )


def training(
    ref: str,
    *,
    key: bytes | str | os.PathLike[str] | None = None,
    device: str = "default",
    certificate: str | os.PathLike[str] | None = None,
    certificate_key: str | os.PathLike[str] | None = None,
) -> Training:
    """Return a device's side of a training; see `Hub.training`."""
    return default_hub().training(
        ref, key=key, device=device, certificate=certificate, certificate_key=certificate_key
    )


def login(token: str | None = None, url: str | None = None) -> dict[str, Any]:
    """Verify a token and keep it for its hub; return who it belongs to.

    Without `token` it is HUB_TOKEN, or asked for on a terminal. It is stored in the user's
    configuration folder, readable by the owner alone; a token that is refused is not stored.
    """
    chosen = token or os.environ.get("HUB_TOKEN") or ""
    if not chosen and sys.stdin is not None and sys.stdin.isatty():
        from getpass import getpass  # noqa: PLC0415  (only where a person types)

        chosen = getpass("Token (hf_...): ")
    if not chosen.strip():
        raise problems.NotAuthenticated(
            "No token given. Create one on the hub's Tokens page or with "
            "`hub token create`, and pass it to hub.login or set HUB_TOKEN."
        )
    hub = Hub(url)
    who = hub.login(chosen)
    settings.store(hub.config.url, chosen.strip())
    return who
