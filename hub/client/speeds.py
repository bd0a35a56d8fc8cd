"""Speeds of models, which make sense only where something was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hub.protocol import devices, problems

THIS_MACHINE: Final = "this machine"


def require(page: Mapping[str, Any]) -> None:
    """Raise `NotFound` where the first page of a list by speed has models and none was timed.

    Models with an accepted result come first, so that the first one tells.
    """
    first = next(iter(page["items"]), None)
    if first is None or (first.get("speed") or {}).get("status") == "accepted":
        return
    setup = page.get("setup")
    if not setup:
        raise problems.NotFound(
            "No model of this hub has been measured yet, so models cannot be sorted by speed. "
            "Choose another order."
        )
    runtime = " and ".join(value for value in (setup["runtime"], setup["provider"]) if value)
    where = f"{setup['device']}{f' with {runtime}' if runtime else ''}"
    raise problems.NotFound(
        f"No model that matches has an accepted result on {where}, so models cannot be sorted by "
        "speed. Use fewer filters, another order or another device (listed at /api/v1/devices; "
        "default: the most measured one)."
    )


def this_machine(page: Mapping[str, Any]) -> str:
    """The name of this machine's device class, which must be in the hub's list of devices.

    Raises `NotFound` where the hub has no measurement on such a machine.
    """
    own = devices.this_machine()
    if own.name not in (device["name"] for device in page["items"]):
        raise problems.NotFound(
            f"The hub has no measurements on machines like this one ({own.title}). Contribute one "
            "with `hub bench MODEL --contribute`, or ask for another device (listed at "
            "/api/v1/devices). The list of models shows what the hub's own workers measured: its "
            "administrator can run one on this machine."
        )
    return own.name
