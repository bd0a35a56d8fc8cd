"""The verbs of the hub, as functions of the default `Hub`.

The default hub is what HUB_URL, HUB_TOKEN, HUB_CACHE, HUB_OFFLINE and `hub login` say at the moment
of each call.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from hub.client import config as settings
from hub.client import datasets, differences, forks, queries, sessions, signature_uploads
from hub.client.hub import Hub
from hub.protocol import problems

if TYPE_CHECKING:
    from hub.client.rest.users import Whoami

_P = ParamSpec("_P")
_T = TypeVar("_T")
_lock = forks.Lock()
_default: Hub | None = None


def default_hub() -> Hub:
    """Return the hub of the environment; the same object as long as the settings stay the same."""
    global _default  # noqa: PLW0603  (the one configured default)
    with _lock:
        if _default is None or _default.config != settings.Config.from_environment():
            _default = Hub()
        return _default


def _of_default(method: Callable[Concatenate[Hub, _P], _T]) -> Callable[_P, _T]:
    """Return a method of `Hub` as a function of the default hub, with its documentation."""

    @functools.wraps(method)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return method(default_hub(), *args, **kwargs)

    signature = inspect.signature(method)
    _, *parameters = signature.parameters.values()
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return call


load = _of_default(Hub.load)
session = _of_default(Hub.session)
genai = _of_default(Hub.genai)
download = _of_default(Hub.download)
find = _of_default(Hub.find)
understand = _of_default(Hub.understand)
info = _of_default(Hub.info)
list_models = _of_default(Hub.list_models)
push = _of_default(Hub.push)
make_variant = _of_default(Hub.make_variant)
training = _of_default(Hub.training)
fleet_device = _of_default(Hub.fleet_device)
sign = _of_default(signature_uploads.sign)
push_dataset = _of_default(datasets.push)
dataset = _of_default(datasets.read)
download_dataset = _of_default(datasets.download)
list_datasets = _of_default(datasets.every)
query = _of_default(queries.query)
diff = _of_default(differences.diff)
logout = sessions.logout


def whoami() -> Whoami:
    """Return the user and the scopes of the token, and the user's namespaces."""
    return default_hub().users.whoami()


def login(token: str | None = None, url: str | None = None) -> dict[str, Any]:
    """Verify a token and keep it for its hub; return who it belongs to.

    Without `token` it is HUB_TOKEN, or asked for on a terminal. It is stored in the user's
    configuration folder, readable by the owner alone; a token that is refused is not stored.
    """
    secret = token or os.environ.get("HUB_TOKEN") or ""
    if not secret and sys.stdin is not None and sys.stdin.isatty():
        from getpass import getpass  # noqa: PLC0415  (only where a person types)

        secret = getpass("Token (hf_...): ")
    if not secret.strip():
        raise problems.NotAuthenticated(
            "No token given. Create one on the hub's Tokens page or with "
            "`hub token create`, and pass it to hub.login or set HUB_TOKEN."
        )
    hub = Hub(url)
    who = hub.login(secret)
    settings.store(hub.config.url, secret.strip())
    return who
