"""The head that every page of a version shares: name, versions, states, facts and tabs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.urls import reverse

from frontend import facts, formatting, words
from frontend.barcode import unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from registry.models import Ref, RegisteredModel, Variant, Version

TABS = {
    "overview": ("Overview", "version"),
    "files": ("Files", "version-files"),
    "checks": ("Checks", "version-checks"),
}


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a select, or one tab."""

    words: str
    value: str = ""
    url: str = ""
    on: bool = False
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """What a reader must know first: title, words, and perhaps where to go."""

    tone: str
    title: str
    words: str
    url: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A model as lists show it."""

    namespace: str
    name: str
    url: str
    private: bool
    published: bool
    summary: str
    task: str
    license: str
    barcode: Sequence[str]
    parameters: int | None
    opset: int | None
    precision: str
    size: int | None
    updated_at: Any


@dataclass(frozen=True, slots=True)
class Head:
    """Everything above the tabs of a version's page."""

    namespace: str
    name: str
    ref: str
    state: str
    private: bool
    summary: str
    license: str
    task: str
    task_value: str
    aliases: tuple[str, ...]
    versions: tuple[Choice, ...]
    tabs: tuple[Choice, ...]
    tab: str
    note: Note | None
    model_url: str
    api_url: str
    files_url: str
    checks_url: str
    size: int
    file_count: int
    parameters: int | None
    opset: int | None
    ir_version: int | None
    precision: str
    nodes: int | None
    operators: int
    barcode: tuple[str, ...]


def row(document: Any) -> Row:
    """A search document as a row of a list."""
    latest = document.latest or {}
    return Row(
        namespace=document.namespace_slug,
        name=document.model.name,
        url=reverse("model", args=[document.namespace_slug, document.model.name]),
        private=document.model.visibility == "private",
        published=bool(latest),
        summary=document.model.summary,
        task=words.task(document.task),
        license=words.licence(document.license),
        barcode=unpacked(latest.get("barcode")),
        parameters=document.parameters,
        opset=document.opset,
        precision=document.precision,
        size=document.size,
        updated_at=document.updated_at,
    )


def head(
    version: Version, tab: str, others: Iterable[Version], refs: Iterable[Ref], latest: int | None
) -> Head:
    """The head of one version, whose files and variants have been fetched with it."""
    model = version.model
    place = (model.namespace.slug, model.name, version.number)
    files = list(version.files.all())
    variant = main_variant(version)
    graph = facts.read(variant.facts if variant else {})
    versions = tuple(_choice(other, version, latest) for other in others)
    here = {name: reverse(view, args=place) for name, (_, view) in TABS.items()}
    return Head(
        namespace=model.namespace.slug,
        name=model.name,
        ref=version.ref,
        state=version.state,
        private=model.visibility == "private",
        summary=model.summary,
        license=words.licence(model.license),
        task=words.task(model.task),
        task_value=model.task,
        aliases=tuple(
            ref.name for ref in refs if ref.kind == "alias" and ref.version_id == version.pk
        ),
        versions=versions,
        tabs=_tabs(version, tab, here, {"files": len(files), "versions": len(versions)}),
        tab=tab,
        note=_note(version, latest),
        model_url=reverse("model", args=place[:2]),
        api_url=f"/api/v1/models/{model.ref}/versions/{version.number}",
        files_url=here["files"],
        checks_url=here["checks"],
        size=sum(file.blob.size for file in files if not file.derived),
        file_count=len(files),
        parameters=variant.parameters if variant else None,
        opset=variant.opset if variant else None,
        ir_version=variant.ir_version if variant else None,
        precision=variant.precision if variant else "",
        nodes=graph.nodes,
        operators=len(graph.operators),
        barcode=graph.barcode,
    )


def main_variant(version: Version) -> Variant | None:
    """The variant that a reference without a variant loads."""
    return next(iter(version.variants.all()), None)


def _choice(other: Version, version: Version, latest: int | None) -> Choice:
    said = [str(other.number), other.label, "latest" if other.number == latest else ""]
    if other.state != "published":
        said.append(other.state)
    text = " · ".join(part for part in said if part)
    return Choice(text, str(other.number), on=other.number == version.number)


def _tabs(
    version: Version, tab: str, here: dict[str, str], counts: dict[str, int]
) -> tuple[Choice, ...]:
    model: RegisteredModel = version.model
    tabs = [
        Choice(title, url=here[name], on=name == tab, count=counts.get(name))
        for name, (title, _) in TABS.items()
    ]
    url = reverse("model-versions", args=[model.namespace.slug, model.name])
    return (*tabs, Choice("Versions", url=url, on=tab == "versions", count=counts["versions"]))


def _note(version: Version, latest: int | None) -> Note | None:
    model = version.model
    newest = reverse("version", args=[model.namespace.slug, model.name, latest]) if latest else ""
    link = f"Go to version {latest}, the newest" if latest else ""
    if version.state == "draft":
        url = reverse("draft", args=[model.namespace.slug, model.name, version.number])
        return Note("", "A draft.", "Only its makers see it.", url, "Edit, submit or delete it")
    if version.state == "submitted":
        then = "It is published when they pass." if version.publish_requested else ""
        return Note("", "Being checked.", f"Nobody outside sees it until the checks end. {then}")
    if version.state == "yanked":
        return Note(
            "part",
            "Yanked.",
            f"{version.reason} Still downloadable by its exact number.",
            newest,
            link,
        )
    if version.state == "withdrawn":
        when = formatting.exact(version.ended_at) if version.ended_at else ""
        return Note(
            "fail", f"Withdrawn {when}.", f"{version.reason} Its bytes are gone.", newest, link
        )
    if latest and version.number < latest:
        return Note("", "Superseded.", f"Version {latest} is newer.", newest, link)
    return None
