"""Former names of models: the model that each leads to, and the redirect.

A hidden model's old name leads nowhere, after the same queries as a name that never was.
"""

from __future__ import annotations

import re
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from hub.protocol import problems
from registry.core.permissions import Actor
from registry.models import RegisteredModel, RetiredName

# Parameters of a query that name a model, perhaps with a version: `zoo/net@3`.
_NAMING = ("ref",)


class Moved(problems.NotFound):
    """No model has this name any more; ``new`` is the name of the one that had it."""

    def __init__(self, old: str, new: str) -> None:
        super().__init__(f"{old} is now called {new}.")
        self.old = old
        self.new = new


def heir(actor: Actor, namespace: str, name: str) -> RegisteredModel | None:
    """The model, visible to the actor, that once had this name; None for all else."""
    return (
        RegisteredModel.objects.visible_to(actor)
        .select_related("namespace")
        .filter(former_names__name=f"{namespace}/{name}".lower())
        .first()
    )


def former_names(of: RegisteredModel) -> list[RetiredName]:
    """The names that lead to a model, the oldest first."""
    return list(RetiredName.objects.filter(moved_to=of).exclude(spelt="").order_by("at", "pk"))


def redirect(request: HttpRequest, moved: Moved, *, page: bool) -> HttpResponse | None:
    """The same address under the new name; None where the address does not hold the old one.

    Not permanently, since the old name may be given to another model. A page is found (302);
    everything else keeps its method and body (307). Relative, since old clients follow no other.
    """
    path, mark, query = request.get_full_path().partition("?")
    match = re.search(rf"/{re.escape(moved.old)}(?=[/.]|$)", path)
    if match:
        target = f"{path[: match.start()]}/{moved.new}{path[match.end() :]}{mark}{query}"
    else:
        parameters = {name: request.GET.getlist(name) for name in request.GET}
        renamed = parameters | {
            name: [moved.new + text[len(moved.old) :] for text in parameters[name]]
            for name in _NAMING
            if parameters.get(name) and parameters[name][0].lower().startswith(moved.old.lower())
        }
        if renamed == parameters:
            return None
        target = f"{path}?{urlencode(renamed, doseq=True)}"
    response = HttpResponseRedirect(target)
    if not page or request.method not in ("GET", "HEAD"):
        response.status_code = 307
    response["Cache-Control"] = "private, no-cache"
    return response
