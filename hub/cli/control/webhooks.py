"""The commands of webhooks: addresses that receive events, and what was sent to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.cli.control.verbs import Noun, Verb
from hub.terminal import plain

if TYPE_CHECKING:
    from hub.client.rest.webhooks import NewSecret

_COLUMNS = ("id", "url", "namespace", "model", "state", "failing_since=failing since")
_NAMES = {"webhook_id": "id", "delivery_id": "delivery"}


def _show_secret(webhook: NewSecret) -> None:
    print(f"webhook {webhook.id} of {plain(webhook.namespace or webhook.model or '')}")
    print(f"secret {webhook.secret}")
    print("Copy the secret now; it is not shown again.")


WEBHOOKS = Noun(
    "webhooks",
    "send events to addresses, and list what was sent",
    (
        Verb(
            "add",
            "webhooks.create",
            "send events of a namespace or a model to an address; prints the secret",
            (
                "hub webhooks add https://ci.example.org/x --namespace zoo --events model.created",
                "hub webhooks add https://ci.example.org/x --model lab/net --events tag.moved",
            ),
            positional=("url",),
            show=_show_secret,
        ),
        Verb(
            "list",
            "webhooks.list",
            "list your webhooks",
            ("hub webhooks list",),
            columns=_COLUMNS,
        ),
        Verb("show", "webhooks.read", "show a webhook", ("hub webhooks show 3",), names=_NAMES),
        Verb(
            "edit",
            "webhooks.edit",
            "change the address or the events",
            ("hub webhooks edit 3 --url https://ci.example.org/new",),
            names=_NAMES,
            fixed={"is_paused": None},
        ),
        Verb(
            "pause",
            "webhooks.edit",
            "send nothing until you resume it; pending events stay",
            ("hub webhooks pause 3",),
            names=_NAMES,
            fixed={"is_paused": True, "url": None, "events": None},
        ),
        Verb(
            "resume",
            "webhooks.edit",
            "resume a paused or disabled webhook",
            ("hub webhooks resume 3",),
            names=_NAMES,
            fixed={"is_paused": False, "url": None, "events": None},
        ),
        Verb(
            "rotate",
            "webhooks.rotate",
            "replace the secret; for 24 hours messages are signed with both",
            ("hub webhooks rotate 3",),
            names=_NAMES,
            show=_show_secret,
        ),
        Verb(
            "remove",
            "webhooks.remove",
            "remove a webhook and its deliveries",
            ("hub webhooks remove 3 --yes",),
            names=_NAMES,
            question="Remove webhook {webhook_id}? Pending events are not sent.",
            message="Removed webhook {webhook_id}",
        ),
        Verb(
            "deliveries",
            "webhooks.deliveries",
            "list what was sent in the last 30 days",
            ("hub webhooks deliveries 3 --state failed",),
            names=_NAMES,
            columns=("id", "event", "state", "attempts", "status", "attempted_at=at", "error"),
        ),
        Verb(
            "replay",
            "webhooks.replay",
            "send a delivery again, under the same message id",
            ("hub webhooks replay 3 41",),
            names=_NAMES,
        ),
    ),
)
