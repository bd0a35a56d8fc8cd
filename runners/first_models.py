"""Models beside the samples that a new hub is given on request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hub.protocol.ports import Port

if TYPE_CHECKING:
    from registry.models import User


@dataclass(frozen=True, slots=True)
class FirstModels:
    """What brings further models to a hub at its start.

    ``request`` is given the administrator who owns them, queues their import, and returns one line
    for the person who starts the hub; it is empty where nothing is to be imported.
    """

    request: Callable[[User], str]


first_models = Port(FirstModels)
