"""What events are about, as readers may see it: each kind says what an actor may read of it now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hub.protocol.ports import Port
from registry.core.event_verbs import event_verbs
from registry.core.permissions import Actor, can
from registry.models import Event, RegisteredModel, Version


@dataclass(frozen=True, slots=True)
class Description:
    """What an event was about: the path of a page, and names such as the model's and a number."""

    path: str
    names: Mapping[str, str | int] = field(default_factory=dict)


def _namespace_of_model(event: Event) -> int | None:
    return event.model.namespace_id if event.model else None


@dataclass(frozen=True, slots=True)
class EventSubject:
    """Events whose verbs begin with one of ``kinds``: what an actor may read of one, or None.

    ``namespace`` is the key of the namespace whose event it is. Verbs of ``silent`` words leave
    nothing that could be read.
    """

    kinds: tuple[str, ...]
    describe: Callable[[Actor, Event], Description | None]
    namespace: Callable[[Event], int | None] = _namespace_of_model
    silent: tuple[str, ...] = ()


event_subjects = Port(EventSubject)


def readable_verbs() -> list[str]:
    """Every verb of events that have readers, sorted."""
    by_kind = {kind: subject for subject in event_subjects for kind in subject.kinds}
    verbs = {
        f"{of.kind}.{word}"
        for of in event_verbs
        if of.kind in by_kind
        for word in of.words.split()
        if word not in by_kind[of.kind].silent
    }
    return sorted(verbs)


def subject_of(event: Event) -> EventSubject | None:
    """How events of this kind are read."""
    kind = event.verb.partition(".")[0]
    return next((subject for subject in event_subjects if kind in subject.kinds), None)


def describe_model(actor: Actor, event: Event) -> Description | None:
    """The model, or a deleted one to its owners."""
    model = event.model
    if model is None:
        return None
    is_visible = RegisteredModel.objects.visible_to(actor).filter(pk=model.pk).exists()
    if not is_visible and not (model.deleted_at and can(actor, "model.delete", model)):
        return None
    return Description(f"/models/{model.ref}", {"model": model.ref})


def describe_version(actor: Actor, event: Event) -> Description | None:
    """The version that is the subject."""
    return _version(Version.objects.visible_to(actor).filter(pk=int(event.subject_id)).first())


def describe_ref(actor: Actor, event: Event) -> Description | None:
    """The name of a version: to readers of that version, and else to writers of the model."""
    model, number = event.model, event.data.get("number")
    if model is None:
        return None
    versions = Version.objects.visible_to(actor).filter(model=model)
    is_visible = number is not None and versions.filter(number=number).exists()
    if not is_visible and (model.deleted_at or not can(actor, "version.draft", model)):
        return None
    names: dict[str, str | int] = {"model": model.ref, "name": str(event.data.get("name", ""))}
    if number is not None:
        names["version"] = number
    return Description(f"/models/{model.ref}", names)


def _version(version: Version | None) -> Description | None:
    if version is None:
        return None
    names: dict[str, str | int] = {"model": version.model.ref, "version": version.number}
    return Description(f"/models/{version.model.ref}/v/{version.number}", names)
