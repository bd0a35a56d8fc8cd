"""Finding a model by its name, also where it has to be fetched first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hub.protocol.ports import Port
from registry.core.permissions import Actor
from registry.models import RegisteredModel
from registry.versions import selectors

# Below the ten that huggingface_hub waits for the head of a file.
SHORT_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class Finder:
    """What finds a model that an actor may see; the newest one replaces those before.

    ``model`` is given the actor, namespace, name, and how many seconds the request may wait. It
    raises NotFound, Moved, and Unavailable while the model is fetched.
    """

    model: Callable[[Actor, str, str, float], RegisteredModel]


finders = Port(Finder)
finders.register(
    "registry.versions",
    Finder(lambda actor, namespace, name, _: selectors.model(actor, namespace, name)),
)


def model(
    actor: Actor, namespace: str, name: str, *, wait_seconds: float = SHORT_SECONDS
) -> RegisteredModel:
    """A model as ``selectors.model`` gives it, fetched first where a finder does that."""
    *_, finder = finders
    return finder.model(actor, namespace, name, wait_seconds)
