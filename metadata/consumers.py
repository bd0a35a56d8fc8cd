"""What graphs do when something happened: they follow the rows, which are read as they are now."""

from __future__ import annotations

from metadata import upkeep
from registry import outbox

VERBS = ("version.", "variant.", "check.finished", "conformance.added", "model.")


def connect() -> None:
    """Subscribe to whatever changes what a graph tells."""
    outbox.subscribe("metadata.graphs", VERBS, _on_event)


def _on_event(subject: outbox.Subject) -> None:
    """A version's event concerns its own graph and its model's; a model's event all of them."""
    if subject.model_id is None:
        return
    if subject.kind != "version":
        upkeep.refresh_model(subject.model_id, with_versions=True)
        upkeep.refresh_catalogue()
        return
    upkeep.refresh_version(int(subject.key))
    upkeep.refresh_model(subject.model_id)
