"""What can happen on the hub: the verbs of events, which each capability adds for its subjects."""

from __future__ import annotations

import typing

from hub.protocol.ports import Port


class EventVerbs(typing.NamedTuple):
    """What can happen to a kind of subject, as words: tag and "deleted moved" are tag.moved."""

    kind: str
    words: str


event_verbs = Port(EventVerbs)
event_verbs.register(
    "registry",
    EventVerbs("access", "accepted asked cancelled granted rejected withdrawn"),
    EventVerbs("alias", "deleted moved"),
    EventVerbs("alias-rule", "deleted set"),
    EventVerbs("branch", "created deleted squashed"),
    EventVerbs("check", "finished"),
    EventVerbs("dataset", "created edited published restored withdrawn"),
    EventVerbs("member", "changed"),
    EventVerbs(
        "model",
        "created deleted deprecated edited erased moved name-confirmed name-given name-withdrawn "
        "restored undeprecated",
    ),
    EventVerbs("namespace", "created edited"),
    EventVerbs("service-account", "closed created edited"),
    EventVerbs("tag", "deleted moved"),
    EventVerbs("token", "created revoked"),
    EventVerbs("user", "closed created edited opened password"),
    EventVerbs("variant", "added"),
    EventVerbs(
        "version",
        "amended annotated deleted deprecated described drafted published rejected restored "
        "submitted undeprecated withdrawn yanked",
    ),
)


def names() -> set[str]:
    """Every verb of an event: version.published, token.revoked, and so on."""
    return {f"{of.kind}.{word}" for of in event_verbs for word in of.words.split()}
